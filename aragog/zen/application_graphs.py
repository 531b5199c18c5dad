"""
Graphs that applications keep in Zen, each with tables of its own and a schema of its own.

Such a graph has nodes with properties, indexes and unique values as the UrlStore's graph has them,
and edges of which a node has one of a type to another node (`pair_edges`). Nothing of one graph
can be read or written through another one, because they share no table.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple

from aragog.errors import BadInput, Unfinished
from aragog.runtime.clock import Clock, SystemClock
from aragog.zen.edges import Edge
from aragog.zen.graph import NODE_COLUMNS, Zen, node_row
from aragog.zen.indexes import CANONICAL_URL, PAGE_BYTES, Schema
from aragog.zen.pair_edges import MOST_COUNTED, NewEdge, PairEdge, PairEdges
from aragog.zen.tables import Tables

_FIRST_NODES = 2
MOST_REMOVED = 10_000
"""Edges that one `remove_node` removes."""


class RepairedGraph(NamedTuple):
    """What a repair corrected."""

    entries: int
    """Values that were entered in the indexes."""
    taken: int
    """Unique values that two nodes have; lookups return one of them."""
    rows: int
    """Rows of edges that were missing, or not true."""
    counts: int
    """Counts that were wrong."""


class ApplicationGraph:
    """
    One graph. Any number of processes may open it.

    Args:
        tables: its own.
        schema: its indexed properties and counted types.
        clock: None: the system's.
        most_removed: edges that one `remove_node` removes.
        most_counted: edges of a type that is not counted which `count_edges` reads.
    """

    def __init__(
        self,
        tables: Tables,
        schema: Schema,
        clock: Clock | None = None,
        *,
        most_removed: int = MOST_REMOVED,
        most_counted: int = MOST_COUNTED,
    ) -> None:
        self.schema = schema
        self._most_removed = most_removed
        self._tables = tables
        self._zen = zen = Zen(tables, schema, clock)
        self._edges = edges = PairEdges(tables, schema, zen.clock, most_counted)
        self.get_node, self.get_nodes = zen.get_node, zen.get_nodes
        self.lookup, self.lookup_unique = zen.lookup, zen.lookup_unique
        self.put_edges, self.edges, self.count_edges = edges.put, edges.edges, edges.count
        self.walk_edges = edges.walk

    def put_nodes(self, nodes: Sequence[tuple[bytes, Mapping[str, bytes]]]) -> None:
        """
        `put_node` of many nodes, in as few round trips as possible. Safe to repeat.

        Raises:
            BadInput: a property has a name that is reserved; nothing was written.
            NotUnique: another node has one of the values; nothing was written.
            SizeExceeded: a node would exceed the limits of the schema; nothing was written.
        """
        at_ms = self._zen.clock.now_ms()
        for _, properties in nodes:
            if CANONICAL_URL in properties:
                raise BadInput(f"properties: {CANONICAL_URL!r} is reserved; choose another name")
        self._zen.put_rows([node_row(key, properties, at_ms) for key, properties in nodes])

    def put_node(self, node_id: bytes, properties: Mapping[str, bytes]) -> None:
        """Set properties of a node, creating it if missing; `put_nodes` of one."""
        self.put_nodes([(node_id, properties)])

    def put_edge(
        self,
        source: bytes,
        edge_type: int,
        target: bytes,
        *,
        score: int = 0,
        properties: Mapping[str, bytes] | None = None,
    ) -> None:
        """Put one edge; see `PairEdges.put`."""
        pair = PairEdge(source, edge_type, target)
        self._edges.put([NewEdge(pair, score, properties or {})])

    def get_edge(self, source: bytes, edge_type: int, target: bytes) -> Edge | None:
        """The edge; None if there is none."""
        return self._edges.get(PairEdge(source, edge_type, target))

    def remove_edges(self, edges: Sequence[tuple[bytes, int, bytes]]) -> None:
        """Remove edges (source, type, target); those that do not exist are ignored."""
        self._edges.remove(PairEdge(*edge) for edge in edges)

    def remove_node(self, node_id: bytes) -> None:
        """
        Remove a node with its edges in both directions; those are removed first.

        Raises:
            Unfinished: it had more than `most_removed` edges, of which so many were removed.
        """
        if not self._edges.remove_all(node_id, self._most_removed):
            raise Unfinished(
                "graph",
                f"{self._most_removed} edges of the node were removed, and it has more; repeat",
            )
        self._zen.remove_node(node_id)

    def scan_nodes(
        self, limit: int, cursor: bytes | None = None, names: Sequence[str] | None = None
    ) -> tuple[list[tuple[bytes, dict[str, bytes]]], bytes | None]:
        """
        (nodes with their properties in the order of their ids, cursor or None at the end).

        Ends before `limit` with a node that brings the properties to `PAGE_BYTES`. Not a snapshot:
        a node that is put meanwhile may be missing.
        """
        start = b"" if cursor is None else cursor + b"\0"
        with closing(self._zen.nodes.scan(start, names=NODE_COLUMNS)) as rows:
            keys = [key for key, _ in islice(rows, limit + 1)]
        wanted = keys[:limit]
        items: list[tuple[bytes, dict[str, bytes]]] = []
        at, size, part = 0, 0, _FIRST_NODES
        while at < len(wanted) and size < PAGE_BYTES:
            found = self._zen.get_nodes(some := wanted[at : at + part], names)
            for key in some:
                at += 1
                if key in found:
                    items.append((key, found[key]))
                    size += sum(map(len, found[key].values()))
                if size >= PAGE_BYTES:
                    break
            part = max(1, min(8 * part, PAGE_BYTES * at // max(size, 1)))
        return items, wanted[at - 1] if at < len(keys) else None

    def repair(self) -> RepairedGraph:
        """
        Enter stored values in the indexes, and correct rows of edges and counts. Safe to repeat.

        Walks the whole graph. Counts of edges that are written meanwhile may become wrong.
        """
        entries = taken = 0
        for key, row in self._zen.nodes.walk():
            added, refused = self._zen.index(key, row)
            entries, taken = entries + added, taken + refused
        rows = self._edges.repair()
        counted = set(self.schema.counted)
        wrong = [
            self._edges.recount(*place) for place in self._edges.counts() if place[2] in counted
        ]
        return RepairedGraph(entries, taken, rows, sum(map(bool, wrong)))

    def check(self) -> list[str]:
        """Problems of the engine, one line each with the remedy; empty if there are none."""
        return self._zen.check()

    def create(self) -> None:
        """Create missing tables; never drops anything."""
        self._tables.create()

    def close(self) -> None:
        """Close files and connections."""
        self._zen.close()


class ApplicationGraphs:
    """
    The graphs of the settings; each is opened when it is first used.

    Args:
        schemas: name to schema.
        open_tables: opens the tables of a graph.
        clock: None: the system's.
    """

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        open_tables: Callable[[str], Tables],
        clock: Clock | None = None,
    ) -> None:
        self._schemas = schemas
        self._open_tables = open_tables
        self._clock = clock or SystemClock()
        self._opened: dict[str, ApplicationGraph] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all graphs."""
        return tuple(self._schemas)

    def __getitem__(self, name: str) -> ApplicationGraph:
        """
        A graph by its name.

        Raises:
            BadInput: there is no such graph.
        """
        graph = self._opened.get(name)
        if graph is not None:
            return graph
        schema = self._schemas.get(name)
        if schema is None:
            raise BadInput(f"graph: there is no graph {name[:100]!r}; add it to store.graphs")
        with self._lock:
            if name not in self._opened:
                tables = self._open_tables(name)
                self._opened[name] = ApplicationGraph(tables, schema, self._clock)
            return self._opened[name]

    def close(self) -> None:
        """Close those that were opened."""
        with self._lock:
            for graph in self._opened.values():
                graph.close()
            self._opened.clear()


def no_graphs() -> ApplicationGraphs:
    """The graphs of a system that has none."""

    def open_tables(name: str) -> Tables:
        raise AssertionError(name)

    return ApplicationGraphs({}, open_tables)
