"""
Property indexes find nodes by value. Every write of an indexed property updates them.

An index row is written before its property and removed after it, and every hit is verified against
its node. So a crashed writer leaves behind only rows that lookups ignore; lookups and repairs
delete them.

A lease (`_leases`) records the owner of a unique value. It is acquired before the property is
written, and ended afterward. If two writers both see that a value is free, only one of them
acquires the lease. If a writer is suspended for longer than its lease, another writer can acquire
the value. The first writer notices this when it ends its lease, and removes its property again. An
ended lease contains the owner's id as long as that node has the value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import NamedTuple

from zengraph._codec import (
    BUCKETS,
    ID_BYTES,
    after,
    index_key,
    index_prefix,
    sorted_key,
    sorted_prefix,
    unique_key,
)
from zengraph._leases import CellLeases, Lease
from zengraph._properties import Row
from zengraph._remedies import DEFAULT, Remedies
from zengraph._row_limits import Limits
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument, NotUnique
from zengraph.tables import Put, Tables, newest_ms

MAX_LIMIT = 6000
"""Maximum number of edges or nodes that one call returns."""
PAGE_BYTES = 4_194_304
"""A page of nodes or edges ends when its properties reach this many bytes."""

MAX_SORTED_BYTES = 500
"""`lookup_prefix` finds and sorts values by at most this many of their first bytes."""

_MAX_ACQUIRED_MS = 10_000
"""How long a writer may take to set the property after acquiring its value."""
_MAX_PENDING_MS = 600_000
"""A younger index row may still become valid, because it is written before its property."""
ID_COLUMN = b"i:id"
OWNER_COLUMN = b"i:owner"


@dataclass(frozen=True, slots=True)
class Schema:
    """The indexed properties, and the edge types with special storage."""

    unique: tuple[str, ...] = ()
    """Properties whose values each belong to at most one node."""
    indexed: tuple[str, ...] = ()
    """Properties that nodes can be looked up by."""
    counted: tuple[int, ...] = ()
    """Edge types with stored counts: each node counts its edges, per direction."""
    ordered: tuple[int, ...] = ()
    """Edge types of a `Graph` whose edges sort by score, and then by an order."""
    packed: tuple[int, ...] = ()
    """
    Edge types of a `Graph` whose outgoing edges are stored in one cell of their source, and listed
    only there. A take (see `Graph.take_edges`) costs a fifth of what it costs with separate rows. A
    list may be up to 1 MiB, and each change rewrites all of it.
    """
    sorted: tuple[str, ...] = ()
    """Properties whose values can be looked up by prefix (`lookup_prefix`)."""
    one_ended: frozenset[int] = frozenset()
    """Edge types whose edges have a row only at their target."""
    reserved: frozenset[int] = frozenset()
    """Edge types that `put_edge` rejects, because their edges are stored elsewhere."""
    columns: Mapping[str, bytes] = field(default_factory=dict)
    """
    Properties that another layer writes into their own columns (`s:…`). A row with at least one of
    these columns is a node.
    """
    limits: Limits = field(default_factory=Limits)
    """The limits for a node or an edge."""
    remedies: Remedies = DEFAULT
    """The names of commands and settings in error messages."""

    def column_of(self, name: str) -> bytes:
        return self.columns.get(name) or b"m:" + name.encode()

    @property
    def with_index(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.unique, *self.indexed, *self.sorted)))

    @property
    def searchable(self) -> tuple[str, ...]:
        return (*self.unique, *self.indexed)


class _IndexedValue(NamedTuple):
    """A value that a write gives to an indexed property."""

    node_id: bytes
    name: str
    value: bytes
    at_ms: int


class PropertyIndexes:
    """The property indexes of one graph."""

    def __init__(self, tables: Tables, schema: Schema, clock: Clock) -> None:
        self._tables = tables
        self._nodes = tables["n"]
        self._rows = tables["i"]
        self._clock = clock
        self._owners = CellLeases(tables["u"], OWNER_COLUMN, _MAX_ACQUIRED_MS, clock)
        self._unique = frozenset(schema.unique)
        self._searchable = frozenset(schema.searchable)
        self._indexed = frozenset(schema.indexed)
        self._sorted = frozenset(schema.sorted)
        self._column_of = schema.column_of
        self._names = {schema.column_of(name): name for name in schema.with_index}

    def __bool__(self) -> bool:
        return bool(self._names)

    def move(self, puts: Sequence[Put], source: bytes) -> None:
        """
        Like `write`, but takes over unique values that the node `source` owns. Never raises
        NotUnique.

        A value that a third node owns is written as well, but lookups still return that node.
        """
        self.write(puts, source)

    def write(self, puts: Sequence[Put], source: bytes | None = None) -> None:
        """
        Write mutations and the index rows of their properties, with one more multi-get.

        Raises:
            NotUnique: another node has one of the values. Nothing was written, unless that node
                acquired the value while this writer was suspended; then the other mutations were
                written.
        """
        changes = list(self._changes(puts))
        if not changes:
            self._tables.write(puts)
            return
        ids = list(dict.fromkeys(change.node_id for change in changes))
        before = self._nodes.get_many(ids, list(self._names))
        owned = self._acquire_all(changes, before, source)
        self._tables.write([*self._entries(changes), *puts])
        self._confirm(owned)
        for change in changes:
            old = before.get(change.node_id, {}).get(self._column_of(change.name))
            if old is not None and old.value != change.value and old.at_ms <= change.at_ms:
                self._remove(change.node_id, change.name, old.value)

    def lookup(
        self, name: str, value: bytes, limit: int, cursor: bytes | None
    ) -> tuple[list[bytes], bytes | None]:
        """
        See `MultiGraph.lookup`.

        Raises:
            InvalidArgument: the schema does not index the property.
        """
        if name not in self._searchable:
            raise InvalidArgument(f"property {name!r}: is not indexed by the schema")
        if name in self._unique:
            owner = self._owners.read(unique_key(name, value))
            holders = [owner.holder] if owner and self._has_value(owner.holder, name, value) else []
            return holders, None
        result: list[bytes] = []
        last = cursor or b""
        with closing(self._scan_value(name, value, last)) as rows:
            for key, row in rows:
                if len(result) == min(limit, MAX_LIMIT):
                    return result, last
                last = key
                if self._has_value(row[ID_COLUMN].value, name, value):
                    result.append(row[ID_COLUMN].value)
                else:
                    self._delete_stale(key, row)
        return result, None

    def _scan_value(
        self, name: str, value: bytes, start_after: bytes
    ) -> Generator[tuple[bytes, Row], None, None]:
        """Yield a value's rows after a key. Close the generator if you stop early."""
        for bucket in range(start_after[0] if start_after else 0, BUCKETS):
            prefix = index_prefix(bucket, name, value)
            start = start_after + b"\0" if start_after.startswith(prefix) else prefix
            with closing(self._rows.scan(start, after(prefix))) as rows:
                yield from rows

    def lookup_prefix(
        self, name: str, prefix: bytes, limit: int, cursor: bytes | None
    ) -> tuple[list[tuple[bytes, bytes]], bytes | None]:
        """See `MultiGraph.lookup_prefix`. A cursor is the last row's key without its bucket."""
        if name not in self._sorted:
            raise InvalidArgument(f"property {name!r}: is not sorted by the schema")
        wanted, column = min(limit, MAX_LIMIT), self._column_of(name)
        result: list[tuple[bytes, bytes]] = []
        last = cursor or b""
        scans = [self._sorted_keys(bucket, name, prefix, last) for bucket in range(BUCKETS)]
        try:
            keys = merge(*scans)
            while len(result) <= wanted and (batch := list(islice(keys, wanted + 1 - len(result)))):
                ids = [key[-ID_BYTES:] for key in batch]
                rows = self._nodes.get_many(ids, [column])
                for key, node_id in zip(batch, ids, strict=True):
                    cell = rows.get(node_id, {}).get(column)
                    expected_key = (
                        cell and sorted_key(node_id, name, cell.value[:MAX_SORTED_BYTES])[1:]
                    )
                    if cell is None or expected_key != key:
                        continue
                    if len(result) == wanted:
                        return result, last
                    result.append((cell.value, node_id))
                    last = key
        finally:
            for scan in scans:
                scan.close()
        return result, None

    def _sorted_keys(
        self, bucket: int, name: str, prefix: bytes, start_after: bytes
    ) -> Generator[bytes, None, None]:
        """Yield a bucket's keys, without the bucket byte, for values that begin with `prefix`."""
        start = sorted_prefix(bucket, name, prefix[:MAX_SORTED_BYTES])
        first = max(start, bytes([bucket]) + start_after + b"\0") if start_after else start
        with closing(self._rows.scan(first, after(start))) as rows:
            for key, _ in rows:
                yield key[1:]

    def complete(self, node_id: bytes, row: Row) -> tuple[int, int]:
        """
        Add a node's missing index entries, given its row; used for backfills.

        Returns how many values were added, and how many unique values belong to another node. This
        node keeps them, but lookups return the other node.
        """
        added = taken = 0
        for change in self._values(node_id, row):
            for entry in self._entries([change]):
                if not self._rows.get(entry[1]):
                    self._tables.write([entry])
                    added += 1
            if change.name not in self._unique:
                continue
            owner = self._owners.read(unique_key(change.name, change.value))
            if owner is None or owner.holder != node_id:
                try:
                    self._acquire(change)
                    added += 1
                except NotUnique:
                    taken += 1
        return added, taken

    def forget(self, node_id: bytes, row: Row) -> None:
        """Remove a deleted node's index entries, given its row from before the deletion."""
        for change in self._values(node_id, row):
            self._remove(node_id, change.name, change.value)

    def _changes(self, puts: Sequence[Put]) -> Iterable[_IndexedValue]:
        for table, node_id, cells, at_ms in puts:
            if table == "n":
                for column in cells.keys() & self._names.keys():
                    yield _IndexedValue(node_id, self._names[column], cells[column], at_ms)

    def _values(self, node_id: bytes, row: Row) -> Iterable[_IndexedValue]:
        for column, name in self._names.items():
            if column in row:
                yield _IndexedValue(node_id, name, *row[column])

    def _shared_keys(self, node_id: bytes, name: str, value: bytes) -> list[bytes]:
        """Return the stored value's keys, if `value` is long enough to share a key with it."""
        if name not in self._sorted or len(value) < MAX_SORTED_BYTES:
            return []
        column = self._column_of(name)
        current = self._nodes.get(node_id, [column]).get(column)
        return [] if current is None else self._keys(node_id, name, current.value)

    def _entries(self, changes: Iterable[_IndexedValue]) -> list[Put]:
        return [
            ("i", key, {ID_COLUMN: change.node_id}, change.at_ms)
            for change in changes
            for key in self._keys(change.node_id, change.name, change.value)
        ]

    def _keys(self, node_id: bytes, name: str, value: bytes) -> list[bytes]:
        keys = []
        # Unique properties are found through their owner row.
        if name in self._indexed and name not in self._unique:
            keys.append(index_key(node_id, name, value))
        if name in self._sorted:
            keys.append(sorted_key(node_id, name, value[:MAX_SORTED_BYTES]))
        return keys

    def _has_value(self, node_id: bytes, name: str, value: bytes) -> bool:
        column = self._column_of(name)
        cell = self._nodes.get(node_id, [column]).get(column)
        return cell is not None and cell.value == value

    def _delete_stale(self, key: bytes, row: Row) -> None:
        """Delete an invalid row, unless its property may still be written."""
        if newest_ms(row) < self._clock.now_ms() - _MAX_PENDING_MS:
            self._rows.delete(key, at_ms=newest_ms(row))

    def _acquire_all(
        self, changes: Sequence[_IndexedValue], before: dict[bytes, Row], source: bytes | None
    ) -> list[tuple[_IndexedValue, Lease]]:
        """Acquire the unique values that are being set; if one is refused, release all."""
        owned: list[tuple[_IndexedValue, Lease]] = []
        for change in changes:
            stored = before.get(change.node_id, {}).get(self._column_of(change.name))
            is_late = stored is not None and stored.at_ms > change.at_ms
            if change.name not in self._unique or is_late:
                continue
            try:
                owned.append((change, self._acquire(change, source)))
            except NotUnique:
                if source is not None:
                    continue
                for acquired, _ in owned:
                    self._remove(acquired.node_id, acquired.name, acquired.value)
                raise
        return owned

    def _acquire(self, change: _IndexedValue, source: bytes | None = None) -> Lease:
        """
        Acquire the lease of a value. `source` is a node that may hand the value over.

        Raises:
            NotUnique: another node has the value, or is acquiring it.
        """
        key = unique_key(change.name, change.value)
        for _ in range(3):
            owner = self._owners.read(key)
            if owner is not None and owner.holder not in (change.node_id, source):
                is_live = owner.is_live(self._clock.now_ms())
                if is_live or self._has_value(owner.holder, change.name, change.value):
                    raise NotUnique(change.name, owner.holder.hex())
            if lease := self._owners.take(key, owner, change.node_id):
                return lease
        raise NotUnique(change.name, "that is being written")

    def _confirm(self, owned: Sequence[tuple[_IndexedValue, Lease]]) -> None:
        """End the leases of values that were written. Remove a value whose lease was lost."""
        for change, lease in owned:
            key = unique_key(change.name, change.value)
            if self._owners.end(key, lease) is None:
                owner = self._owners.read(key)
                if owner is None or owner.holder != change.node_id:
                    column = self._column_of(change.name)
                    self._nodes.delete(change.node_id, [column], at_ms=change.at_ms)
                    raise NotUnique(change.name, owner.holder.hex() if owner else "of nobody")

    def _remove(self, node_id: bytes, name: str, value: bytes) -> None:
        for key in self._keys(node_id, name, value):
            if key not in self._shared_keys(node_id, name, value) and (row := self._rows.get(key)):
                self._rows.delete(key, at_ms=newest_ms(row))
        if name not in self._unique:
            return
        key = unique_key(name, value)
        row = self._tables["u"].get(key, [OWNER_COLUMN])
        owner = Lease.of(row, OWNER_COLUMN)
        if owner and owner.holder == node_id and not self._has_value(node_id, name, value):
            # If another node acquires it in the same millisecond, that node's confirmation fails.
            self._tables["u"].delete(key, at_ms=newest_ms(row))
