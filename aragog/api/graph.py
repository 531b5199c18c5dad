"""
Operations on Zen, the graph under the store: nodes with properties, edges, look-ups and counts.

A node is named by its id, or by a URL, which stands for the node of its page. Nodes of pages can
be read here, and have edges of applications, but their properties are fields, which only `put`
writes: fields have owners, limits and takedowns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from aragog.api.batch_urls import present
from aragog.api.operation import Caller, HttpRoute, operation
from aragog.api.tokens import WRITE
from aragog.api.values import MOST_ITEMS, MOST_NAME_BYTES, Cursor, Fields, Limit
from aragog.errors import BadInput, TakenDown
from aragog.options import Option
from aragog.urls.normalize import normalize
from aragog.urlstore import nodes
from aragog.urlstore.store import UrlStore
from aragog.zen.codec import IN, OUT
from aragog.zen.edges import Edge, Edges
from aragog.zen.graph import Zen
from aragog.zen.node_ids import node_id

MOST_VALUE_BYTES = 1_000_000
LEAST_TYPE, MOST_TYPE = 16, 65_535
"""Edge types of applications; those below are the store's: 0 links, 1 aliases, 2 watches."""
_DIRECTIONS = {"out": OUT, "in": IN}
_ID_CHARS = 32

Node = Annotated[str, Option("The node: 32 hexadecimal digits, or a URL for the node of its page.")]
Other = Annotated[str, Option("The node at the other end, named in the same way.")]
Score = Annotated[int, Option("Sorts the edges of a node.", least=-(2**63), most=2**63 - 1)]
Properties = Annotated[
    Mapping[str, bytes], Option("Property to value.", most_items=MOST_ITEMS, by_format=True)
]
EdgeType = Annotated[
    int,
    Option(
        "The type of the edges: 0 links of pages, 1 aliases, 2 watches; 16 or more: those of "
        "applications.",
        least=0, most=MOST_TYPE,
    ),
]  # fmt: skip
RowEdgeType = Annotated[
    int,
    Option(
        "The type of the edge: 1 aliases, 2 watches; 16 or more: those of applications.",
        least=1, most=MOST_TYPE,
    ),
]  # fmt: skip
OwnEdgeType = Annotated[int, Option("The type of the edge.", least=LEAST_TYPE, most=MOST_TYPE)]
Direction = Annotated[
    str, Option("`out`: edges from the node, `in`: edges to it.", choices=("out", "in"))
]

LookupValue = Annotated[bytes, Option("Its value.", most_bytes=MOST_VALUE_BYTES)]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node with its properties."""

    node: str
    """Its id: 32 hexadecimal digits."""
    properties: Annotated[Mapping[str, bytes], Option("", by_format=True)]
    """An alias has `canonical_url`: the URL of the page that it stands for."""


@dataclass(frozen=True, slots=True)
class NodePage:
    """A part of a list of nodes; `cursor` continues it, None: it is complete."""

    nodes: tuple[str, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge, seen from one of its ends."""

    node: str
    """The id of the node at the other end."""
    score: int
    properties: Annotated[Mapping[str, bytes], Option("", by_format=True)]


@dataclass(frozen=True, slots=True)
class EdgePage:
    """A part of a list of edges; `cursor` continues it, None: it is complete."""

    edges: tuple[GraphEdge, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class GetNodeRequest:
    """A node."""

    node: Node
    properties: Fields = None


@operation(GetNodeRequest, http=HttpRoute("GET", "/v1/nodes", missing="there is no such node"),
           thrift="Zen.getNode")  # fmt: skip
def get_node(caller: Caller, request: GetNodeRequest) -> GraphNode | None:
    """
    The properties of a node; those of a page's node are its fields.

    None: there is no node.
    """
    key = _id(request.node)

    def read(store: UrlStore) -> GraphNode | None:
        values = store.zen.get_node(key, request.properties)
        node = None if values is None else GraphNode(key.hex(), values)
        return present(store, request.node, node) if "://" in request.node else node

    return caller.read(read)


@dataclass(frozen=True, slots=True)
class PutNodeRequest:
    """Properties to set."""

    node: Node
    properties: Properties


@operation(PutNodeRequest, http=HttpRoute("PATCH", "/v1/nodes"), thrift="Zen.putNode", scope=WRITE)
def put_node(caller: Caller, request: PutNodeRequest) -> None:
    """Set properties of an application's node, which is created if it is missing; others stay."""
    caller.store.fields.check(request.properties)
    caller.parts.writers.check(caller.token, request.properties)
    caller.store.zen.put_node(_own(caller, request.node), request.properties)


@dataclass(frozen=True, slots=True)
class RemoveNodeRequest:
    """A node to remove."""

    node: Node


@operation(
    RemoveNodeRequest, http=HttpRoute("DELETE", "/v1/nodes"), thrift="Zen.removeNode", scope=WRITE
)
def remove_node(caller: Caller, request: RemoveNodeRequest) -> None:
    """Remove an application's node with its edges in both directions."""
    zen = caller.store.zen
    key = _own(caller, request.node)
    caller.parts.writers.check(caller.token, zen.get_node(key) or ())
    zen.remove_node(key)


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """A value of an indexed property."""

    name: Annotated[
        str,
        Option("A property in `store.indexed` or `store.unique`.", most_bytes=MOST_NAME_BYTES),
    ]
    value: LookupValue
    limit: Limit = 100
    cursor: Cursor = None


@operation(LookupRequest, http=HttpRoute("POST", "/v1/nodes:lookup"), thrift="Zen.lookup")
def lookup(caller: Caller, request: LookupRequest) -> NodePage:
    """The nodes that have a value of an indexed property, pages among them."""
    if request.name not in caller.store.zen.schema.searchable:
        raise BadInput(f"name: {request.name!r} is not indexed; add it to store.indexed")
    after = _cursor(request.cursor)
    found, cursor = caller.read(
        lambda store: store.zen.lookup(request.name, request.value, request.limit, after)
    )
    return NodePage(tuple(key.hex() for key in found), cursor.hex() if cursor else None)


@dataclass(frozen=True, slots=True)
class LookupUniqueRequest:
    """A value of a unique property."""

    name: Annotated[str, Option("A property in `store.unique`.", most_bytes=MOST_NAME_BYTES)]
    value: LookupValue
    properties: Fields = None


@operation(
    LookupUniqueRequest,
    http=HttpRoute("POST", "/v1/nodes:lookupUnique", missing="no node has this value"),
    thrift="Zen.lookupUnique",
)
def lookup_unique(caller: Caller, request: LookupUniqueRequest) -> GraphNode | None:
    """
    The node that has a value of a unique property, with its properties.

    None: no node has it.
    """
    if request.name not in caller.store.zen.schema.unique:
        raise BadInput(f"name: {request.name!r} is not unique; add it to store.unique")

    def read(store: UrlStore) -> GraphNode | None:
        key = store.zen.lookup_unique(request.name, request.value)
        values = None if key is None else store.zen.get_node(key, request.properties)
        return None if key is None or values is None else GraphNode(key.hex(), values)

    return caller.read(read)


@dataclass(frozen=True, slots=True)
class PutEdgeRequest:
    """An edge to set."""

    node: Node
    type: OwnEdgeType
    other: Other
    _: KW_ONLY
    score: Score = 0
    properties: Annotated[
        Mapping[str, bytes] | None,
        Option("Property to value.", most_items=MOST_ITEMS, by_format=True),
    ] = None


@operation(PutEdgeRequest, http=HttpRoute("POST", "/v1/edges"), thrift="Zen.putEdge", scope=WRITE)
def put_edge(caller: Caller, request: PutEdgeRequest) -> None:
    """Set an edge of an application; those that differ in their score are different edges."""
    for end in (request.node, request.other):
        _refuse_taken_down(caller, end)
    properties = request.properties or {}
    caller.store.fields.check(properties)
    caller.store.zen.put_edge(
        _id(request.node), request.type, _id(request.other),
        score=request.score, properties=properties,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RemoveEdgeRequest:
    """An edge to remove."""

    node: Node
    type: OwnEdgeType
    other: Other
    _: KW_ONLY
    score: Score = 0


@operation(
    RemoveEdgeRequest, http=HttpRoute("DELETE", "/v1/edges"), thrift="Zen.removeEdge", scope=WRITE
)
def remove_edge(caller: Caller, request: RemoveEdgeRequest) -> None:
    """Remove an edge of an application; does nothing if there is none."""
    caller.store.zen.remove_edge(
        _id(request.node), request.type, _id(request.other), score=request.score
    )


@dataclass(frozen=True, slots=True)
class GetEdgeRequest:
    """An edge."""

    node: Node
    type: RowEdgeType
    other: Other
    _: KW_ONLY
    score: Score = 0


@operation(
    GetEdgeRequest,
    http=HttpRoute("GET", "/v1/edges", missing="there is no such edge", given=("other",)),
    thrift="Zen.getEdge",
)
def get_edge(caller: Caller, request: GetEdgeRequest) -> GraphEdge | None:
    """
    One edge from the node to the other one, with its properties.

    None: there is no such edge.
    """
    source, target = _id(request.node), _id(request.other)
    edge = caller.read(
        lambda store: store.zen.get_edge(source, request.type, target, score=request.score)
    )
    return None if edge is None else _shown(edge)


@dataclass(frozen=True, slots=True)
class EdgesRequest:
    """A part of a list of edges."""

    node: Node
    type: EdgeType
    direction: Direction = "out"
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    reverse: Annotated[bool, Option("The highest score first; no effect on type 0.")] = False


@operation(EdgesRequest, http=HttpRoute("GET", "/v1/edges"), thrift="Zen.edges")
def edges(caller: Caller, request: EdgesRequest) -> EdgePage:
    """The edges of a node by score. Type 0: a page's links, with `url`, `text` and `rel`."""
    key, after = _id(request.node), _cursor(request.cursor)

    def read(store: UrlStore) -> Edges:
        zen: Zen = store.zen
        direction = _DIRECTIONS[request.direction]
        return zen.edges(
            key, direction, request.type, request.limit, after, reverse=request.reverse
        )

    page = caller.read(read)
    return EdgePage(tuple(map(_shown, page.items)), page.cursor.hex() if page.cursor else None)


@dataclass(frozen=True, slots=True)
class CountEdgesRequest:
    """Edges to count."""

    node: Node
    type: EdgeType
    direction: Direction = "out"


@operation(
    CountEdgesRequest, http=HttpRoute("GET", "/v1/edges:count", member="count"),
    thrift="Zen.countEdges",
)  # fmt: skip
def count_edges(caller: Caller, request: CountEdgesRequest) -> int:
    """How many edges of a type a node has; read from counts for links, by a scan for others."""
    key, direction = _id(request.node), _DIRECTIONS[request.direction]
    return caller.read(lambda store: store.zen.count_edges(key, direction, request.type))


def _shown(edge: Edge) -> GraphEdge:
    return GraphEdge(edge.other.hex(), edge.score, edge.properties)


def _id(node: str) -> bytes:
    """
    The id of a node.

    Raises:
        BadInput: it is neither an id nor a URL.
    """
    if "://" in node:
        return node_id(normalize(node))
    try:
        if len(node) == _ID_CHARS:
            return bytes.fromhex(node)
    except ValueError:
        pass
    raise BadInput(f"node: must be {_ID_CHARS} hexadecimal digits or a URL, got {node[:100]!r}")


def _cursor(cursor: str | None) -> bytes | None:
    try:
        return bytes.fromhex(cursor) if cursor else None
    except ValueError:
        raise BadInput("cursor: must be one that this call returned") from None


def _own(caller: Caller, node: str) -> bytes:
    """The id of a node that is no page; raises BadInput for one that is."""
    key = _id(node)
    if "://" in node or caller.store.zen.nodes.get(key, [nodes.URL, nodes.REMOVED]):
        raise BadInput(f"node: {node[:100]!r} is the node of a page; use `put` and `remove`")
    return key


def _refuse_taken_down(caller: Caller, node: str) -> None:
    if "://" in node:
        for url in caller.store.takedowns.refused([normalize(node)]):
            raise TakenDown(url)
