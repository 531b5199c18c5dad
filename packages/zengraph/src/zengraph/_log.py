"""The time log: entries ordered by time, spread over buckets."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from zengraph._codec import BUCKETS
from zengraph._ordered_indexes import Bucketed
from zengraph._properties import Row
from zengraph.tables import open_bucket


class TimeLog(Bucketed):
    """Reads and rewrites entries. `_mutations.append_log` appends them."""

    name = "f"

    def open_bucket(self, bucket: int) -> int:
        return open_bucket(self._tables, bucket, BUCKETS)

    def between(
        self, bucket: int, low: bytes, high: bytes
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        Yield a bucket's (position, entry) pairs; close the generator if you stop early.

        A position is a time and a nonce.
        """
        with closing(self._table.scan(bytes([bucket]) + low, bytes([bucket]) + high)) as rows:
            for key, row in rows:
                yield key[1:], row

    def all(self, bucket: int) -> Generator[tuple[bytes, Row], None, None]:
        with closing(self._table.scan(bytes([bucket]), bytes([bucket + 1]))) as rows:
            for key, row in rows:
                yield key[1:], row

    def replace(
        self, bucket: int, position: bytes, entry: Mapping[bytes, bytes], at_ms: int
    ) -> None:
        self._table.put(bytes([bucket]) + position, entry, at_ms=at_ms)

    def delete_many(self, bucket: int, items: Sequence[tuple[bytes, int]]) -> None:
        """Delete the entries at (position, at_ms), unless they are newer than `at_ms`."""
        self._table.delete_many([(bytes([bucket]) + at, None, at_ms) for at, at_ms in items])
