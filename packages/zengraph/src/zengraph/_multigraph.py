"""
A graph with parallel edges, and the basis for a store of records.

Nodes have properties, each with the time of its value. Edges have a type, a direction and a score.
Nodes are found by property values, and by ordering keys, which the caller defines.

The graph works on cell tables without transactions. An edge's outgoing row is written last and is
authoritative. An index row is written before its property and removed after it, and every hit is
verified against the node. So a crashed writer leaves behind only rows that readers ignore, and
repeating the call finishes the write. Each edge is a separate row, so the engine can split a node's
edges anywhere. Lists continue from a cursor, never from an offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zengraph._indexes import MAX_LIMIT, PropertyIndexes, Schema
from zengraph._log import TimeLog
from zengraph._naming import Naming
from zengraph._ordered_indexes import NumberIndex, OrderIndex
from zengraph._parallel_edges import COUNTS, ParallelEdges
from zengraph._properties import NodeStore
from zengraph._registry import Registry
from zengraph._row_limits import RowLimits
from zengraph.clock import Clock, SystemClock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellSize, Put, Row, Salvaged, Tables

_SENTINEL = b"m:_"
"""A column of every node that has none of `Schema.columns`."""


class MultiGraph(ParallelEdges):
    """
    A graph with parallel edges. Any number of processes may open one.

    `ParallelEdges` has the methods that read and write edges.

    >>> from zengraph import OUT, MultiGraph
    >>> from zengraph.tables.memory import MemoryTables
    >>> PAID = 1
    >>> graph = MultiGraph(MemoryTables())
    >>> ada, bob = graph.node_id("ada"), graph.node_id("bob")
    >>> graph.put_edge(ada, PAID, bob, score=2024)
    >>> graph.put_edge(ada, PAID, bob, score=2025)
    >>> [edge.score for edge in graph.edges(ada, OUT, PAID).items]
    [2024, 2025]

    Node ids are 16 bytes, uniformly distributed, such as the first bytes of a SHA-256. The ids of
    related nodes may be adjacent if the low half of the first byte is still uniformly distributed
    among them; `links.Naming` derives such ids from names.

    Attributes:
        nodes: properties of nodes with their times.
        by_number: nodes ordered by numbers, such as times. A caller can claim entries for a while.
        by_order: nodes ordered by ordering keys.
        node_columns: each node has at least one of these columns.
        registry: small named records.
        log: entries ordered by time.
        naming: computes the id of a node from its name.
    """

    def __init__(
        self,
        tables: Tables,
        schema: Schema | None = None,
        clock: Clock | None = None,
        naming: Naming | None = None,
    ) -> None:
        self.tables = tables
        self.naming = naming or Naming()
        self.schema = schema or Schema()
        self.clock = clock or SystemClock()
        super().__init__(tables, self.schema, self.clock)
        self._indexes = PropertyIndexes(tables, self.schema, self.clock)
        self.nodes = NodeStore(tables)
        self.node_columns = (_SENTINEL, *self.schema.columns.values())
        self.node_limits = RowLimits(
            tables["n"], b"m:", _SENTINEL, self.schema.limits, self.schema.remedies
        )
        """Limits for the properties that applications write."""
        self.by_number = NumberIndex(tables)
        self.by_order = OrderIndex(tables)
        self.registry = Registry(tables)
        self.log = TimeLog(tables)
        # Chosen once, because every write uses it.
        self._write: Callable[[Sequence[Put]], None] = (
            self._indexes.write if self._indexes else tables.write
        )

    def node_id(self, name: str) -> bytes:
        """Return the id of the node with this name, 16 bytes."""
        return self.naming.node_id(name)

    def node_ids(self, names: Sequence[str]) -> list[bytes]:
        """Return the ids of nodes with these names, in order."""
        return self.naming.node_ids(names)

    # Writing in batches

    def mutate(self, puts: Sequence[Put]) -> None:
        """
        Write mutations (`put_properties`, `edge_rows`) in as few round trips as possible.

        Raises:
            NotUnique: another node has the value of a unique property; see `PropertyIndexes.write`.
        """
        self._write(puts)

    def move(self, puts: Sequence[Put], source: bytes) -> None:
        """
        Write properties, and take over unique values that the node `source` owns.

        A value that a third node owns is written as well, but lookups still return that node.
        """
        self._indexes.move(puts, source)

    # The engine

    def serves(self, first_byte: int) -> bool:
        """Return False while the file for ids with this first byte is damaged; see `salvage`."""
        return self.tables.serves(first_byte)

    def counting(self, *edge_types: int) -> MultiGraph:
        """Return the same graph with stored counts for these edge types."""
        schema = replace(self.schema, counted=edge_types)
        return MultiGraph(self.tables, schema, self.clock, self.naming)

    def check(self) -> list[str]:
        """Return the engine's problems, one line each with the remedy; empty if there are none."""
        return self.tables.check()

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:
        """
        Replace damaged files with new ones that contain every readable row.

        `report` is called before each long step. The results include those of earlier calls, until
        `salvage_finished` is called.
        """
        return self.tables.salvage(report)

    def salvage_finished(self, done: Sequence[Salvaged]) -> None:
        """Discard results of `salvage`, once the lost rows have been restored."""
        self.tables.salvage_finished(done)

    def scrub(self) -> None:
        """Remove deleted data from the disk, if the engine can. Safe to repeat."""
        self.tables.scrub()

    def close(self) -> None:
        """Close files and connections."""
        self.tables.close()

    # Nodes

    def index(self, node_id: bytes, row: Row) -> tuple[int, int]:
        """Add a node's missing index entries; see `PropertyIndexes.complete`."""
        return self._indexes.complete(node_id, row)

    def remove_from_indexes(self, node_id: bytes, row: Row) -> None:
        """Remove a deleted node from the indexes, given its row from before the deletion."""
        self._indexes.forget(node_id, row)

    def put_node(
        self, node_id: bytes, properties: Mapping[str, bytes], *, at_ms: int | None = None
    ) -> None:
        """
        Set properties of a node, creating it if missing. Other properties are kept. Safe to repeat.

        Raises:
            NotUnique: another node has the value of a unique property.
            SizeExceeded: the node would exceed the limits of the schema.
        """
        at_ms = self.clock.now_ms() if at_ms is None else at_ms
        self.put_rows([self.node_row(node_id, properties, at_ms)])

    def put_rows(self, rows: Sequence[Put]) -> None:
        """Put rows of nodes; raises the errors of `put_node`."""
        with self.node_limits.check_write([(key, cells) for _, key, cells, _ in rows]):
            self.mutate(rows)

    def get_node(
        self, node_id: bytes, names: Sequence[str] | None = None
    ) -> dict[str, bytes] | None:
        """Return all or some properties of a node, or None if the node does not exist."""
        return self.get_nodes([node_id], names).get(node_id)

    def get_nodes(
        self, node_ids: Sequence[bytes], names: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """Return the properties of many nodes, with one multi-get. Missing nodes are left out."""
        exists = self.node_columns
        columns = None if names is None else [*exists, *map(self.schema.column_of, names)]
        rows = self.tables["n"].get_many(node_ids, columns)
        return {
            key: self._node_properties(row, names)
            for key, row in rows.items()
            if _SENTINEL in row or any(column in row for column in exists)
        }

    def get_properties(
        self, node_id: bytes, prefix: str, limit: int = 100, cursor: str | None = None
    ) -> tuple[dict[str, bytes], str | None]:
        """
        Return (properties whose names begin with `prefix`, cursor or None at the end).

        They are ordered by the UTF-8 of their names. Use this method for nodes with very many
        properties:
        HBase sends only the properties asked for, and other engines decode only those. Properties
        in `Schema.columns` are omitted.
        """
        limit = min(limit, MAX_LIMIT)
        start_after = b"" if cursor is None else b"m:" + cursor.encode()
        # Two more: the next property, and the column that every node has.
        row = self.nodes.get_prefix(node_id, b"m:" + prefix.encode(), limit + 2, start_after)
        found = list(_properties(row, b"m:").items())
        more = len(found) > limit
        return dict(found[:limit]), found[limit - 1][0] if more and limit > 0 else None

    def property_sizes(self, node_id: bytes) -> dict[str, CellSize]:
        """Return the size and time of each property of a node, without reading the values."""
        cells = self.nodes.sizes_many([node_id]).get(node_id, {})
        return {
            column[2:].decode(): size
            for column, size in cells.items()
            if column.startswith(b"m:") and column != _SENTINEL
        }

    def remove_node(self, node_id: bytes) -> None:
        """Remove a node, its edges in both directions, and its index rows."""
        row = self.tables["n"].get(node_id)
        self.remove_edges(node_id)
        # Delete each cell at its own time. Counts have the engine's timestamps, and the engine's
        # clock may differ from this one.
        mine = [
            (node_id, [column], cell.at_ms)
            for column, cell in self.tables["n"].get(node_id).items()
            if column.startswith((b"m:", COUNTS))
        ]
        self.tables["n"].delete_many(mine)
        self.remove_from_indexes(node_id, row)

    def lookup(
        self, name: str, value: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[bytes], bytes | None]:
        """
        Return (nodes that have this value of an indexed property, cursor or None at the end).

        Takes one range scan per bucket and one read per hit, or two reads for a unique property.
        """
        return self._indexes.lookup(name, value, limit, cursor)

    def lookup_prefix(
        self, name: str, prefix: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """
        Return ((value, node) pairs, cursor) for values of a sorted property that begin with
        `prefix`.

        They are sorted by the first 500 bytes of the value, then by node. Takes a range scan in
        each of sixteen buckets and one multi-get.

        Raises:
            InvalidArgument: the property is not in `Schema.sorted`, or the cursor is from another
                lookup.
        """
        return self._indexes.lookup_prefix(name, prefix, limit, cursor)

    def lookup_unique(self, name: str, value: bytes) -> bytes | None:
        """
        Return the node with this value of a unique property, or None. Takes two reads.

        Raises:
            InvalidArgument: the schema has no such unique property.
        """
        if name not in self.schema.unique:
            raise InvalidArgument(f"property {name!r}: is not unique in the schema")
        found, _ = self._indexes.lookup(name, value, 1, None)
        return found[0] if found else None

    def node_row(self, node_id: bytes, properties: Mapping[str, bytes], at_ms: int) -> Put:
        column_of = self.schema.column_of
        cells = {_SENTINEL: b"1"} | {column_of(name): v for name, v in properties.items()}
        return ("n", node_id, cells, at_ms)

    def _node_properties(self, row: Row, names: Sequence[str] | None) -> dict[str, bytes]:
        properties = _properties(row, b"m:")
        for name, column in self.schema.columns.items():
            if column in row and (names is None or name in names):
                properties[name] = row[column].value
        return properties


def _properties(row: Row, family: bytes) -> dict[str, bytes]:
    return {
        column[len(family) :].decode(): cell.value
        for column, cell in row.items()
        if column.startswith(family) and column != _SENTINEL
    }
