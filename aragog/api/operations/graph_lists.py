"""
Operations that take edges, trim lists of edges, and look up nodes and edges by prefix.

They only work on applications' graphs, because edges of the store's graph are identified by their
scores, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from aragog.api.operations.graph import (
    DIRECTIONS,
    MAX_ORDER_BYTES,
    ApplicationEdgeType,
    Direction,
    GraphEdge,
    GraphNode,
    NamedGraph,
    Node,
    Score,
    decode_cursor,
    get_graph,
    parse_node_id,
    read_graph,
)
from aragog.api.operations.graph_edges import EdgePage
from aragog.api.operations.graph_nodes import ScannedNodes
from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES, Cursor, Limit
from aragog.errors import BadInput

LowestFirst = Annotated[bool, Option("Treat the lowest scores as the best, not the highest.")]


@dataclass(frozen=True, slots=True)
class TakeEdgesRequest:
    """Edges to take."""

    graph: NamedGraph
    node: Node
    type: ApplicationEdgeType
    count: Annotated[int, Option("Maximum number of edges.", minimum=1, maximum=MAX_ITEMS)]
    _: KW_ONLY
    lowest: LowestFirst = False
    request_id: Annotated[
        str | None,
        Option(
            "Identifies this request; repeating it within a day returns the same edges.",
            max_bytes=MAX_NAME_BYTES,
        ),
    ] = None


@operation(
    TakeEdgesRequest, http=HttpRoute("POST", "/v1/edges:take", member="edges"),
    thrift="Zen.takeEdges", scope=WRITE, repeatable=lambda request: request.request_id is not None,
)  # fmt: skip
def take_edges(caller: Caller, request: TakeEdgesRequest) -> list[GraphEdge]:
    """
    Remove a node's best edges and return them, with the best first.

    No edge is returned to two requests unless it was added again in between. If the response is
    lost, its edges are lost, too. With `request_id`, repeating the request returns them again.
    """
    key = parse_node_id(request.node, request.graph)
    edges = get_graph(caller, request.graph).take_edges(
        key, request.type, request.count, lowest=request.lowest, request_id=request.request_id
    )
    return list(map(GraphEdge.of, edges))


@dataclass(frozen=True, slots=True)
class TrimEdgesRequest:
    """A list to trim."""

    graph: NamedGraph
    node: Node
    type: ApplicationEdgeType
    keep: Annotated[int, Option("How many edges to keep.", minimum=0, maximum=100_000)]
    direction: Direction = "out"
    _: KW_ONLY
    lowest: LowestFirst = False


@operation(
    TrimEdgesRequest, http=HttpRoute("POST", "/v1/edges:trim", member="removed"),
    thrift="Zen.trimEdges", scope=WRITE,
)  # fmt: skip
def trim_edges(caller: Caller, request: TrimEdgesRequest) -> int:
    """
    Remove a node's edges of a type except the best ones, and return how many were removed.

    Safe to repeat. One call removes up to 10,000 edges. If the list is longer, the call fails with
    Unavailable; repeat it until it succeeds.
    """
    return get_graph(caller, request.graph).trim_edges(
        parse_node_id(request.node, request.graph), DIRECTIONS[request.direction], request.type,
        request.keep, lowest=request.lowest,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EdgesByPrefixRequest:
    """A prefix of the edges' order values."""

    graph: NamedGraph
    node: Node
    type: ApplicationEdgeType
    prefix: Annotated[
        bytes, Option("The prefix of the edges' order values.", max_bytes=MAX_ORDER_BYTES)
    ]
    direction: Direction = "out"
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    score: Score = 0
    reverse: Annotated[bool, Option("Highest order first.")] = False


@operation(
    EdgesByPrefixRequest, http=HttpRoute("POST", "/v1/edges:byPrefix"), thrift="Zen.edgesByPrefix"
)
def edges_by_prefix(caller: Caller, request: EdgesByPrefixRequest) -> EdgePage:
    """
    List a node's edges with the same score whose order values start with a prefix, in that order.

    This requires a type in `store.graph_ordered`. A result page is cut short once the properties in
    it reach 4 MiB.
    """
    after = decode_cursor(request.cursor)
    page = read_graph(
        caller,
        request.graph,
        lambda graph: graph.edges(
            parse_node_id(request.node, request.graph), DIRECTIONS[request.direction], request.type,
            request.limit, after, reverse=request.reverse, prefix=request.prefix,
            least_score=request.score,
        ),
    )  # fmt: skip
    converted = tuple(map(GraphEdge.of, page.items))
    return EdgePage(converted, page.cursor.hex() if page.cursor else None)


@dataclass(frozen=True, slots=True)
class PropertyPage:
    """A page of properties, with a cursor for the next page. The last page has no cursor."""

    properties: Annotated[Mapping[str, bytes], Option("", by_format=True)]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class NodePropertiesRequest:
    """A prefix of property names."""

    graph: NamedGraph
    node: Node
    prefix: Annotated[
        str, Option("The prefix of the property names.", max_bytes=MAX_NAME_BYTES)
    ] = ""
    limit: Limit = 100
    cursor: Annotated[
        str | None, Option("The cursor of the previous page.", max_bytes=MAX_NAME_BYTES)
    ] = None


@operation(
    NodePropertiesRequest, http=HttpRoute("POST", "/v1/nodes:properties"),
    thrift="Zen.nodeProperties",
)  # fmt: skip
def node_properties(caller: Caller, request: NodePropertiesRequest) -> PropertyPage:
    """List the properties of a graph's node whose names start with a prefix, sorted by name."""
    key = parse_node_id(request.node, request.graph)
    properties, cursor = read_graph(
        caller,
        request.graph,
        lambda graph: graph.get_properties(key, request.prefix, request.limit, request.cursor),
    )
    return PropertyPage(properties, cursor)


@dataclass(frozen=True, slots=True)
class LookupPrefixRequest:
    """A prefix of a property's values."""

    graph: NamedGraph
    name: Annotated[str, Option("A property in `store.graph_sorted`.", max_bytes=MAX_NAME_BYTES)]
    prefix: Annotated[bytes, Option("The prefix of the values.", max_bytes=MAX_ORDER_BYTES)]
    limit: Limit = 100
    cursor: Cursor = None


@operation(
    LookupPrefixRequest, http=HttpRoute("POST", "/v1/nodes:lookupPrefix"), thrift="Zen.lookupPrefix"
)
def lookup_prefix(caller: Caller, request: LookupPrefixRequest) -> ScannedNodes:
    """
    List the nodes of a graph whose property starts with a prefix, sorted by the property's value.

    Each node is returned with that property only.
    """
    after = decode_cursor(request.cursor)
    if request.name not in get_graph(caller, request.graph).schema.sorted:
        raise BadInput(
            f"name: {request.name!r} is not sorted in {request.graph}; add it to store.graph_sorted"
        )
    matches, cursor = read_graph(
        caller,
        request.graph,
        lambda graph: graph.lookup_prefix(request.name, request.prefix, request.limit, after),
    )
    converted = tuple(GraphNode(key.hex(), {request.name: value}) for value, key in matches)
    return ScannedNodes(converted, cursor.hex() if cursor else None)
