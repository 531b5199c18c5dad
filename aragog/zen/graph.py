"""
Zen, the graph store: nodes with properties, edges with type, direction and score, indexes, counts.

It works on cell tables without transactions. An edge's outgoing row is written last and is
authoritative; an index row is written before the property that makes it valid and removed after it,
and every hit is checked against the node. So a writer that crashes leaves only rows that no read
returns, and running it again completes them. Each edge is a row of its own, so the edges of a hub
can be split anywhere; a list continues from a cursor, never from an offset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from aragog.clock import Clock, SystemClock
from aragog.errors import BadInput
from aragog.zen.codec import (
    IN,
    OUT,
    after,
    edge_key,
    edge_prefix,
    read_edge_key,
)
from aragog.zen.edges import LINK, Edge, EdgeEnds, Edges, LinkEdges
from aragog.zen.indexes import (
    CANONICAL_COLUMN,
    CANONICAL_URL,
    MAX_LIMIT,
    DueTimes,
    HostIndex,
    PropertyIndexes,
    Schema,
    property_column,
)
from aragog.zen.inlinks.posting_lists import PostingLists
from aragog.zen.log import TimeLog
from aragog.zen.mutations import Mutation
from aragog.zen.properties import NodeStore
from aragog.zen.registry import Registry
from aragog.zen.tables import Row, Salvaged, Tables, newest_ms

_SENTINEL = b"m:_"
_EDGE = b"p:_"

COUNTS = b"c:"
"""The column family of counts."""


class Zen:
    """
    A graph. Ids are 16 bytes, uniformly distributed; any number of processes may open one.

    Attributes:
        nodes: properties of nodes with their times.
        edge_ends: edges that are listed from one end only.
        due_times, hosts: the ordered indexes.
        posting_lists: inlinks in packed adjacency.
        registry: small named records.
        log: entries in order of time.
    """

    def __init__(
        self, tables: Tables, schema: Schema | None = None, clock: Clock | None = None
    ) -> None:
        self.tables = tables
        self.schema = schema or Schema()
        self.clock = clock or SystemClock()
        self._indexes = PropertyIndexes(tables, self.schema, self.clock)
        self.nodes = NodeStore(tables)
        self.edge_ends = EdgeEnds(tables)
        self.due_times = DueTimes(tables)
        self.hosts = HostIndex(tables)
        self.posting_lists = PostingLists(tables)
        self._links = LinkEdges(tables, self.posting_lists)
        self.registry = Registry(tables)
        self.log = TimeLog(tables)
        self._indexed = {property_column(name): name for name in self.schema.indexed}
        # Bound once where there is nothing to index: on the path of every write.
        self.mutate = self._indexed_write if self._indexed else tables.write
        """Write mutations (`aragog.zen.mutations`) in as few round trips as the engine allows."""

    # The engine

    def serves(self, first_byte: int) -> bool:
        """True if nodes whose ids begin with that byte can be written; see `repair`."""
        return self.tables.serves(first_byte)

    def counting(self, *edge_types: int) -> Zen:
        """The same graph, with edges of these types counted."""
        return Zen(self.tables, replace(self.schema, counted=edge_types), self.clock)

    def check(self) -> list[str]:
        """Problems of the engine, one line each with the remedy; empty if there are none."""
        return self.tables.check()

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:
        """Replace damaged files by new ones with every readable row; `report` gets each step."""
        return self.tables.salvage(report)

    def scrub(self) -> None:
        """Remove deleted data from the disk, if the engine can; safe to repeat."""
        self.tables.scrub()

    def close(self) -> None:
        """Close files and connections."""
        self.tables.close()

    # Nodes

    def _indexed_write(self, puts: Sequence[Mutation]) -> None:
        """
        Write mutations, and the index rows of the properties in them; one multi-get more.

        A value that a property loses otherwise (a deletion, a crash) leaves a row, which no lookup
        returns, and which lookups and a repair delete.
        """
        changes = [
            (node_id, name, cells[column], at_ms)
            for table, node_id, cells, at_ms in puts
            if table == "n"
            for column, name in self._indexed.items()
            if column in cells
        ]
        if not changes:
            self.tables.write(puts)
            return
        ids = list(dict.fromkeys(node_id for node_id, *_ in changes))
        before = self.tables["n"].get_many(ids, list(self._indexed))
        rows = [self._indexes.row(*change) for change in changes]
        self.tables.write([*rows, *puts])
        for node_id, name, value, at_ms in changes:
            old = before.get(node_id, {}).get(property_column(name))
            if old is not None and old.value != value and old.at_ms <= at_ms:
                self._indexes.remove(node_id, name, old.value)

    def index(self, node_id: bytes, row: Row) -> int:
        """Add the missing index rows of a node, as read; returns how many: for a backfill."""
        missing = [
            self._indexes.row(node_id, name, row[column].value, row[column].at_ms)
            for column, name in self._indexed.items()
            if column in row and not self._indexes.has_row(node_id, name, row[column].value)
        ]
        self.tables.write(missing)
        return len(missing)

    def unindex(self, node_id: bytes, row: Row) -> None:
        """Delete the index rows of a node, as read: they hold the values of its properties."""
        for column, name in self._indexed.items():
            if column in row:
                self._indexes.remove(node_id, name, row[column].value)

    def put_node(
        self, node_id: bytes, properties: Mapping[str, bytes], *, at_ms: int | None = None
    ) -> None:
        """
        Set properties of a node, creating it if missing; other properties stay. Safe to repeat.

        Raises:
            NotUnique: another node has the value of a unique property.
        """
        at_ms = self.clock.now_ms() if at_ms is None else at_ms
        nodes = self.tables["n"]
        watched = [name for name in self._indexes.names if name in properties]
        before = nodes.get(node_id, [property_column(name) for name in watched]) if watched else {}
        for name in watched:
            self._indexes.add(node_id, name, properties[name], at_ms)
        cells = {_SENTINEL: b"1"} | {property_column(name): v for name, v in properties.items()}
        nodes.put(node_id, cells, at_ms=at_ms)
        for name in watched:
            old = before.get(property_column(name))
            if old is not None and old.value != properties[name] and old.at_ms <= at_ms:
                self._indexes.remove(node_id, name, old.value)

    def get_node(
        self, node_id: bytes, names: Sequence[str] | None = None
    ) -> dict[str, bytes] | None:
        """All or some properties of a node; None if the node does not exist."""
        return self.get_nodes([node_id], names).get(node_id)

    def get_nodes(
        self, node_ids: Sequence[bytes], names: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """
        Properties of many nodes, with one multi-get. Missing nodes are left out.

        An alias shows `canonical_url`: the URL of the node that stands for it.
        """
        columns = (
            None if names is None else [_SENTINEL, CANONICAL_COLUMN, *map(property_column, names)]
        )
        rows = self.tables["n"].get_many(node_ids, columns)
        return {
            key: _node_properties(row, names)
            for key, row in rows.items()
            if _SENTINEL in row or CANONICAL_COLUMN in row
        }

    def remove_node(self, node_id: bytes) -> None:
        """Remove a node, its edges in both directions, and its index rows."""
        row = self.tables["n"].get(node_id)
        for direction in (OUT, IN):
            prefix = edge_prefix(node_id, direction)
            with closing(self.tables["e"].scan(prefix, after(prefix))) as rows:
                for key, _ in rows:
                    _, _, edge_type, score, other = read_edge_key(key)
                    ends = (node_id, other) if direction == OUT else (other, node_id)
                    self._remove_edge(ends[0], edge_type, ends[1], score)
        # Each cell as it was read: counts have the engine's timestamps, which may differ from ours.
        mine = [
            (node_id, [column], cell.at_ms)
            for column, cell in self.tables["n"].get(node_id).items()
            if column.startswith((b"m:", b"c:"))
        ]
        self.tables["n"].delete_many(mine)
        for name in self._indexes.names:
            if property_column(name) in row:
                self._indexes.remove(node_id, name, row[property_column(name)].value)

    def lookup_unique(self, name: str, value: bytes) -> bytes | None:
        """The node that has the value of a unique property; two reads."""
        return self._indexes.lookup_unique(name, value)

    def lookup(
        self, name: str, value: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[bytes], bytes | None]:
        """(nodes that have the value of an indexed property, cursor or None at the end)."""
        return self._indexes.lookup(name, value, limit, cursor)

    # Edges

    def put_edge(
        self,
        source: bytes,
        edge_type: int,
        target: bytes,
        *,
        score: int = 0,
        properties: Mapping[str, bytes] | None = None,
        at_ms: int | None = None,
    ) -> None:
        """
        Set an edge; edges of one (source, type, target) with different scores are different edges.

        Safe to repeat. Counts increase if it is new. A writer that crashes in between, or two that
        write the same new edge at once, leave the counts wrong until `recount` or a repair of the
        store.
        """
        if edge_type == LINK:
            raise BadInput("put_edge: page links are written with their page, by OutlinkWriter")
        at_ms = self.clock.now_ms() if at_ms is None else at_ms
        cells = {_EDGE: b"1"}
        cells |= {b"p:" + name.encode(): value for name, value in (properties or {}).items()}
        out = edge_key(source, OUT, edge_type, score, target)
        counted = edge_type in self.schema.counted
        new = counted and not self.tables["e"].get(out, [_EDGE])
        into = edge_key(target, IN, edge_type, score, source)
        self.tables["e"].put(into, cells, at_ms=at_ms)
        self.tables["e"].put(out, cells, at_ms=at_ms)
        if new:
            self._count(source, OUT, edge_type, 1)
            self._count(target, IN, edge_type, 1)

    def get_edge(
        self, source: bytes, edge_type: int, target: bytes, *, score: int = 0
    ) -> Edge | None:
        """The edge; None if there is none."""
        row = self.tables["e"].get(edge_key(source, OUT, edge_type, score, target))
        return Edge(target, score, _properties(row, b"p:")) if _EDGE in row else None

    def remove_edge(self, source: bytes, edge_type: int, target: bytes, *, score: int = 0) -> None:
        """Remove an edge; does nothing if there is none."""
        self._remove_edge(source, edge_type, target, score)

    def edges(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        limit: int = 100,
        cursor: bytes | None = None,
        *,
        reverse: bool = False,
    ) -> Edges:
        """
        Edges of a node by score, then by the other node; `reverse`: the highest score first.

        One range scan, for any number of edges. `direction` is `OUT` or `IN` of `aragog.zen.codec`.
        Page links are edges of type `LINK`: outgoing ones in the order of the page, with its
        position as score, incoming ones by source; `reverse` has no effect on them.
        """
        if edge_type == LINK:
            return self._links.edges(node_id, direction, min(limit, MAX_LIMIT), cursor)
        prefix = edge_prefix(node_id, direction, edge_type)
        start, stop = prefix, after(prefix)
        if cursor is not None:
            start, stop = (start, cursor) if reverse else (cursor + b"\0", stop)
        limit = min(limit, MAX_LIMIT)
        items: list[Edge] = []
        last = None
        with closing(self.tables["e"].scan(start, stop, reverse=reverse)) as rows:
            for key, row in rows:
                _, _, _, score, other = read_edge_key(key)
                if direction == IN and not self._is_true(other, edge_type, node_id, score):
                    continue
                if len(items) == limit:
                    return Edges(items, last)
                items.append(Edge(other, score, _properties(row, b"p:")))
                last = key
        return Edges(items, None)

    def count_edges(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        The number of edges: the stored count of a counted type, otherwise counted by a scan.

        Raises:
            StoreUnavailable: the tables did not answer.
        """
        if edge_type == LINK:
            return self._links.count(node_id, direction)
        if edge_type in self.schema.counted:
            column = count_column(direction, edge_type)
            cell = self.tables["n"].get(node_id, [column]).get(column)
            return int.from_bytes(cell.value, signed=True) if cell else 0
        return sum(1 for _ in self._all_edges(node_id, direction, edge_type))

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """Set the stored count to the result of a scan; returns by how much it was too high."""
        true = sum(1 for _ in self._all_edges(node_id, direction, edge_type))
        stored = self.count_edges(node_id, direction, edge_type)
        if true != stored:
            self._count(node_id, direction, edge_type, true - stored)
        return stored - true

    def _all_edges(self, node_id: bytes, direction: bytes, edge_type: int) -> Iterator[Edge]:
        cursor = None
        while True:
            page = self.edges(node_id, direction, edge_type, MAX_LIMIT, cursor)
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def _remove_edge(self, source: bytes, edge_type: int, target: bytes, score: int) -> None:
        edges = self.tables["e"]
        out = edge_key(source, OUT, edge_type, score, target)
        into = edge_key(target, IN, edge_type, score, source)
        rows = edges.get_many([out, into])
        for key in (out, into):
            if key in rows:
                edges.delete(key, at_ms=newest_ms(rows[key]))
        if out in rows and edge_type in self.schema.counted:
            self._count(source, OUT, edge_type, -1)
            self._count(target, IN, edge_type, -1)

    def _is_true(self, source: bytes, edge_type: int, target: bytes, score: int) -> bool:
        return bool(self.tables["e"].get(edge_key(source, OUT, edge_type, score, target), [_EDGE]))

    def _count(self, node_id: bytes, direction: bytes, edge_type: int, delta: int) -> None:
        self.tables["n"].incr(node_id, count_column(direction, edge_type), delta)


def _node_properties(row: Row, names: Sequence[str] | None) -> dict[str, bytes]:
    properties = _properties(row, b"m:")
    if CANONICAL_COLUMN in row and (names is None or CANONICAL_URL in names):
        properties[CANONICAL_URL] = row[CANONICAL_COLUMN].value
    return properties


def count_column(direction: bytes, edge_type: int) -> bytes:
    """The cell of a node that stores its number of edges of a type."""
    return COUNTS + b"%d%s" % (edge_type, direction)


def _properties(row: Row, family: bytes) -> dict[str, bytes]:
    hidden = (_SENTINEL, _EDGE)
    return {
        column[len(family) :].decode(): cell.value
        for column, cell in row.items()
        if column.startswith(family) and column not in hidden
    }
