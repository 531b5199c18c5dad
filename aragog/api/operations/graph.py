"""
Code that the graph operations share.

Without a graph name, operations use the store's graph, where a URL identifies a page's node. Page
nodes can have application edges. The properties of a page node are the page's fields. Only `put`
writes them, because fields have owners, limits and takedowns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TypeVar

from aragog.api.operations.large_reads import MAX_BYTES, BoundedRead, ReadTooLarge
from aragog.api.operations.operation import Caller
from aragog.api.operations.options import Option
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES
from aragog.errors import BadInput, NotUnique, SizeExceeded, TakenDown, ValueTaken
from aragog.pages.preferences import PURPOSES
from aragog.urlstore import nodes
from urlspelling import normalize, url_key
from zengraph import IN, OUT, Edge
from zengraph import Graph as ApplicationGraph

T = TypeVar("T")

MAX_VALUE_BYTES = 1_000_000
MAX_ORDER_BYTES = 500
MIN_TYPE, MAX_TYPE = 16, 65_535
"""The types of applications' edges. The store uses 0 for links, 1 for aliases, 2 for watches."""
DIRECTIONS = {"out": OUT, "in": IN}
ID_CHARS = 32

Node = Annotated[
    str,
    Option(
        "The node: 32 hexadecimal digits, or a URL for its page's node; with `graph`, also a "
        "name of up to 200 bytes.",
        max_bytes=8192,
    ),
]
OtherNode = Annotated[
    str, Option("The node at the other end, identified in the same way.", max_bytes=8192)
]
Score = Annotated[
    int, Option("The edges of a node are sorted by score.", minimum=-(2**63), maximum=2**63 - 1)
]
Properties = Annotated[
    Mapping[str, bytes], Option("Property names and values.", max_items=MAX_ITEMS, by_format=True)
]
ApplicationEdgeType = Annotated[
    int, Option("The type of the edge.", minimum=MIN_TYPE, maximum=MAX_TYPE)
]
Direction = Annotated[
    str, Option("`out`: edges from the node; `in`: edges to it.", choices=("out", "in"))
]
Graph = Annotated[
    str | None,
    Option("A graph in `store.graphs`; default: the graph of the store.", max_bytes=20),
]
Order = Annotated[
    bytes | None,
    Option(
        "Sorts edges with the same score; only for types in `store.graph_ordered`.",
        max_bytes=MAX_ORDER_BYTES,
    ),
]
NodePurpose = Annotated[
    str | None,
    Option("Return page nodes only if their sites allow this purpose (`search`, "
           "`ai-input` or `ai-train`); ignored with `graph`.", choices=PURPOSES, http="for"),
]  # fmt: skip
NamedGraph = Annotated[str, Option("A graph in `store.graphs`.", max_bytes=20)]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node with its properties."""

    node: str
    """The node's id: 32 hexadecimal digits."""
    properties: Annotated[Mapping[str, bytes], Option("", by_format=True)]
    """The node's properties. An alias has `canonical_url`, the URL of its page."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge, seen from one of its ends."""

    node: str
    """The id of the node at the other end."""
    score: int
    properties: Annotated[Mapping[str, bytes], Option("", by_format=True)]
    order: Annotated[bytes | None, Option("", omitted=True)] = None
    """Sorts edges with the same score, for types in `store.graph_ordered`. Otherwise None."""

    @classmethod
    def of(cls, edge: Edge) -> GraphEdge:
        """Convert an edge for responses."""
        return cls(edge.other.hex(), edge.score, edge.properties, edge.order or None)


def resolve_node(caller: Caller, node: str, graph: str | None) -> bytes:
    """Return a node's id in a graph or, if `graph` is None, in the store."""
    if graph is None and "://" in node:
        return caller.store.zen.node_id(normalize(node))
    return parse_node_id(node, graph)


def parse_node_id(node: str, graph: str | None = None) -> bytes:
    """
    Return a node's id, either `node` itself or the first 16 bytes of the SHA-256 of its name.

    Raises:
        BadInput: `node` is neither an id, nor a URL, nor the name of a node in a graph.
    """
    if "://" in node:
        return url_key(normalize(node))
    try:
        if len(node) == ID_CHARS:
            return bytes.fromhex(node)
    except ValueError:
        pass
    if graph is None:
        raise BadInput(f"node: must be {ID_CHARS} hexadecimal digits or a URL, got {node[:100]!r}")
    size = len(node.encode("utf-8", "replace"))
    if not 0 < size <= MAX_NAME_BYTES:
        raise BadInput(f"node: a name must have 1 to {MAX_NAME_BYTES} bytes, got {size}")
    return url_key(node)


def get_graph(caller: Caller, name: str) -> ApplicationGraph:
    """
    Return an application's graph.

    Raises:
        BadInput: there is no such graph.
    """
    return caller.parts.graphs[name]


def read_graph(caller: Caller, name: str, read: Callable[[ApplicationGraph], T]) -> T:
    """
    Read an application's graph, with the same limits as reads of the store.

    Raises:
        BadInput: there is no such graph.
        SizeExceeded: the requested data is too large for one read.
    """
    graph = get_graph(caller, name)
    try:
        with BoundedRead():
            return read(graph)
    except ReadTooLarge as error:
        raise SizeExceeded(
            f"the nodes exceed {MAX_BYTES:,} bytes in total: request fewer, or select the "
            "properties to read"
        ) from error


def decode_cursor(cursor: str | None) -> bytes | None:
    """
    Decode a cursor to a position.

    Raises:
        BadInput: this call did not return the cursor.
    """
    try:
        return bytes.fromhex(cursor) if cursor else None
    except ValueError:
        raise BadInput("cursor: must be a cursor returned by this call") from None


@contextmanager
def translate_unique_errors(caller: Caller, graph: str | None = None) -> Iterator[None]:
    """
    Convert NotUnique to ValueTaken, with the URL of the record that has the unique value. If that
    record was deleted in the meantime, the error has the record's node id.
    """
    try:
        yield
    except NotUnique as error:
        url = error.holder
        if graph is None and len(url) == ID_CHARS:
            cells = caller.store.zen.nodes.get(bytes.fromhex(url), [nodes.URL])
            url = cells[nodes.URL].value.decode() if nodes.URL in cells else url
        raise ValueTaken(error.name, url) from error


def application_node_id(caller: Caller, node: str) -> bytes:
    """Return the id of an application's node in the store. Raises BadInput for a page."""
    key = resolve_node(caller, node, None)
    if "://" in node or caller.store.zen.nodes.get(key, [nodes.URL, nodes.REMOVED]):
        raise BadInput(f"node: {node[:100]!r} is a page; use `put` and `remove`")
    return key


def check_not_taken_down(caller: Caller, node: str) -> None:
    """Raise TakenDown if the URL was taken down."""
    if "://" in node:
        for url in caller.store.takedowns.refused([normalize(node)]):
            raise TakenDown(url)
