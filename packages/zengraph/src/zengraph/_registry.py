"""Small named records outside the graph, shared by processes, such as locks and positions."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from zengraph._codec import BUCKETS, after
from zengraph._properties import Row
from zengraph.tables import Tables, open_bucket


class Registry:
    """Records by name, in the table of unique values; no property name has their prefix."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables["u"]
        self.get = self._table.get
        self.get_many = self._table.get_many
        self.check_and_put = self._table.check_and_put
        self.incr = self._table.incr

    def put(self, name: bytes, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Set values of a record."""
        self._table.put(name, values, at_ms=at_ms)

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        """Set (name, values, at_ms) each; safe to repeat."""
        self._table.put_many(items)

    def delete(self, name: bytes, *, at_ms: int) -> None:
        """Delete a record that is not newer than `at_ms`."""
        self._table.delete(name, at_ms=at_ms)

    def delete_many(self, items: Sequence[tuple[bytes, int]]) -> None:
        """Delete (name, at_ms) each, if not newer; safe to repeat."""
        self._table.delete_many([(name, None, at_ms) for name, at_ms in items])

    def beginning_with(self, prefix: bytes) -> list[tuple[bytes, Row]]:
        """All records whose names begin with a prefix, in order."""
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            return list(rows)

    def walk(
        self, prefix: bytes, limit: int | None = None, beyond: bytes = b""
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        Records whose names begin with a prefix, in order, at most `limit`; close it early.

        `beyond` is a name of theirs: only those behind it.
        """
        first = beyond + b"\0" if beyond else prefix
        return self._table.scan(first, after(prefix), limit=limit)

    def buckets(self) -> list[int]:
        """First bytes of names that can be written: all but those in damaged files."""
        return [bucket for bucket in range(BUCKETS) if self._tables.serves(bucket)]

    def open_bucket(self, bucket: int = 0) -> int:
        """The first of these bytes from `bucket` on, which counts modulo their number."""
        return open_bucket(self._tables, bucket, BUCKETS)
