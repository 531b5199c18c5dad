"""
Indexes in an order: nodes by due time, and the nodes of URLs by host.

A row is written before the property that makes it true, and deleted after it, by the layer that
owns the property; `aragog.zen.mutations` has the rows, so that they go into its batches.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import ClassVar, NamedTuple

from aragog.zen.codec import (
    BUCKETS,
    SENDERS,
    after,
    due_key,
    host_key,
    read_due_key,
    sender_prefix,
)
from aragog.zen.leases import Lease, take_many
from aragog.zen.node_ids import node_id
from aragog.zen.properties import Row
from aragog.zen.tables import CellTable, Tables
from urlspelling.domain import host

_CLAIM = b"i:c"


class HostIndex:
    """
    The nodes of a host's URLs; hosts of one domain are adjacent.

    A second part lists the nodes with data that URLs of a host sent, under whatever URL they are.
    """

    def __init__(self, tables: Tables) -> None:
        self._table = tables["h"]

    def has(self, url: str) -> bool:
        """True if the node of a normalized URL has an entry."""
        return bool(self._table.get(host_key(node_id(url), host(url))))

    def delete(self, url: str, *, at_ms: int) -> None:
        """Delete the entry of a normalized URL."""
        self._table.delete(host_key(node_id(url), host(url)), at_ms=at_ms)

    def delete_at(self, position: bytes, *, at_ms: int) -> None:
        """Delete the entry at a position."""
        self._table.delete(position, at_ms=at_ms)

    def walk(self) -> Generator[tuple[bytes, Row], None, None]:
        """(position, stored values) of every entry."""
        return self._table.scan(b"", None)

    def rows(
        self, prefixes: Sequence[bytes], beyond: bytes
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        (position, stored values) of entries whose reversed host has a prefix, after a position.

        A position is opaque and continues the list; it ends with the node's id.
        """
        for bucket in range(BUCKETS):
            for prefix in prefixes:
                yield from self._beginning_with(bytes([bucket]) + prefix, beyond)

    def sent_by(
        self, host_name: str, endings: Sequence[bytes]
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        (position, stored values) of nodes with data of senders; each value has the fetch's time.

        `endings` follow the reversed host: zero for the host itself, zero and an id for one URL.
        """
        for bucket in range(BUCKETS):
            for ending in endings:
                yield from self._beginning_with(sender_prefix(bucket, host_name) + ending, b"")

    def _beginning_with(
        self, prefix: bytes, beyond: bytes
    ) -> Generator[tuple[bytes, Row], None, None]:
        stop = after(prefix)
        if stop is not None and beyond >= stop:
            return
        first = max(prefix, beyond + b"\0") if beyond else prefix
        with closing(self._table.scan(first, stop)) as rows:
            yield from rows

    def hosts(self, beyond: str = "") -> HostWalk:
        """Walk over the hosts whose reversed labels come after a text."""
        return HostWalk(self._table, beyond)


class HostWalk:
    """
    The distinct hosts of the index, in the order of their reversed labels, in all buckets at once.

    A host costs one small read in each bucket that holds many of its URLs, however many those are.
    """

    _AHEAD = 20

    def __init__(self, table: CellTable, beyond: str) -> None:
        self._table = table
        self._ahead: dict[int, list[bytes]] = {bucket: [] for bucket in range(BUCKETS)}
        self._ended: set[int] = set()
        self.skip_to(beyond)

    def skip_to(self, beyond: str) -> None:
        """Continue with the first host whose reversed labels come after a text."""
        label = beyond.encode()
        for bucket, ahead in self._ahead.items():
            start = bytes([bucket]) + label
            while ahead and ahead[-1] < start:
                ahead.pop()
            if not ahead and bucket not in self._ended:
                self._read(bucket, start)

    def _read(self, bucket: int, start: bytes) -> None:
        stop = bytes([bucket]) + SENDERS
        with closing(self._table.scan(start, stop, limit=self._AHEAD)) as rows:
            keys = [key for key, _ in rows]
        self._ahead[bucket][:] = reversed(keys)
        if len(keys) < self._AHEAD:
            self._ended.add(bucket)

    def first(self) -> str | None:
        """The next host, with its labels reversed; None at the end."""
        heads = [ahead[-1] for ahead in self._ahead.values() if ahead]
        if not heads:
            return None
        return min(head[1:].partition(b"\0")[0] for head in heads).decode()


class Bucketed:
    """The common part of the time log and the index of due times."""

    name: ClassVar[str]
    """The name of the table."""
    buckets = range(BUCKETS)

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables[self.name]

    def serves(self, bucket: int) -> bool:
        """False while the file that holds the bucket is damaged."""
        return self._tables.serves(bucket)


class DueEntry(NamedTuple):
    """A node in the index of due times."""

    due_at_ms: int
    node_id: bytes
    kept: Row
    """The values that were put with it."""
    lease: Lease | None
    """The lease of the caller that claimed it."""

    def is_claimed(self, now_ms: int) -> bool:
        """True while another caller has claimed it."""
        return self.lease is not None and self.lease.is_live(now_ms)


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
                yield DueEntry(due_at_ms, of, row, Lease.of(row, _CLAIM))

    def walk(self) -> Generator[DueEntry, None, None]:
        """Every entry."""
        for key, row in self._table.scan(b"", None):
            due_at_ms, of = read_due_key(key)
            yield DueEntry(due_at_ms, of, row, Lease.of(row, _CLAIM))

    def delete_many(self, items: Sequence[tuple[bytes, int, int]]) -> None:
        """Delete the entries (node id, due_at_ms), if not newer than at_ms, each."""
        self._table.delete_many([(due_key(of, due), None, at_ms) for of, due, at_ms in items])

    def claim(self, entries: Sequence[DueEntry], lease: Lease) -> list[bool]:
        """Claim entries, as they were read; False for one that another caller has claimed."""
        rows = [(due_key(entry.node_id, entry.due_at_ms), entry.lease) for entry in entries]
        return take_many(self._table, _CLAIM, rows, lease)
