"""
Tables with a short-lived cache of nodes in this process.

Only `values_many` of the nodes table uses the cache. An entry, the values of some columns of a row,
expires `max_age_s` after its read started. A write through the same tables drops the row's entries,
so a process reads its own writes at once. It sees other processes' writes when entries expire.
Missing rows are not cached.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import NamedTuple

from zengraph.tables import CellTable, Deletion, Put, Tables
from zengraph.tables.forwarding import Cells, ForwardingTable, ForwardingTables, Values

NODES = "n"

_ENTRY_BYTES = 360
"""An entry's overhead: key, dictionary slot, tuples and numbers."""
_VALUE_BYTES = 41
"""A value's overhead: its object and its slot in the tuple."""
_MAX_SETS = 64
"""Maximum number of column sets, because each write looks up its rows in every set."""


class _CachedRow(NamedTuple):
    """The values of a row."""

    read_at_s: float
    values: Values
    size_bytes: int


class ReadCache:
    """
    Values of nodes by row and columns. Thread-safe.

    Args:
        max_age_s: maximum age of returned values.
        max_bytes: limit for all entries' estimated memory; the oldest are dropped first.
        now_s: a monotonic clock.
        on_read: called for each read with the numbers of cached and uncached rows.

    Attributes:
        size_bytes: the entries' estimated memory.
    """

    def __init__(
        self,
        max_age_s: float,
        max_bytes: int,
        now_s: Callable[[], float] = time.monotonic,
        on_read: Callable[[int, int], None] = lambda _hits, _misses: None,
    ) -> None:
        self._on_read = on_read
        self.size_bytes = 0
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._now_s = now_s
        self._lock = threading.Lock()
        self._prefixes: dict[tuple[bytes, ...], bytes] = {}
        """Sets of columns, each with a unique key prefix."""
        self._numbers = count()
        self._entries: dict[bytes, _CachedRow] = {}
        """Entries by prefix and row, oldest first."""
        self._writes = [0] * 256
        """The number of finished writes, by their rows' first byte."""

    def read(
        self,
        rows: Sequence[bytes],
        columns: tuple[bytes, ...],
        read: Callable[[Sequence[bytes], tuple[bytes, ...]], dict[bytes, Values]],
    ) -> dict[bytes, Values]:
        """Return the values of existing rows. Calls `read` for rows that are not cached."""
        now_s = self._now_s()
        prefix, oldest_s = self._prefix(columns), now_s - self._max_age_s
        found: dict[bytes, Values] = {}
        missing: list[bytes] = []
        look = self._entries.get
        for row in rows:
            entry = look(prefix + row)
            if entry is not None and entry[0] >= oldest_s:
                found[row] = entry[1]
            else:
                missing.append(row)
        self._on_read(len(rows) - len(missing), len(missing))
        if not missing:
            return found
        writes = [self._writes[row[0]] for row in missing]
        values = read(missing, columns)
        self._keep(prefix, zip(missing, writes, strict=True), values, now_s)
        return found | values if found else values

    def drop(self, rows: Iterable[bytes]) -> None:
        """Drop rows that were written. Reads in progress do not cache these rows."""
        with self._lock:
            for row in rows:
                self._writes[row[0]] += 1
                for prefix in self._prefixes.values():
                    self._remove(prefix + row)

    def _prefix(self, columns: tuple[bytes, ...]) -> bytes:
        found = self._prefixes.get(columns)
        if found is not None:
            return found
        with self._lock:
            if len(self._prefixes) == _MAX_SETS:  # ordinary readers have fewer
                self._prefixes.clear()
                self._entries.clear()
                self.size_bytes = 0
            return self._prefixes.setdefault(columns, next(self._numbers).to_bytes(8))

    def _keep(
        self,
        prefix: bytes,
        rows: Iterable[tuple[bytes, int]],
        values: dict[bytes, Values],
        read_at_s: float,
    ) -> None:
        with self._lock:
            for row, writes in rows:
                # Values read during a write to their row may be outdated, so they are not cached.
                if row in values and self._writes[row[0]] == writes:
                    self._remove(prefix + row)
                    entry = _CachedRow(read_at_s, values[row], _size(values[row]))
                    self._entries[prefix + row] = entry
                    self.size_bytes += entry.size_bytes
            self._shrink()

    def _shrink(self) -> None:
        """Drop the oldest entries while the cache is too large, and a few expired entries."""
        oldest_s = self._now_s() - self._max_age_s
        while self._entries:
            key = next(iter(self._entries))
            if self.size_bytes <= self._max_bytes and self._entries[key].read_at_s >= oldest_s:
                return
            self._remove(key)

    def _remove(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.size_bytes


def _size(values: Values) -> int:
    return _ENTRY_BYTES + sum([_VALUE_BYTES + len(value) for value in values if value is not None])


class CachedTables(ForwardingTables):
    """
    An engine's tables with a cache for nodes.

    A failed write also drops its rows, because it may have been executed.

    Attributes:
        uncached: the engine's tables.
    """

    def __init__(self, tables: Tables, cache: ReadCache) -> None:
        super().__init__(tables)
        self.uncached = tables
        self._cache = cache
        self._nodes = _CachedNodes(tables[NODES], cache)

    def __getitem__(self, name: str) -> CellTable:
        return self._nodes if name == NODES else self.uncached[name]

    def write(self, puts: Sequence[Put]) -> None:
        try:
            self.uncached.write(puts)
        finally:
            self._cache.drop([row for name, row, _, _ in puts if name == NODES])


class _CachedNodes(ForwardingTable):
    """The nodes table. Every write drops the changed rows from the cache."""

    def __init__(self, table: CellTable, cache: ReadCache) -> None:
        super().__init__(table)
        self._cache = cache

    def values_many(self, rows: Sequence[bytes], columns: tuple[bytes, ...]) -> dict[bytes, Values]:
        return self._cache.read(rows, columns, self._table.values_many)

    def put(self, row: bytes, cells: Cells, *, at_ms: int) -> None:
        try:
            self._table.put(row, cells, at_ms=at_ms)
        finally:
            self._cache.drop([row])

    def put_many(self, items: Sequence[tuple[bytes, Cells, int]]) -> None:
        try:
            self._table.put_many(items)
        finally:
            self._cache.drop([row for row, _, _ in items])

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        try:
            self._table.delete(row, columns, at_ms=at_ms)
        finally:
            self._cache.drop([row])

    def delete_many(self, items: Sequence[Deletion]) -> None:
        try:
            self._table.delete_many(items)
        finally:
            self._cache.drop([row for row, _, _ in items])

    def put_and_delete_many(
        self, puts: Sequence[tuple[bytes, Cells, int]], deletions: Sequence[Deletion]
    ) -> None:
        try:
            self._table.put_and_delete_many(puts, deletions)
        finally:
            self._cache.drop([item[0] for item in (*puts, *deletions)])

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        try:
            return self._table.check_and_put(row, column, expected, value)
        finally:
            self._cache.drop([row])

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        try:
            return self._table.check_and_put_many(items)
        finally:
            self._cache.drop([item[0] for item in items])

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        try:
            return self._table.incr(row, column, delta)
        finally:
            self._cache.drop([row])
