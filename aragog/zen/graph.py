"""
Zen, the graph store: nodes with properties, edges with type, direction and score, indexes, counts.

It works on cell tables without transactions. An edge's outgoing row is written last and is
authoritative; an index row is written before the property that makes it valid and removed after it,
and every hit is checked against the node. So a writer that crashes leaves only rows that no read
returns, and running it again completes them. Each edge is a row of its own, so the edges of a hub
can be split anywhere; a list continues from a cursor, never from an offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from aragog.clock import Clock, SystemClock
from aragog.errors import NotUnique
from aragog.zen.adjacency.segments import Segments
from aragog.zen.codec import (
    BUCKETS,
    ID_BYTES,
    IN,
    OUT,
    after,
    edge_key,
    edge_prefix,
    index_key,
    index_prefix,
    read_edge_key,
    unique_key,
)
from aragog.zen.edges import EdgeEnds
from aragog.zen.indexes import DueTimes, HostIndex
from aragog.zen.log import TimeLog
from aragog.zen.nodes import NodeStore
from aragog.zen.registry import Registry
from aragog.zen.tables import Row, Salvaged, Tables, newest_ms

MAX_LIMIT = 6000
"""Maximum number of edges or nodes that one call returns."""

_CLAIM_MS = 10_000
"""How long a claimed value waits for its property to be set."""

_SENTINEL = b"m:_"
_CANONICAL_URL = b"s:canonical_url"
CANONICAL_URL = "canonical_url"
"""The property of an alias that names the URL of the node that stands for it."""
_EDGE = b"p:_"
_ID = b"i:id"

COUNTS = b"c:"
"""The column family of counts."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Which properties are indexed, and which edge types are counted."""

    unique: tuple[str, ...] = ()
    """Properties whose values belong to one node at most."""
    indexed: tuple[str, ...] = ()
    """Properties by whose values nodes can be found."""
    counted: tuple[int, ...] = ()
    """Edge types whose number is stored with the node, in both directions."""


class Edge(NamedTuple):
    """An edge, seen from one of its ends."""

    other: bytes
    """The node at the other end."""
    score: int
    properties: dict[str, bytes]


class Edges(NamedTuple):
    """A page of a list of edges; `cursor` continues it, None: it is complete."""

    items: list[Edge]
    cursor: bytes | None


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
        self.nodes = NodeStore(tables)
        self.edge_ends = EdgeEnds(tables)
        self.due_times = DueTimes(tables)
        self.hosts = HostIndex(tables)
        self.posting_lists = Segments(tables)
        self.registry = Registry(tables)
        self.log = TimeLog(tables)
        self.mutate = tables.write
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

    def salvage(self) -> list[Salvaged]:
        """Replace damaged files by new ones with every readable row."""
        return self.tables.salvage()

    def scrub(self) -> None:
        """Remove deleted data from the disk, if the engine can; safe to repeat."""
        self.tables.scrub()

    def close(self) -> None:
        """Close files and connections."""
        self.tables.close()

    # Nodes

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
        watched = [n for n in (*self.schema.unique, *self.schema.indexed) if n in properties]
        before = nodes.get(node_id, [_column(name) for name in watched]) if watched else {}
        for name in watched:
            if name in self.schema.unique:
                self._claim(name, properties[name], node_id)
            else:
                key = index_key(node_id, name, properties[name])
                self.tables["i"].put(key, {_ID: node_id}, at_ms=at_ms)
        cells = {_SENTINEL: b"1"} | {_column(name): v for name, v in properties.items()}
        nodes.put(node_id, cells, at_ms=at_ms)
        for name in watched:
            old = before.get(_column(name))
            if old is not None and old.value != properties[name] and old.at_ms <= at_ms:
                self._unindex(node_id, name, old.value)

    def get_node(
        self, node_id: bytes, names: Sequence[str] | None = None
    ) -> dict[str, bytes] | None:
        """All or some properties of a node; None if there is no such node."""
        return self.get_nodes([node_id], names).get(node_id)

    def get_nodes(
        self, node_ids: Sequence[bytes], names: Sequence[str] | None = None
    ) -> dict[bytes, dict[str, bytes]]:
        """
        Properties of many nodes, with one multi-get. Missing nodes are left out.

        An alias shows `canonical_url`: the URL of the node that stands for it.
        """
        columns = None if names is None else [_SENTINEL, _CANONICAL_URL, *map(_column, names)]
        found = self.tables["n"].get_many(node_ids, columns)
        return {
            key: _node_properties(row, names)
            for key, row in found.items()
            if _SENTINEL in row or _CANONICAL_URL in row
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
        for name in (*self.schema.unique, *self.schema.indexed):
            if _column(name) in row:
                self._unindex(node_id, name, row[_column(name)].value)

    def lookup_unique(self, name: str, value: bytes) -> bytes | None:
        """The node that has the value of a unique property; two reads."""
        cell = self.tables["u"].get(unique_key(name, value), [_ID]).get(_ID)
        holder = cell.value[:ID_BYTES] if cell else None
        return holder if holder and self._has(holder, name, value) else None

    def lookup(
        self, name: str, value: bytes, limit: int = 100, cursor: bytes | None = None
    ) -> tuple[list[bytes], bytes | None]:
        """
        (nodes that have the value of an indexed property, cursor or None at the end).

        One range scan a bucket, and one multi-get a call that checks the hits.
        """
        found: list[bytes] = []
        last = cursor or b""
        for bucket in range(last[0] if last else 0, BUCKETS):
            prefix = index_prefix(bucket, name, value)
            start = last + b"\0" if last.startswith(prefix) else prefix
            with closing(self.tables["i"].scan(start, after(prefix))) as rows:
                for key, row in rows:
                    if len(found) == min(limit, MAX_LIMIT):
                        return found, last
                    last = key
                    if self._has(row[_ID].value, name, value):
                        found.append(row[_ID].value)
        return found, None

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
        """
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
        if edge_type in self.schema.counted:
            column = count_column(direction, edge_type)
            cell = self.tables["n"].get(node_id, [column]).get(column)
            return int.from_bytes(cell.value, signed=True) if cell else 0
        return sum(1 for _ in self._all_edges(node_id, direction, edge_type))

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """Set the stored count to the result of a scan; returns by how much it was too high."""
        true = sum(1 for _ in self._all_edges(node_id, direction, edge_type))
        kept = self.count_edges(node_id, direction, edge_type)
        if true != kept:
            self._count(node_id, direction, edge_type, true - kept)
        return kept - true

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
        found = edges.get_many([out, into])
        for key in (out, into):
            if key in found:
                edges.delete(key, at_ms=newest_ms(found[key]))
        if out in found and edge_type in self.schema.counted:
            self._count(source, OUT, edge_type, -1)
            self._count(target, IN, edge_type, -1)

    def _is_true(self, source: bytes, edge_type: int, target: bytes, score: int) -> bool:
        return bool(self.tables["e"].get(edge_key(source, OUT, edge_type, score, target), [_EDGE]))

    def _count(self, node_id: bytes, direction: bytes, edge_type: int, delta: int) -> None:
        self.tables["n"].incr(node_id, count_column(direction, edge_type), delta)

    def _has(self, node_id: bytes, name: str, value: bytes) -> bool:
        row = self.tables["n"].get(node_id, [_column(name)])
        cell = row.get(_column(name))
        return cell is not None and cell.value == value

    def _claim(self, name: str, value: bytes, node_id: bytes) -> None:
        """Enter the node as the value's owner in the unique index, or report the present owner."""
        index, key = self.tables["u"], unique_key(name, value)
        for _ in range(3):
            cell = index.get(key, [_ID]).get(_ID)
            held = cell.value if cell else None
            now_ms = self.clock.now_ms()
            if held is not None:
                holder, since_ms = held[:ID_BYTES], int.from_bytes(held[ID_BYTES:])
                if holder == node_id:
                    return
                if since_ms > now_ms - _CLAIM_MS or self._has(holder, name, value):
                    raise NotUnique(name, holder.hex())
            # Free, or left by a writer that crashed before it set the property.
            if index.check_and_put(key, _ID, held, node_id + now_ms.to_bytes(8)):
                return
        raise NotUnique(name, "that is being written")

    def _unindex(self, node_id: bytes, name: str, value: bytes) -> None:
        table = "u" if name in self.schema.unique else "i"
        key = unique_key(name, value) if table == "u" else index_key(node_id, name, value)
        row = self.tables[table].get(key)
        if row and row[_ID].value[:ID_BYTES] == node_id:
            self.tables[table].delete(key, at_ms=newest_ms(row))


def _column(name: str) -> bytes:
    return _CANONICAL_URL if name == CANONICAL_URL else b"m:" + name.encode()


def _node_properties(row: Row, names: Sequence[str] | None) -> dict[str, bytes]:
    properties = _properties(row, b"m:")
    if _CANONICAL_URL in row and (names is None or CANONICAL_URL in names):
        properties[CANONICAL_URL] = row[_CANONICAL_URL].value
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
