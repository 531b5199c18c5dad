"""Operations that read and write graph nodes, and look them up by property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated

from aragog.api.operations.batch_urls import check_present
from aragog.api.operations.graph import (
    MAX_VALUE_BYTES,
    Graph,
    GraphNode,
    NamedGraph,
    Node,
    NodePurpose,
    Properties,
    application_node_id,
    decode_cursor,
    get_graph,
    read_graph,
    resolve_node,
    translate_unique_errors,
)
from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES, Cursor, Fields, Limit
from aragog.errors import BadInput
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import usable_nodes
from zengraph import Graph as ApplicationGraph
from zengraph import MultiGraph

LookupValue = Annotated[bytes, Option("The value.", max_bytes=MAX_VALUE_BYTES)]


@dataclass(frozen=True, slots=True)
class NodePage:
    """A page of node ids, with a cursor for the next page. The last page has no cursor."""

    nodes: tuple[str, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ScannedNodes:
    """A page of nodes, with a cursor for the next page. The last page has no cursor."""

    nodes: tuple[GraphNode, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class GetNodeRequest:
    """The node to read."""

    node: Node
    properties: Fields = None
    _: KW_ONLY
    graph: Graph = None
    purpose: NodePurpose = None


@operation(GetNodeRequest, http=HttpRoute("GET", "/v1/nodes", missing="there is no such node"),
           thrift="Zen.getNode")  # fmt: skip
def get_node(caller: Caller, request: GetNodeRequest) -> GraphNode | None:
    """
    Return a node's properties. For a page's node, these are the page's fields.

    Returns None if the node does not exist.
    """
    key = resolve_node(caller, request.node, request.graph)
    if request.graph is not None:
        properties = read_graph(
            caller, request.graph, lambda g: g.get_node(key, request.properties)
        )
        return None if properties is None else GraphNode(key.hex(), properties)

    def read(store: UrlStore) -> GraphNode | None:
        usable = key in usable_nodes(store.zen, [key], request.purpose)
        values = store.zen.get_node(key, request.properties) if usable else None
        node = None if values is None else GraphNode(key.hex(), values)
        return check_present(store, request.node, node) if "://" in request.node else node

    return caller.read(read)


@dataclass(frozen=True, slots=True)
class GetNodesRequest:
    """Nodes of a graph."""

    graph: NamedGraph
    nodes: Annotated[
        Sequence[str],
        Option("Node ids or names; up to 1,000.", max_items=MAX_ITEMS, max_bytes=8192),
    ]
    properties: Fields = None


@operation(GetNodesRequest, http=HttpRoute("POST", "/v1/nodes:batchGet", member="nodes"),
           thrift="Zen.getNodes")  # fmt: skip
def get_nodes(caller: Caller, request: GetNodesRequest) -> list[GraphNode]:
    """
    Return several nodes of a graph, in order, without those that do not exist.

    One call returns up to 32 MiB. If the nodes are larger, request fewer nodes or properties.
    """
    keys = [resolve_node(caller, node, request.graph) for node in request.nodes]
    nodes_by_key = read_graph(
        caller, request.graph, lambda g: g.get_nodes(keys, request.properties)
    )
    return [GraphNode(key.hex(), nodes_by_key[key]) for key in keys if key in nodes_by_key]


@dataclass(frozen=True, slots=True)
class ScanNodesRequest:
    """Which page of a graph's nodes to return."""

    graph: NamedGraph
    limit: Limit = 100
    cursor: Cursor = None
    properties: Fields = None


@operation(ScanNodesRequest, http=HttpRoute("POST", "/v1/nodes:scan"), thrift="Zen.scanNodes")
def scan_nodes(caller: Caller, request: ScanNodesRequest) -> ScannedNodes:
    """
    List all nodes of a graph, page by page, sorted by id. The list is not a snapshot.

    A result page is cut short once the properties in it reach 4 MiB.
    """
    after = decode_cursor(request.cursor)
    rows, cursor = read_graph(
        caller, request.graph, lambda g: g.scan_nodes(request.limit, after, request.properties)
    )
    converted = tuple(GraphNode(key.hex(), values) for key, values in rows)
    return ScannedNodes(converted, cursor.hex() if cursor else None)


@dataclass(frozen=True, slots=True)
class PutNodeRequest:
    """Properties to set."""

    node: Node
    properties: Properties
    _: KW_ONLY
    graph: Graph = None


@operation(PutNodeRequest, http=HttpRoute("PATCH", "/v1/nodes"), thrift="Zen.putNode", scope=WRITE)
def put_node(caller: Caller, request: PutNodeRequest) -> None:
    """
    Set properties of an application's node, and create the node if needed. Other properties stay.

    Safe to repeat.
    """
    caller.store.fields.check(request.properties)
    if request.graph is not None:
        key = resolve_node(caller, request.node, request.graph)
        with translate_unique_errors(caller, request.graph):
            get_graph(caller, request.graph).put_node(key, request.properties)
        return
    caller.parts.writers.check(caller.token, request.properties)
    key = application_node_id(caller, request.node)
    with translate_unique_errors(caller):
        caller.store.zen.put_node(key, request.properties)


@dataclass(frozen=True, slots=True)
class RemoveNodeRequest:
    """A node to remove."""

    node: Node
    _: KW_ONLY
    graph: Graph = None


@operation(
    RemoveNodeRequest, http=HttpRoute("DELETE", "/v1/nodes"), thrift="Zen.removeNode", scope=WRITE
)
def remove_node(caller: Caller, request: RemoveNodeRequest) -> None:
    """
    Remove an application's node with its edges in both directions. Safe to repeat.

    In an application's graph, one call removes up to 10,000 edges. If the node has more, the call
    fails with Unavailable; repeat it until it succeeds.
    """
    if request.graph is not None:
        get_graph(caller, request.graph).remove_node(
            resolve_node(caller, request.node, request.graph)
        )
        return
    zen = caller.store.zen
    key = application_node_id(caller, request.node)
    caller.parts.writers.check(caller.token, zen.property_sizes(key))
    zen.remove_node(key)


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """The value of an indexed property to look up."""

    name: Annotated[
        str,
        Option(
            "A property in `store.indexed` or `store.unique`; for a graph, in "
            "`store.graph_indexed` or `store.graph_unique`.",
            max_bytes=MAX_NAME_BYTES,
        ),
    ]
    value: LookupValue
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    graph: Graph = None
    purpose: NodePurpose = None


@operation(LookupRequest, http=HttpRoute("POST", "/v1/nodes:lookup"), thrift="Zen.lookup")
def lookup(caller: Caller, request: LookupRequest) -> NodePage:
    """List the nodes, including pages, whose indexed property has the given value."""
    after = decode_cursor(request.cursor)
    if request.graph is not None:
        graph = get_graph(caller, request.graph)
        if request.name not in graph.schema.searchable:
            raise BadInput(
                f"name: {request.name!r} is not indexed in {request.graph}; "
                "add it to store.graph_indexed"
            )
        found, cursor = read_graph(
            caller,
            request.graph,
            lambda g: g.lookup(request.name, request.value, request.limit, after),
        )
    else:
        if request.name not in caller.store.zen.schema.searchable:
            raise BadInput(f"name: {request.name!r} is not indexed; add it to store.indexed")

        def read(store: UrlStore) -> tuple[list[bytes], bytes | None]:
            keys, cursor = store.zen.lookup(request.name, request.value, request.limit, after)
            usable = usable_nodes(store.zen, keys, request.purpose)
            return [key for key in keys if key in usable], cursor

        found, cursor = caller.read(read)
    return NodePage(tuple(key.hex() for key in found), cursor.hex() if cursor else None)


@dataclass(frozen=True, slots=True)
class LookupUniqueRequest:
    """The value of a unique property to look up."""

    name: Annotated[
        str,
        Option(
            "A property in `store.unique`; for a graph, in `store.graph_unique`.",
            max_bytes=MAX_NAME_BYTES,
        ),
    ]
    value: LookupValue
    properties: Fields = None
    _: KW_ONLY
    graph: Graph = None
    purpose: NodePurpose = None


@operation(
    LookupUniqueRequest,
    http=HttpRoute("POST", "/v1/nodes:lookupUnique", missing="no node has this value"),
    thrift="Zen.lookupUnique",
)
def lookup_unique(caller: Caller, request: LookupUniqueRequest) -> GraphNode | None:
    """
    Return the node whose unique property has the given value, with its properties.

    Returns None if no node has the value.
    """
    if request.graph is not None:
        graph = get_graph(caller, request.graph)
        if request.name not in graph.schema.unique:
            raise BadInput(
                f"name: {request.name!r} is not unique in {request.graph}; "
                "add it to store.graph_unique"
            )
        return read_graph(caller, request.graph, partial(_unique_node, request))
    if request.name not in caller.store.zen.schema.unique:
        raise BadInput(f"name: {request.name!r} is not unique; add it to store.unique")

    def read(store: UrlStore) -> GraphNode | None:
        node = _unique_node(request, store.zen)
        key = b"" if node is None else bytes.fromhex(node.node)
        return node if key in usable_nodes(store.zen, [key], request.purpose) else None

    return caller.read(read)


def _unique_node(
    request: LookupUniqueRequest, graph: MultiGraph | ApplicationGraph
) -> GraphNode | None:
    key = graph.lookup_unique(request.name, request.value)
    values = None if key is None else graph.get_node(key, request.properties)
    return None if key is None or values is None else GraphNode(key.hex(), values)
