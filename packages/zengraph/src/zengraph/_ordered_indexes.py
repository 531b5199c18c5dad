"""
Ordered indexes of nodes, by numbers and by ordering keys that the caller defines.

The layer that owns a property writes the index row before the property, and deletes the index row
after the property.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from heapq import merge
from itertools import islice
from typing import ClassVar, NamedTuple

from zengraph._codec import (
    BUCKETS,
    ID_BYTES,
    NO_LABEL,
    after,
    number_key,
    ordering_key,
    read_number_key,
)
from zengraph._leases import Lease, take_many
from zengraph._properties import Row
from zengraph.tables import CellTable, Tables

_CLAIM = b"i:c"


class OrderIndex:
    """
    Nodes ordered by ordering keys, which are arbitrary bytes. A node may have several keys.

    `labels` finds the keys that begin with a label (UTF-8) and a zero byte. Other keys begin with
    0xff. Within a key, nodes are ordered by id. Each of the sixteen buckets is sorted on its own.
    """

    def __init__(self, tables: Tables) -> None:
        self._table = tables["h"]

    def has(self, node_id: bytes, order: bytes) -> bool:
        return bool(self._table.get(ordering_key(node_id, order)))

    def delete(self, node_id: bytes, order: bytes, *, at_ms: int) -> None:
        self._table.delete(ordering_key(node_id, order), at_ms=at_ms)

    def delete_at(self, position: bytes, *, at_ms: int) -> None:
        self._table.delete(position, at_ms=at_ms)

    def walk(self) -> Generator[tuple[bytes, Row], None, None]:
        return self._table.scan(b"", None)

    def rows(
        self, prefixes: Sequence[bytes], start_after: bytes = b""
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        Yield (position, stored values) of entries that have one of the prefixes, after a position.

        A position is opaque, except that it ends with the node's id. Pass it to continue the list.
        """
        for bucket in range(BUCKETS):
            for prefix in prefixes:
                yield from self._scan_prefix(bytes([bucket]) + prefix, start_after)

    def _scan_prefix(
        self, prefix: bytes, start_after: bytes
    ) -> Generator[tuple[bytes, Row], None, None]:
        stop = after(prefix)
        if stop is not None and start_after >= stop:
            return
        first = max(prefix, start_after + b"\0") if start_after else prefix
        with closing(self._table.scan(first, stop)) as rows:
            yield from rows

    def sample(self, prefix: bytes, start: bytes, count: int) -> list[bytes]:
        """
        Return up to `count` ids of the first nodes under a prefix, regardless of their buckets.

        Starts at the first key that is not below `start`, and wraps around at the end.
        """
        ids = self._first_ids(prefix + start, after(prefix), count)
        return ids + self._first_ids(prefix, prefix + start, count - len(ids))

    def _first_ids(self, first: bytes, stop: bytes | None, count: int) -> list[bytes]:
        """Return the ids of the first `count` keys in a range, merged from all buckets."""
        with ExitStack() as scans:
            buckets = [
                scans.enter_context(closing(self._scan_range(bucket, first, stop, count)))
                for bucket in range(BUCKETS if count else 0)
            ]
            merged = merge(*buckets)
            return [key[-ID_BYTES:] for key in islice(merged, count)]

    def _scan_range(
        self, bucket: int, first: bytes, stop: bytes | None, count: int
    ) -> Generator[bytes, None, None]:
        """Yield the keys of a bucket in a range, without the bucket."""
        low = bytes([bucket]) + first
        high = after(bytes([bucket])) if stop is None else bytes([bucket]) + stop
        with closing(self._table.scan(low, high, limit=count)) as rows:
            for key, _ in rows:
                yield key[1:]

    def labels(self, start_after: str = "") -> LabelWalk:
        """Walk over the labels, beginning with the first one that is not below `start_after`."""
        return LabelWalk(self._table, start_after)


class LabelWalk:
    """
    The distinct labels of an `OrderIndex`, in order, across all buckets.

    A label costs at most one small read in each bucket, no matter how many nodes it has.
    """

    _READ_AHEAD_ROWS = 20

    def __init__(self, table: CellTable, start_after: str) -> None:
        self._table = table
        self._next_keys: dict[int, list[bytes]] = {bucket: [] for bucket in range(BUCKETS)}
        self._ended: set[int] = set()
        self.skip_to(start_after)

    def skip_to(self, start_after: str) -> None:
        """Continue with the first label that is not below `start_after`."""
        label = start_after.encode()
        for bucket, ahead in self._next_keys.items():
            start = bytes([bucket]) + label
            while ahead and ahead[-1] < start:
                ahead.pop()
            if not ahead and bucket not in self._ended:
                self._read(bucket, start)

    def _read(self, bucket: int, start: bytes) -> None:
        stop = bytes([bucket]) + NO_LABEL
        with closing(self._table.scan(start, stop, limit=self._READ_AHEAD_ROWS)) as rows:
            keys = [key for key, _ in rows]
        self._next_keys[bucket][:] = reversed(keys)
        if len(keys) < self._READ_AHEAD_ROWS:
            self._ended.add(bucket)

    def first(self) -> str | None:
        """Return the next label, or None at the end."""
        heads = [ahead[-1] for ahead in self._next_keys.values() if ahead]
        if not heads:
            return None
        return min(head[1:].partition(b"\0")[0] for head in heads).decode()


class Bucketed:
    """The base class of the time log and the number index."""

    name: ClassVar[str]
    """The name of the table."""
    buckets = range(BUCKETS)

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables[self.name]

    def serves(self, bucket: int) -> bool:
        """Return False while the file that contains the bucket is damaged."""
        return self._tables.serves(bucket)


class NumberEntry(NamedTuple):
    """An entry of the number index."""

    number: int
    node_id: bytes
    kept: Row
    """The values that were stored with the entry."""
    lease: Lease | None
    """The lease of the caller that claimed the entry."""

    def is_claimed(self, now_ms: int) -> bool:
        """Return True while another caller's claim is active."""
        return self.lease is not None and self.lease.is_live(now_ms)


class NumberIndex(Bucketed):
    """
    Nodes ordered by unsigned 64-bit numbers, in buckets.

    A number may be a time, a priority or a sequence number. Entries can be claimed, so the index
    can serve as a queue.
    """

    name = "d"

    def has(self, node_id: bytes, number: int) -> bool:
        return bool(self._table.get(number_key(node_id, number)))

    def until(self, bucket: int, end: int) -> Generator[NumberEntry, None, None]:
        """Yield entries with numbers below `end`, lowest first. Close the generator afterward."""
        stop = bytes([bucket]) + end.to_bytes(8)
        with closing(self._table.scan(bytes([bucket]), stop)) as rows:
            for key, row in rows:
                number, node_id = read_number_key(key)
                yield NumberEntry(number, node_id, row, Lease.of(row, _CLAIM))

    def walk(self) -> Generator[NumberEntry, None, None]:
        for key, row in self._table.scan(b"", None):
            number, node_id = read_number_key(key)
            yield NumberEntry(number, node_id, row, Lease.of(row, _CLAIM))

    def delete_many(self, items: Sequence[tuple[bytes, int, int]]) -> None:
        """Delete entries (node id, number, at_ms) that are not newer than `at_ms`."""
        self._table.delete_many(
            [(number_key(node_id, number), None, at_ms) for node_id, number, at_ms in items]
        )

    def claim(self, entries: Sequence[NumberEntry], lease: Lease) -> list[bool]:
        """Claim entries. Returns False for each that another caller claimed since it was read."""
        rows = [(number_key(entry.node_id, entry.number), entry.lease) for entry in entries]
        return take_many(self._table, _CLAIM, rows, lease)
