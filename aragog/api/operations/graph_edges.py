"""Operations on graph edges, and batches of changes to a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import groupby
from typing import Annotated

from aragog.api.operations.graph import (
    DIRECTIONS,
    MAX_TYPE,
    MIN_TYPE,
    ApplicationEdgeType,
    Direction,
    Graph,
    GraphEdge,
    NamedGraph,
    Node,
    Order,
    OtherNode,
    Score,
    check_not_taken_down,
    decode_cursor,
    get_graph,
    parse_node_id,
    read_graph,
    resolve_node,
    translate_unique_errors,
)
from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.values import MAX_ITEMS, Cursor, Limit
from aragog.errors import BAD_INPUT, BadInput
from aragog.pages.preferences import PURPOSES
from aragog.urlstore.link_edges import LINK
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import usable_nodes
from zengraph import EdgeKey, Edges, MultiGraph, NewEdge
from zengraph import Graph as ApplicationGraph

PUT_NODE, REMOVE_NODE, PUT_EDGE, REMOVE_EDGE = MUTATION_KINDS = (
    "put_node", "remove_node", "put_edge", "remove_edge",
)  # fmt: skip

EdgeType = Annotated[
    int,
    Option(
        "The edge type: 0 for page links, 1 for aliases, 2 for watches, 16 and above for "
        "applications.",
        minimum=0, maximum=MAX_TYPE,
    ),
]  # fmt: skip
NonLinkEdgeType = Annotated[
    int,
    Option(
        "The edge type: 1 for aliases, 2 for watches, 16 and above for applications.",
        minimum=1, maximum=MAX_TYPE,
    ),
]  # fmt: skip
EdgeScore = Annotated[
    int,
    Option(
        "The edge's score. Ignored with `graph`, where a pair of nodes has one edge of each type.",
        minimum=-(2**63), maximum=2**63 - 1,
    ),
]  # fmt: skip
ScoreBound = Annotated[
    int | None, Option("Only edges within this score bound.", minimum=-(2**63), maximum=2**63 - 1)
]
EdgeProperties = Annotated[
    Mapping[str, bytes] | None,
    Option("Property names and values.", max_items=MAX_ITEMS, by_format=True),
]


@dataclass(frozen=True, slots=True)
class EdgePage:
    """A page of edges, with a cursor for the next page. The last page has no cursor."""

    edges: tuple[GraphEdge, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class PutEdgeRequest:
    """An edge to set."""

    node: Node
    type: ApplicationEdgeType
    other: OtherNode
    _: KW_ONLY
    score: Score = 0
    properties: EdgeProperties = None
    graph: Graph = None
    order: Order = None


@operation(PutEdgeRequest, http=HttpRoute("POST", "/v1/edges"), thrift="Zen.putEdge", scope=WRITE)
def put_edge(caller: Caller, request: PutEdgeRequest) -> None:
    """
    Set an application's edge. Safe to repeat.

    In a graph, a node has at most one edge of each type to another node, and setting another score
    moves it. In the store's graph, edges with different scores are different edges.
    """
    properties = request.properties or {}
    caller.store.fields.check(properties)
    source, target = (
        resolve_node(caller, request.node, request.graph),
        resolve_node(caller, request.other, request.graph),
    )
    if request.graph is not None:
        get_graph(caller, request.graph).put_edge(
            source, request.type, target, score=request.score, properties=properties,
            order=request.order or b"",
        )  # fmt: skip
        return
    if request.order:
        raise BadInput("order: only edges of a named graph have an order; set graph")
    for end in (request.node, request.other):
        check_not_taken_down(caller, end)
    caller.store.zen.put_edge(
        source, request.type, target, score=request.score, properties=properties
    )


@dataclass(frozen=True, slots=True)
class RemoveEdgeRequest:
    """An edge to remove."""

    node: Node
    type: ApplicationEdgeType
    other: OtherNode
    _: KW_ONLY
    score: EdgeScore = 0
    graph: Graph = None


@operation(
    RemoveEdgeRequest, http=HttpRoute("DELETE", "/v1/edges"), thrift="Zen.removeEdge", scope=WRITE
)
def remove_edge(caller: Caller, request: RemoveEdgeRequest) -> None:
    """Remove an application's edge, if it exists. Safe to repeat."""
    source, target = (
        resolve_node(caller, request.node, request.graph),
        resolve_node(caller, request.other, request.graph),
    )
    if request.graph is not None:
        get_graph(caller, request.graph).remove_edges([(source, request.type, target)])
        return
    caller.store.zen.remove_edge(source, request.type, target, score=request.score)


@dataclass(frozen=True, slots=True)
class GetEdgeRequest:
    """The edge to read."""

    node: Node
    type: NonLinkEdgeType
    other: OtherNode
    _: KW_ONLY
    score: EdgeScore = 0
    graph: Graph = None


@operation(
    GetEdgeRequest,
    http=HttpRoute("GET", "/v1/edges", missing="there is no such edge", selected_by=("other",)),
    thrift="Zen.getEdge",
)
def get_edge(caller: Caller, request: GetEdgeRequest) -> GraphEdge | None:
    """
    Return one edge between two nodes, with its properties.

    Returns None if there is no such edge.
    """
    source, target = (
        resolve_node(caller, request.node, request.graph),
        resolve_node(caller, request.other, request.graph),
    )
    if request.graph is not None:
        edge = read_graph(caller, request.graph, lambda g: g.get_edge(source, request.type, target))
    else:
        edge = caller.read(
            lambda store: store.zen.get_edge(source, request.type, target, score=request.score)
        )
    return None if edge is None else GraphEdge.of(edge)


@dataclass(frozen=True, slots=True)
class EdgesRequest:
    """Which edges of a node to list."""

    node: Node
    type: EdgeType
    direction: Direction = "out"
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    reverse: Annotated[bool, Option("Highest score first; ignored for type 0.")] = False
    least_score: ScoreBound = None
    most_score: ScoreBound = None
    graph: Graph = None
    purpose: Annotated[
        str | None,
        Option("For type 0, return only links on pages whose sites allow this purpose "
               "(`search`, `ai-input` or `ai-train`).", choices=PURPOSES, http="for"),
    ] = None  # fmt: skip


@operation(EdgesRequest, http=HttpRoute("GET", "/v1/edges"), thrift="Zen.edges")
def edges(caller: Caller, request: EdgesRequest) -> EdgePage:
    """
    List a node's edges by score. Edges of type 0 are a page's links, with `url`, `text` and `rel`.

    A result page is cut short once the properties in it reach 4 MiB.
    """
    key, after = resolve_node(caller, request.node, request.graph), decode_cursor(request.cursor)

    def read(graph: MultiGraph | ApplicationGraph) -> Edges:
        return graph.edges(
            key, DIRECTIONS[request.direction], request.type, request.limit, after,
            reverse=request.reverse, least_score=request.least_score,
            most_score=request.most_score,
        )  # fmt: skip

    if request.graph is not None:
        _check_type(request.type)
        page = read_graph(caller, request.graph, read)
    else:
        page = caller.read(lambda store: _read_store_edges(store, key, request, after, read))
    converted = tuple(map(GraphEdge.of, page.items))
    return EdgePage(converted, page.cursor.hex() if page.cursor else None)


def _read_store_edges(
    store: UrlStore,
    key: bytes,
    request: EdgesRequest,
    after: bytes | None,
    read: Callable[[MultiGraph], Edges],
) -> Edges:
    """Return edges in the store's graph, either page links or application edges."""
    if request.type != LINK:
        return read(store.zen)
    direction = DIRECTIONS[request.direction]
    page = store.link_edges.edges(key, direction, request.limit, after)
    return _filter_links(page, store.zen, key, request)


def _filter_links(page: Edges, zen: MultiGraph, key: bytes, request: EdgesRequest) -> Edges:
    if request.purpose is None:
        return page
    is_out = request.direction == "out"
    sources = [key if is_out else edge.other for edge in page.items]
    usable = usable_nodes(zen, list(dict.fromkeys(sources)), request.purpose)
    allowed = [edge for edge, source in zip(page.items, sources, strict=True) if source in usable]
    return Edges(allowed, page.cursor)


@dataclass(frozen=True, slots=True)
class CountEdgesRequest:
    """Edges to count."""

    node: Node
    type: EdgeType
    direction: Direction = "out"
    _: KW_ONLY
    graph: Graph = None


@operation(
    CountEdgesRequest, http=HttpRoute("GET", "/v1/edges:count", member="count"),
    thrift="Zen.countEdges",
)  # fmt: skip
def count_edges(caller: Caller, request: CountEdgesRequest) -> int:
    """
    Count a node's edges of one type.

    The counts of links and of the types in `store.graph_counted` are stored. Other edges are
    counted one by one, up to 10,000 in an application's graph.
    """
    key, direction = (
        resolve_node(caller, request.node, request.graph),
        DIRECTIONS[request.direction],
    )

    def read(store: UrlStore) -> int:
        if request.type == LINK:
            return store.link_edges.count(key, direction)
        return store.zen.count_edges(key, direction, request.type)

    if request.graph is None:
        return caller.read(read)
    _check_type(request.type)
    return read_graph(caller, request.graph, lambda g: g.count_edges(key, direction, request.type))


@dataclass(frozen=True, slots=True)
class GraphMutation:
    """One change to a graph."""

    kind: Annotated[str, Option("What to change.", choices=MUTATION_KINDS)]
    node: Node
    type: Annotated[int | None, Option("The edge type.", minimum=MIN_TYPE, maximum=MAX_TYPE)] = None
    other: Annotated[
        str | None, Option("The node at the other end of the edge.", max_bytes=8192)
    ] = None
    score: Score = 0
    properties: EdgeProperties = None
    order: Order = None


@dataclass(frozen=True, slots=True)
class MutateRequest:
    """A batch of changes to a graph."""

    graph: NamedGraph
    mutations: Annotated[
        Sequence[GraphMutation],
        Option("Changes, applied in order; up to 1,000.", max_items=MAX_ITEMS),
    ]


@operation(
    MutateRequest, http=HttpRoute("POST", "/v1/graph:mutate"), thrift="Zen.mutate", scope=WRITE
)
def mutate(caller: Caller, request: MutateRequest) -> None:
    """
    Make many changes to a graph in a few round trips. Safe to repeat.

    The batch is not atomic. Consecutive changes of the same kind are applied together, and changes
    before an error stay. Invalid input is detected before anything is written.
    """
    ordered_types = get_graph(caller, request.graph).schema.ordered
    for index, change in enumerate(request.mutations):
        _check_change(caller, f"mutations[{index}]", change, ordered_types)
    for kind, changes in groupby(request.mutations, key=lambda change: change.kind):
        _apply_changes(caller, request.graph, kind, list(changes))


def _check_change(
    caller: Caller, position: str, change: GraphMutation, ordered_types: Sequence[int]
) -> None:
    """Raise BadInput if a change is invalid. The message names the change."""
    is_edge = change.kind in (PUT_EDGE, REMOVE_EDGE)
    if is_edge and (change.type is None or change.other is None):
        raise BadInput(f"{position}: {change.kind} needs type and other")
    if not is_edge and (change.type is not None or change.other is not None):
        raise BadInput(f"{position}: {change.kind} must not have type or other")
    if change.order and change.type not in ordered_types:
        raise BadInput(
            f"{position}: order: type {change.type} has no order; add it to store.graph_ordered"
        )
    try:
        caller.store.fields.check(change.properties or {})
        for node in filter(None, (change.node, change.other)):
            parse_node_id(node, "")
    except BAD_INPUT as error:
        raise BadInput(f"{position}: {error}") from error


def _apply_changes(caller: Caller, name: str, kind: str, changes: Sequence[GraphMutation]) -> None:
    graph = get_graph(caller, name)
    keys = [parse_node_id(change.node, name) for change in changes]
    if kind == PUT_NODE:
        values = (change.properties or {} for change in changes)
        with translate_unique_errors(caller, name):
            graph.put_nodes(list(zip(keys, values, strict=True)))
    elif kind == REMOVE_NODE:
        for key in keys:
            graph.remove_node(key)
    elif kind == PUT_EDGE:
        pairs = zip(_edge_keys(name, changes), changes, strict=True)
        graph.put_edges(
            [
                NewEdge(pair, change.score, change.properties or {}, change.order or b"")
                for pair, change in pairs
            ]
        )
    else:
        graph.remove_edges(list(_edge_keys(name, changes)))


def _edge_keys(name: str, changes: Sequence[GraphMutation]) -> Iterator[EdgeKey]:
    for change in changes:
        assert change.type is not None  # noqa: S101 - `_check_change` rejects None
        assert change.other is not None  # noqa: S101 - `_check_change` rejects None
        yield EdgeKey(
            parse_node_id(change.node, name), change.type, parse_node_id(change.other, name)
        )


def _check_type(edge_type: int) -> None:
    if edge_type < MIN_TYPE:
        raise BadInput(f"type: must be {MIN_TYPE} to {MAX_TYPE} in a graph, got {edge_type}")
