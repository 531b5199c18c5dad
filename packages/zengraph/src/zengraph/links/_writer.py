"""
Write sources' outlinks cells, and journal rows with their changes.

A writer first writes journal rows, one for each lane (`_journal_keys`), then the cells. It replaces
a cell by check-and-put against the cell from which it computed the difference, so concurrent
writers produce one chain of changes. If the check fails or the writer is killed, the entry's name
never gets into the cell, and the compaction drops the entry.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from zengraph._codec import BUCKETS
from zengraph._naming import Naming
from zengraph.clock import Clock
from zengraph.errors import StoreDamaged, StoreUnavailable
from zengraph.links._inlinks import journal
from zengraph.links._inlinks.journal import Entry, compress_lines
from zengraph.links._journal_keys import beside_key, bucket_of_lane, lane_key, lane_of, oldest_ms
from zengraph.links._outlinks import (
    MANY_CHANGES,
    MAX_CHANGES,
    Difference,
    Outlinks,
    PackedLinks,
    change_ms,
    change_name,
    difference,
    pack,
    target_of,
    unpack,
)
from zengraph.tables import Tables, open_bucket

CELL = b"l:v"
_ATTEMPTS = 30
_PAUSE_S = 0.02
"""Maximum random pause (s) before a retry, so that two writers do not collide again."""

Listed = Literal["all", "none"] | Callable[[str], Callable[[bytes], bool]]
"""
Which links are also listed at their targets: all, none, or those that a function chooses. The
function takes a source and returns a predicate for the source's targets.
"""

Edit = Callable[[bytes], bytes]
"""Maps a source's current lines to its new lines."""


@dataclass(frozen=True, slots=True)
class LinksWrite:
    """A write of one source's links."""

    source: str
    at_ms: int
    links: PackedLinks | Edit
    """The links, or a function of the old links, called again after a conflict."""
    is_new: bool = False
    """
    True if the source probably has no stored links. The write then does not read them first. If
    there are some, the write takes another attempt.
    """

    @property
    def needs_read(self) -> bool:
        """True if the stored links are needed: to edit them, or because there may be some."""
        # Without links, nothing is checked against the cell, so nothing would detect old links.
        is_full = isinstance(self.links, PackedLinks) and bool(self.links.compressed)
        return not (self.is_new and is_full)


class OutlinkWriter:
    """Writes and reads sources' outlinks."""

    def __init__(self, tables: Tables, naming: Naming, listed: Listed, clock: Clock) -> None:
        self._clock = clock
        self._naming = naming
        self._node_id = naming.node_id
        self._tables = tables
        self._outlinks = tables["o"]
        self._journal = tables["j"]
        self._listed = listed

    def read(self, sources: Sequence[str]) -> dict[str, Outlinks]:
        """Return sources' outlinks; empty for a source without outlinks."""
        node_id = self._node_id
        rows = self._outlinks.get_many([node_id(source) for source in sources], [CELL])
        empty = Outlinks()
        return {
            source: unpack(row[CELL].value) if (row := rows.get(node_id(source))) else empty
            for source in sources
        }

    def of(self, node_id: bytes) -> Outlinks:
        """Return a source's outlinks by its id; empty if there are none."""
        cell = self._outlinks.get(node_id, [CELL]).get(CELL)
        return unpack(cell.value) if cell else Outlinks()

    def write(self, writes: Sequence[LinksWrite], now_ms: int) -> None:
        """
        Write the links of distinct sources. Takes three round trips if no other process writes
        them, or two if all sources are new.

        Safe to repeat: a source with the same links is not written. Older links never replace newer
        ones.

        Raises:
            StoreUnavailable: other writers changed the same sources during every attempt.
        """
        left = list(writes)
        for _ in range(_ATTEMPTS):
            left = self._attempt(left, now_ms)
            if not left:
                return
            self._clock.sleep_s(random.uniform(0, _PAUSE_S))
        raise StoreUnavailable("outlinks", f"{left[0].source} is being written by many at once")

    def _attempt(self, writes: Sequence[LinksWrite], now_ms: int) -> list[LinksWrite]:
        """Write changed links. Returns writes that a concurrent writer has overtaken."""
        node_id = self._node_id
        read = [node_id(write.source) for write in writes if write.needs_read]
        rows = self._outlinks.get_many(read, [CELL]) if read else {}
        stored = {key: unpack(row[CELL].value) for key, row in rows.items()}
        row_ms = _after_all_changes(stored.values(), now_ms)
        entries: list[Entry] = []
        checks: list[tuple[bytes, bytes, bytes | None, bytes]] = []
        pending: list[LinksWrite] = []
        for write in writes:
            source_id = node_id(write.source)
            old = stored.get(source_id) or Outlinks()
            edits = callable(write.links)
            links = _apply_edit(write.links, old) if callable(write.links) else write.links
            if links.compressed == old.compressed or (write.at_ms <= old.at_ms and not edits):
                continue
            # An edit must be newer than the edited links, even if clocks differ.
            at_ms = max(write.at_ms, old.at_ms + 1)
            change = change_name(row_ms, os.urandom(6))
            if entry := self._entry(write.source, at_ms, change, old, links):
                entries.append(entry)
            new = self._prune_names(write.source, old).after(change, at_ms, links.compressed)
            cell = rows[source_id][CELL].value if source_id in rows else None
            checks.append((source_id, CELL, cell, pack(new)))
            pending.append(write)
        rows_of = self._journal_rows(entries, row_ms)
        self._journal.put_many(
            [(key, {journal.COLUMN: journal.pack(own)}, row_ms) for key, own in rows_of.items()]
        )
        written = self._outlinks.check_and_put_many(checks) if checks else []
        overtaken = [w for w, ok in zip(pending, written, strict=True) if not ok]
        sources = {write.source for write in overtaken}
        for key, own in rows_of.items():
            if not sources.isdisjoint(entry.source for entry in own):
                self._withdraw(key, own, sources, row_ms)
        return [replace(write, is_new=False) for write in overtaken]

    def _journal_rows(self, entries: Sequence[Entry], row_ms: int) -> dict[bytes, list[Entry]]:
        """Assign entries to new journal rows, one for each lane."""
        nonce = os.urandom(8)
        beside = open_bucket(self._tables, nonce[0], BUCKETS)
        rows: dict[bytes, list[Entry]] = defaultdict(list)
        for entry in entries:
            lane = lane_of(self._naming, entry.source.encode())
            writable = self._tables.serves(bucket_of_lane(lane))
            key = lane_key(lane, row_ms, nonce) if writable else beside_key(beside, row_ms, nonce)
            rows[key].append(entry)
        return rows

    def _withdraw(
        self, key: bytes, entries: Sequence[Entry], sources: Container[str], row_ms: int
    ) -> None:
        """
        Remove changes without effect from a journal row, so that compactions need not wait for
        them.

        Check-and-put prevents restoring a row that was compacted in the meantime.
        """
        if left := [entry for entry in entries if entry.source not in sources]:
            old, new = journal.pack(entries), journal.pack(left)
            self._journal.check_and_put(key, journal.COLUMN, old, new)
        else:
            self._journal.delete(key, at_ms=row_ms)

    def _prune_names(self, source: str, links: Outlinks) -> Outlinks:
        """Drop names that are no longer in a journal row. Takes seventeen short scans."""
        if len(links.changes) < MANY_CHANGES:
            return links
        kept = links
        with suppress(StoreDamaged):  # keep all names: a row in a damaged file may need them
            oldest = oldest_ms(self._journal, lane_of(self._naming, source.encode()))
            kept = replace(links, changes=()) if oldest is None else links.since(oldest)
        if len(kept.changes) >= MAX_CHANGES:
            raise StoreUnavailable(
                "link journal",
                f"{source} changed {MAX_CHANGES} times since the last compaction; compact first",
            )
        return kept

    def _entry(
        self, source: str, at_ms: int, change: bytes, old: Outlinks, links: PackedLinks
    ) -> Entry | None:
        """Return a change's journal entry, or None if no listed link changed."""
        if self._listed == "none":
            return None
        if self._listed == "all" and not old.compressed:
            # Most sources are new; the entry reuses their compressed lines.
            return Entry(source, at_ms, change, added=links.compressed)
        differs = difference(old.lines, links.lines)
        if not differs:
            return None
        if callable(self._listed):
            differs = _filter_listed(self._listed(source), differs)
        parts = map(compress_lines, (differs.added, differs.changed, differs.removed))
        return Entry(source, at_ms, change, *parts)


def _apply_edit(edit: Edit, old: Outlinks) -> PackedLinks:
    return PackedLinks.of_lines(edit(old.lines))


def _after_all_changes(links: Iterable[Outlinks], now_ms: int) -> int:
    """
    Return a time for these sources' journal row, later than all of their earlier changes.

    Compactions order rows by this time. The clock is not enough, because an overtaken change is
    retried after a later one, and writers' clocks differ.
    """
    return max([now_ms, *(change_ms(link.changes[-1]) + 1 for link in links if link.changes)])


def _filter_listed(listed: Callable[[bytes], bool], differs: Difference) -> Difference:
    def those(lines: Sequence[bytes]) -> list[bytes]:
        return [line for line in lines if listed(target_of(line))]

    return Difference(those(differs.added), those(differs.changed), those(differs.removed))


def without(targets: Mapping[str, object] | set[str]) -> Edit:
    """Return an edit that removes the links to `targets`."""
    removed = {target.encode() for target in targets}

    def edit(lines: bytes) -> bytes:
        remaining = [line for line in lines.split(b"\n") if line and target_of(line) not in removed]
        return b"\n".join(remaining)

    return edit


def with_links(more: bytes) -> Edit:
    """Return an edit that adds the links in `more`, replacing links to the same targets."""
    new_lines = {target_of(line): line for line in more.split(b"\n") if line}

    def edit(lines: bytes) -> bytes:
        present = {target_of(line): line for line in lines.split(b"\n") if line}
        return b"\n".join((present | new_lines).values())

    return edit
