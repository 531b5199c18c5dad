"""A graph with properties, indexes, counts, and at most one edge of each type per pair of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from zengraph._edge_lists import ListPlace
from zengraph._indexes import PAGE_BYTES, Schema
from zengraph._multigraph import MultiGraph
from zengraph._packed_edges import PackedEdges
from zengraph._packed_moves import PackedMoves
from zengraph._parallel_edges import Edge, Edges
from zengraph._simple_edge_rows import EdgeKey, NewEdge, check_id
from zengraph._simple_edges import MAX_COUNTED, SimpleEdges
from zengraph._taking import Takes
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument, Unfinished
from zengraph.tables import Tables

_FIRST_NODES = 2
MAX_REMOVED = 10_000
"""Maximum number of edges that one call of `remove_node` removes."""


class RepairedGraph(NamedTuple):
    """The result of a repair."""

    entries: int
    """The number of values added to the indexes."""
    taken: int
    """How many unique values belong to two nodes. Lookups return only one of the nodes."""
    rows: int
    """The number of edge rows that were missing or outdated."""
    counts: int
    """The number of wrong counts."""


class _Closed:
    """Replaces the parts of a closed graph, because using them might reopen the engine's files."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InvalidArgument("the graph is closed; open another one")

    def __contains__(self, _: object) -> bool:
        raise InvalidArgument("the graph is closed; open another one")


_CLOSED: Any = _Closed()


class Graph:
    """
    A graph with simple edges. Any number of processes may open it.

    Every call after `close` raises InvalidArgument.

    >>> from zengraph import IN, OUT, Graph, Schema
    >>> from zengraph.tables.memory import MemoryTables
    >>> FOLLOWS = 1
    >>> graph = Graph(MemoryTables(), Schema(unique=("email",), counted=(FOLLOWS,)))
    >>> ada, bob = b"ada".ljust(16), b"bob".ljust(16)
    >>> graph.put_node(ada, {"email": b"ada@example.com"})
    >>> graph.lookup_unique("email", b"ada@example.com") == ada
    True
    >>> graph.put_edge(bob, FOLLOWS, ada, score=7)
    >>> [(edge.other.strip(), edge.score) for edge in graph.edges(ada, IN, FOLLOWS).items]
    [(b'bob', 7)]
    >>> graph.count_edges(bob, OUT, FOLLOWS)
    1
    >>> graph.close()

    Args:
        tables: used by this graph alone.
        schema: indexed properties, and edge types with special storage.
        clock: the system clock if None.
        max_removed: maximum number of edges that one call of `remove_node` removes.
        max_counted: how many edges `count_edges` reads at most if the type has no stored count.
    """

    def __init__(
        self,
        tables: Tables,
        schema: Schema,
        clock: Clock | None = None,
        *,
        max_removed: int = MAX_REMOVED,
        max_counted: int = MAX_COUNTED,
    ) -> None:
        self.schema = schema
        self._max_removed = max_removed
        self._tables = tables
        self._base = MultiGraph(tables, schema, clock)
        clock = self._base.clock
        self._edges = SimpleEdges(tables, schema, clock, max_counted)
        self._takes = Takes(tables, self._edges, clock)
        self._packed = PackedEdges(tables, schema, self._edges.lists, clock)

    def get_node(
        self, node_id: bytes, names: Sequence[str] | None = None
    ) -> dict[str, bytes] | None:
        """Return all or some properties of a node, or None if the node does not exist."""
        return self._base.get_node(node_id, names)

    def get_nodes(
        self, node_ids: Sequence[bytes], names: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the properties of many nodes, with one multi-get. Missing nodes are omitted."""
        return self._base.get_nodes(node_ids, names)

    def get_properties(
        self, node_id: bytes, prefix: str, limit: int = 100, cursor: str | None = None
    ) -> tuple[dict[str, bytes], str | None]:
        """Return properties whose names begin with `prefix`; see `MultiGraph.get_properties`."""
        return self._base.get_properties(node_id, prefix, limit, cursor)

    def lookup(
        self, name: str, value: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[bytes], bytes | None]:
        """Return the nodes with this value of an indexed property; see `MultiGraph.lookup`."""
        return self._base.lookup(name, value, limit, cursor)

    def lookup_prefix(
        self, name: str, prefix: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """
        Return (value, node) pairs for values that begin with `prefix`; see
        `MultiGraph.lookup_prefix`.
        """
        return self._base.lookup_prefix(name, prefix, limit, cursor)

    def lookup_unique(self, name: str, value: bytes) -> bytes | None:
        """Return the node with this value of a unique property; see `MultiGraph.lookup_unique`."""
        return self._base.lookup_unique(name, value)

    def put_nodes(self, nodes: Sequence[tuple[bytes, Mapping[str, bytes]]]) -> None:
        """
        Put many nodes, like `put_node`, in as few round trips as possible. Safe to repeat.

        Raises:
            InvalidArgument: an id is not 16 bytes long, or a property name is reserved; nothing was
                written.
            NotUnique: another node has one of the values; nothing was written.
            SizeExceeded: a node would exceed the limits of the schema; nothing was written.
        """
        at_ms = self._base.clock.now_ms()
        for key, properties in nodes:
            check_id(key)
            for name in self.schema.columns:
                if name in properties:
                    raise InvalidArgument(f"properties: {name!r} is reserved; choose another name")
        self._base.put_rows(
            [self._base.node_row(key, properties, at_ms) for key, properties in nodes]
        )

    def put_node(self, node_id: bytes, properties: Mapping[str, bytes]) -> None:
        """Set properties of a node, creating it if missing. Same as `put_nodes` with one node."""
        self.put_nodes([(node_id, properties)])

    def put_edge(
        self,
        source: bytes,
        edge_type: int,
        target: bytes,
        *,
        score: int = 0,
        properties: Mapping[str, bytes] | None = None,
        order: bytes = b"",
    ) -> None:
        """Put one edge; see `put_edges`."""
        key = EdgeKey(source, edge_type, target)
        self.put_edges([NewEdge(key, score, properties or {}, order)])

    def put_edges(self, edges: Sequence[NewEdge]) -> None:
        """
        Put edges. An existing edge gets the new score, and keeps properties that are not given.

        Takes one read and two writes for any number of edges, a third write if scores change, and
        another read if edges have properties. For packed types it takes one read and one write,
        atomic for each list. Safe to repeat. If two edges have the same nodes and type, the later
        one is used.

        Raises:
            InvalidArgument: an id, a type or a score cannot be stored; nothing was written.
            SizeExceeded: an edge would exceed the schema's limits, or a packed list would become
                too large. Other packed lists may have been written, but no other edges.
            Unfinished: other writers kept changing a packed list. Other lists may have been
                written.
        """
        packed = [edge for edge in edges if edge.pair.edge_type in self._packed]
        if not packed:
            self._edges.put(edges)
            return
        self._edges.check(edges)
        self._packed.put(packed)
        if others := [edge for edge in edges if edge.pair.edge_type not in self._packed]:
            self._edges.put(others)

    def get_edge(self, source: bytes, edge_type: int, target: bytes) -> Edge | None:
        key = EdgeKey(source, edge_type, target)
        return self._packed.get(key) if edge_type in self._packed else self._edges.get(key)

    def edges(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        limit: int = 100,
        cursor: bytes | None = None,
        *,
        reverse: bool = False,
        least_score: int | None = None,
        most_score: int | None = None,
        prefix: bytes | None = None,
    ) -> Edges:
        """
        Return a page of a node's edges, by score; see `EdgeLists.edges`.

        Raises:
            InvalidArgument: as for `EdgeLists.edges`, or for incoming edges of a packed type.
        """
        place = ListPlace(node_id, direction, edge_type)
        lists = self._packed if edge_type in self._packed else self._edges.lists
        return lists.edges(
            place,
            limit,
            cursor,
            reverse=reverse,
            least_score=least_score,
            most_score=most_score,
            prefix=prefix,
        )

    def walk_edges(self, node_id: bytes, direction: bytes, edge_type: int) -> Iterator[Edge]:
        """Yield all edges in the order of `edges`."""
        place = ListPlace(node_id, direction, edge_type)
        return (self._packed if edge_type in self._packed else self._edges.lists).walk(place)

    def count_edges(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Return the number of edges. Reads all of them if the type has no stored count.

        Raises:
            InvalidArgument: the type has no stored count and there are more than `max_counted`
                edges, or these are incoming edges of a packed type.
        """
        if edge_type in self._packed:
            return self._packed.count(ListPlace(node_id, direction, edge_type))
        return self._edges.count(node_id, direction, edge_type)

    def take_edges(
        self,
        node_id: bytes,
        edge_type: int,
        count: int,
        *,
        lowest: bool = False,
        request_id: str | None = None,
    ) -> list[Edge]:
        """Remove and return a node's `count` best outgoing edges; see `Takes.take`."""
        takes = self._packed if edge_type in self._packed else self._takes
        return takes.take(node_id, edge_type, count, lowest=lowest, request_id=request_id)

    def remove_edges(self, edges: Sequence[tuple[bytes, int, bytes]]) -> None:
        """Remove edges (source, type, target). Missing edges are ignored."""
        pairs = [EdgeKey(*edge) for edge in edges]
        packed = [pair for pair in pairs if pair.edge_type in self._packed]
        self._packed.remove(packed)
        if len(packed) < len(pairs):
            self._edges.remove(pair for pair in pairs if pair.edge_type not in self._packed)

    def trim_edges(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        keep: int,
        *,
        lowest: bool = False,
    ) -> int:
        """
        Remove all but the `keep` best edges of a type from a node, and return how many were
        removed.

        The best edges have the highest scores, or the lowest if `lowest`. This takes a range scan
        over all edges of the type and one multi-get per 500 of them, so call it from time to time
        rather than after each put. Edges put in the meantime are kept. Safe to repeat.

        Raises:
            InvalidArgument: `keep` is negative.
            Unfinished: there were more than `max_removed` edges to remove; that many were removed.
        """
        if keep < 0:
            raise InvalidArgument(f"keep: must not be negative, got {keep}")
        if edge_type in self._packed:
            return self._packed.trim(ListPlace(node_id, direction, edge_type), keep, lowest=lowest)
        removed, complete = self._edges.trim(
            node_id, direction, edge_type, keep, self._max_removed, lowest=lowest
        )
        if not complete:
            raise Unfinished("graph", f"{removed} edges were removed, and there are more; repeat")
        return removed

    def remove_node(self, node_id: bytes) -> None:
        """
        Remove a node and its edges in both directions, edges first.

        Packed edges from other nodes are kept, because this node does not list them.

        Raises:
            Unfinished: the node had more than `max_removed` edges; that many were removed.
        """
        self._takes.forget(node_id)
        self._packed.remove_all(node_id)
        if not self._edges.remove_all(node_id, self._max_removed):
            raise Unfinished(
                "graph",
                f"{self._max_removed} edges of the node were removed, and it has more; repeat",
            )
        self._base.remove_node(node_id)

    def scan_nodes(
        self, limit: int, cursor: bytes | None = None, names: Sequence[str] | None = None
    ) -> tuple[list[tuple[bytes, dict[str, bytes]]], bytes | None]:
        """
        Return (nodes with their properties, ordered by id; cursor, or None at the end).

        A page ends before `limit` once its nodes' properties reach `PAGE_BYTES`. This is not a
        snapshot: a node put in the meantime may be missing.
        """
        start = b"" if cursor is None else cursor + b"\0"
        with closing(self._base.nodes.scan(start, names=self._base.node_columns)) as rows:
            keys = [key for key, _ in islice(rows, limit + 1)]
        wanted = keys[:limit]
        items: list[tuple[bytes, dict[str, bytes]]] = []
        at, size, part_size = 0, 0, _FIRST_NODES
        while at < len(wanted) and size < PAGE_BYTES:
            found = self._base.get_nodes(part_of_page := wanted[at : at + part_size], names)
            for key in part_of_page:
                at += 1
                if key in found:
                    items.append((key, found[key]))
                    size += sum(map(len, found[key].values()))
                if size >= PAGE_BYTES:
                    break
            part_size = max(1, min(8 * part_size, PAGE_BYTES * at // max(size, 1)))
        return items, wanted[at - 1] if at < len(keys) else None

    def repair(self) -> RepairedGraph:
        """
        Add stored values to the indexes, and correct edge rows and counts. Safe to repeat.

        Reads the whole graph. Counts may become wrong if their edges are written in the meantime.
        """
        entries = taken = 0
        for key, row in self._base.nodes.walk():
            added, conflicts = self._base.index(key, row)
            entries, taken = entries + added, taken + conflicts
        moves = PackedMoves(self._tables, self.schema, self._edges, self._packed)
        rows = self._takes.repair() + moves.repair() + self._edges.repair()
        counted = set(self.schema.counted)
        wrong = [
            self._edges.recount(*place) for place in self._edges.walk_lists() if place[2] in counted
        ]
        return RepairedGraph(entries, taken, rows, sum(map(bool, wrong)))

    def check(self) -> list[str]:
        """Return the engine's problems, one line each with the remedy; empty if there are none."""
        return self._base.check()

    def create(self) -> None:
        """Create missing tables; never drop any."""
        self._tables.create()

    def close(self) -> None:
        """Close files and connections. Safe to repeat. Running calls in other threads may fail."""
        if self._base is not _CLOSED:
            self._base.close()
            self._base = self._edges = self._takes = self._packed = self._tables = _CLOSED
