"""
Keep a table equal to the store: what the change feed names is read from the store, and merged.

A merge brings the rows of the URLs that changed to what the store has of them now, so a change that
is read twice changes nothing, and one that is killed is done again. A page that an export would not
have leaves the table. Takedowns are not in the feed: when their count differs from that of the
table, all its URLs are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from aragog.addons.table.columns import Columns, is_shown
from aragog.addons.table.delta_files import DeltaFiles, TableState
from aragog.transfer.import_export import NodeSelection, export_urls
from aragog.transfer.json_lines import UrlRecord
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.store import UrlStore

MOST_URLS = 10_000
"""Pages that one commit merges; with 5 KB of fields each, 50 MB of memory."""
_READ_CHANGES = 500
_ADVANCE_MS = 3_600_000
"""How old a cursor gets in a table without changes before it is committed anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How a table is to be; None keeps what it is."""

    fields: tuple[str, ...] | None = None
    buckets: int | None = None
    purpose: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """What one commit did."""

    written: int = 0
    left: int = 0
    rebuilt: str = ""
    """Why the table was built from an export; empty: it was not."""
    is_last: bool = True
    """False: the feed has more already."""


@dataclass(slots=True)
class _Records:
    """A sink that keeps the records of the table."""

    kept: list[UrlRecord] = field(default_factory=list)

    def write(self, records: Sequence[UrlRecord]) -> None:
        self.kept += filter(is_shown, records)

    def close(self) -> None:
        """Nothing to do."""


class TableKeeper:
    """
    Keeps one table; one thread uses it.

    Args:
        store: where pages are.
        files: the table.
        types: of the fields.
        wanted: how the table is to be.
        kept_s: how long the feed keeps changes.
        keep_h: how long files that the table no longer has stay for its readers.
        now_ms: the store's time.
    """

    def __init__(
        self,
        store: UrlStore,
        files: DeltaFiles,
        types: TypedFields,
        wanted: Wanted,
        *,
        kept_s: float,
        keep_h: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._store, self._files, self._types, self._wanted = store, files, types, wanted
        self._kept_ms, self._keep_h, self._now_ms = int(kept_s * 1000), keep_h, now_ms

    def round(self, *, rebuild: bool = False) -> Round:
        """
        Bring the table to the store's state, by one commit at most.

        Safe to kill and to repeat anywhere.

        Raises:
            ServiceUnavailable, StoreUnavailable: nothing was committed; call it again.
        """
        state = self._files.state()
        if reason := self._why_rebuild(state, rebuild=rebuild):
            return self._rebuild(state, reason)
        assert state is not None  # noqa: S101 - without one there is a reason
        return self._merge(state)

    def clean(self) -> int:
        """Compact the table, and delete its old files; returns how many."""
        if (state := self._files.state()) is not None:
            self._files.compact(state)
        return self._files.clean(self._keep_h)

    def _why_rebuild(self, state: TableState | None, *, rebuild: bool) -> str:
        wanted = self._wanted
        if state is None:
            return "there was no table"
        if rebuild:
            return "--rebuild"
        if wanted.fields not in (None, state.fields):
            return "it had other fields"
        if wanted.purpose != state.purpose:
            return "it was for another use"
        if wanted.buckets not in (None, state.buckets):
            return "it had another number of buckets"
        at_ms = int(state.cursor[:16], 16)
        if at_ms < self._now_ms() - self._kept_ms:
            moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
            return f"it was of {moment}, and the feed no longer knows what changed since"
        return ""

    def _rebuild(self, before: TableState | None, reason: str) -> Round:
        """Make the table anew from an export; changes during it are merged afterward."""
        wanted = self._wanted
        state = TableState(
            cursor=self._store.feed.end(),
            takedowns=self._store.takedowns.count(),
            buckets=wanted.buckets or (before.buckets if before else 16),
            fields=wanted.fields or (before.fields if before else ()),
            purpose=wanted.purpose,
            number=before.number + 1 if before else 1,
        )
        columns = Columns(self._types, state.fields, state.buckets)
        batches = (columns.batch(records) for records in self._exported(state))
        self._files.replace(batches, columns.schema, state, self._keep_h)
        return Round(self._files.rows(), rebuilt=reason, is_last=False)

    def _exported(self, state: TableState) -> Iterator[list[UrlRecord]]:
        cursor: str | None = None
        while True:
            selection = NodeSelection(cursor=cursor, limit=MOST_URLS // 4)
            records, cursor = self._read(selection, state)
            yield records
            if cursor is None:
                return

    def _read(
        self, selection: NodeSelection, state: TableState
    ) -> tuple[list[UrlRecord], str | None]:
        sink = _Records()
        report = export_urls(
            self._store.zen, sink, selection, fields=state.fields, aliases=False,
            purpose=state.purpose,
        )  # fmt: skip
        return sink.kept, report.cursor

    def _merge(self, state: TableState) -> Round:
        # Both before the reads, so that what happens meanwhile is seen by the next round.
        end, takedowns = self._store.feed.end(), self._store.takedowns.count()
        urls, cursor, is_last = self._changed(state.cursor)
        if is_last:
            cursor = max(cursor, end)
        if takedowns != state.takedowns:
            urls |= self._taken_down()
        after = replace(state, cursor=cursor, takedowns=takedowns, number=state.number + 1)
        if not urls:
            age_ms = int(cursor[:16], 16) - int(state.cursor[:16], 16)
            if takedowns != state.takedowns or age_ms > min(_ADVANCE_MS, self._kept_ms // 4):
                self._files.advance(after)
            return Round()
        records, _ = self._read(NodeSelection(urls=sorted(urls)), state)
        gone = sorted(urls - {record.url for record in records})
        columns = Columns(self._types, state.fields, state.buckets)
        self._files.merge(columns.merge(records, gone), after)
        return Round(len(records), len(gone), is_last=is_last)

    def _changed(self, cursor: str) -> tuple[set[str], str, bool]:
        """URLs of changes after a cursor, the cursor after them, and whether these were all."""
        urls: set[str] = set()
        while len(urls) < MOST_URLS:
            page = self._store.feed.changes(cursor, _READ_CHANGES)
            if page.cursor in (None, cursor):
                return urls, cursor, True
            cursor = page.cursor or cursor
            urls |= {change.url for change in page.items}
        return urls, cursor, False

    def _taken_down(self) -> set[str]:
        """URLs of the table that were taken down, or whose page a taken down URL sent."""
        takedowns = self._store.takedowns
        single = {name for kind, name in takedowns.listed() if kind == "url"}

        def is_refused(url: str | None) -> bool:
            return url is not None and (url in single or takedowns.site_refused(url))

        return {url for url, sender in self._files.urls() if is_refused(url) or is_refused(sender)}
