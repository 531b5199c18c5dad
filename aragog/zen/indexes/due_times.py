"""The index of due times: nodes in the order in which they are due."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import NamedTuple

from aragog.zen.bucketed import Bucketed
from aragog.zen.codec import due_key, read_due_key
from aragog.zen.properties import Row


class DueEntry(NamedTuple):
    """A node in the index of due times."""

    due_at_ms: int
    node_id: bytes
    kept: Row


class DueTimes(Bucketed):
    """Nodes ordered by due time, in buckets that can be written in parallel."""

    name = "d"

    def has(self, of: bytes, due_at_ms: int) -> bool:
        """True if the node has an entry at that time."""
        return bool(self._table.get(due_key(of, due_at_ms)))

    def until(self, bucket: int, until_ms: int) -> Generator[DueEntry, None, None]:
        """Entries before `until_ms`, soonest first; close it if you leave it early."""
        stop = bytes([bucket]) + until_ms.to_bytes(8)
        with closing(self._table.scan(bytes([bucket]), stop)) as rows:
            for key, row in rows:
                due_at_ms, of = read_due_key(key)
                yield DueEntry(due_at_ms, of, row)

    def walk(self) -> Generator[DueEntry, None, None]:
        """Every entry."""
        for key, row in self._table.scan(b"", None):
            due_at_ms, of = read_due_key(key)
            yield DueEntry(due_at_ms, of, row)

    def delete_many(self, items: Sequence[tuple[bytes, int, int]]) -> None:
        """Delete the entries (node id, due_at_ms), if not newer than at_ms, each."""
        self._table.delete_many([(due_key(of, due), None, at_ms) for of, due, at_ms in items])

    def check_and_put_many(
        self, items: Sequence[tuple[DueEntry, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        """Compare-and-set values stored with entries: (entry, name, expected, value) each."""
        checks = [
            (due_key(entry.node_id, entry.due_at_ms), name, expected, value)
            for entry, name, expected, value in items
        ]
        return self._table.check_and_put_many(checks)
