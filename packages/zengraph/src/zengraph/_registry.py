"""Small named records outside the graph that processes share, such as locks and positions."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from zengraph._codec import BUCKETS, after
from zengraph._properties import Row
from zengraph.tables import Tables, open_bucket


class Registry:
    """Records by name, in the table of unique values, under a prefix that no property name has."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables["u"]

    def get(self, name: bytes, columns: Sequence[bytes] | None = None) -> Row:
        """Return all or some values of a record; empty if the record has none of them."""
        return self._table.get(name, columns)

    def get_many(
        self, names: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        """`get` for many records, with one multi-get. Missing records are omitted."""
        return self._table.get_many(names, columns)

    def check_and_put(
        self, name: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        """Put `value` if the cell contains `expected` (None if it must be absent). Atomic."""
        return self._table.check_and_put(name, column, expected, value)

    def incr(self, name: bytes, column: bytes, delta: int) -> int:
        """Add to a counter and return the result. Not safe to repeat."""
        return self._table.incr(name, column, delta)

    def put(self, name: bytes, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        self._table.put(name, values, at_ms=at_ms)

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        """Set many (name, values, at_ms). Safe to repeat."""
        self._table.put_many(items)

    def delete(self, name: bytes, *, at_ms: int) -> None:
        """Delete a record that is not newer than `at_ms`."""
        self._table.delete(name, at_ms=at_ms)

    def delete_many(self, items: Sequence[tuple[bytes, int]]) -> None:
        """Delete many (name, at_ms); newer records are kept. Safe to repeat."""
        self._table.delete_many([(name, None, at_ms) for name, at_ms in items])

    def beginning_with(self, prefix: bytes) -> list[tuple[bytes, Row]]:
        """Return all records whose names begin with a prefix, in order."""
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            return list(rows)

    def walk(
        self, prefix: bytes, limit: int | None = None, start_after: bytes = b""
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        Yield up to `limit` records whose names begin with a prefix, in order of name.

        With `start_after`, only names that sort after it. Close the generator if you stop early.
        """
        first = start_after + b"\0" if start_after else prefix
        return self._table.scan(first, after(prefix), limit=limit)

    def buckets(self) -> list[int]:
        """Return the first bytes of writable names: all except those in damaged files."""
        return [bucket for bucket in range(BUCKETS) if self._tables.serves(bucket)]

    def open_bucket(self, bucket: int = 0) -> int:
        """Return the first writable bucket from `bucket` on; wraps around."""
        return open_bucket(self._tables, bucket, BUCKETS)
