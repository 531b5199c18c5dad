"""
Keep a table in sync with the store by reading the change feed and merging the changed pages.

A merge writes the current state of changed URLs, so reading a change twice has no effect, and a
killed merge is repeated. Pages that an export would omit are deleted from the table. Takedowns are
not in the feed. If their counter differs from the table's, all URLs in the table are checked. A row
is a page (`page_rows`) or an item (`item_rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from aragog.addons.table.delta_files import DeltaFiles, TableState
from aragog.addons.table.item_rows import ItemTableRows
from aragog.addons.table.page_rows import PageTableRows
from aragog.addons.table.rows import TableRows, schema_digest
from aragog.pages.items import SiteKinds
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.store import UrlStore

_BATCH_SIZE = 500
_ADVANCE_INTERVAL_MS = 3_600_000
"""Without changes, the cursor is committed again once the last commit is older than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """
    The requested state of a table. An option that is None keeps its current value, except
    `purpose`.
    """

    fields: tuple[str, ...] | None = None
    buckets: int | None = None
    purpose: str | None = None
    items: str | None = None
    """For a new table, the kind of items in the rows; None for pages."""
    host: str | None = None
    """Only items on pages of this host and its subdomains."""

    def apply_to(self, before: TableState | None) -> TableState:
        """Return the state for a rebuilt table, without the cursor and takedown counter."""
        is_same = before is not None and self.items in (None, before.items)
        same_table = before if is_same else None
        return TableState(
            cursor="",
            takedowns=0,
            buckets=self.buckets or (before.buckets if before else 16),
            fields=self.fields or (same_table.fields if same_table else ()),
            purpose=self.purpose,
            items=self.items or (same_table.items if same_table else None),
            host=self.host or (same_table.host if same_table else None),
            number=before.number + 1 if before else 1,
        )


@dataclass(frozen=True, slots=True)
class Round:
    """The result of `TableKeeper.round`."""

    written: int = 0
    deleted: int = 0
    noun: str = "pages"
    """What messages call the written rows, such as "pages"."""
    rebuilt: str = ""
    """Why the table was rebuilt from an export; empty if it was not."""
    is_last: bool = True
    """False if the feed already has more changes."""


class TableKeeper:
    """
    Keeps one table current; used by one thread.

    Args:
        store: contains the pages.
        files: the table.
        types: the types of page fields.
        kinds: the kinds of items.
        options: the table's requested state.
        kept_s: how long the feed keeps changes.
        keep_h: how long replaced files are kept for the table's readers.
        now_ms: returns the store's current time.
    """

    def __init__(
        self,
        store: UrlStore,
        files: DeltaFiles,
        types: TypedFields,
        kinds: SiteKinds,
        options: TableOptions,
        *,
        kept_s: float,
        keep_h: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._store, self._files, self._types, self._kinds = store, files, types, kinds
        self._options = options
        self._kept_ms, self._keep_h, self._now_ms = int(kept_s * 1000), keep_h, now_ms

    def round(self, *, rebuild: bool = False) -> Round:
        """
        Bring the table closer to the store's state, with at most one commit.

        If the process is killed, call this again.

        Raises:
            BadInput: the settings have no such items or fields.
            ServiceUnavailable, StoreUnavailable: nothing was committed; call it again.
        """
        state = self._files.state()
        if reason := self._rebuild_reason(state, rebuild=rebuild):
            return self._rebuild(state, reason)
        assert state is not None  # noqa: S101 - otherwise, reason is set
        return self._merge(state)

    def clean(self) -> int:
        """Compact the table and delete its old files. Returns how many were deleted."""
        if (state := self._files.state()) is not None:
            self._files.compact(state)
        return self._files.clean(self._keep_h)

    def _rows(self, state: TableState) -> TableRows:
        if state.items is None:
            return PageTableRows(self._store, self._files, self._types, state)
        return ItemTableRows(self._store, self._files, self._kinds, state)

    def _rebuild_reason(self, state: TableState | None, *, rebuild: bool) -> str:
        options = self._options
        if state is None:
            return "there was no table"
        if rebuild:
            return "--rebuild"
        if options.items not in (None, state.items):
            return f"it had {f'items {state.items}' if state.items else 'pages'}"
        if options.host not in (None, state.host):
            return f"it had the items of {state.host or 'all hosts'}"
        if options.fields not in (None, state.fields):
            return "it had other fields"
        if options.purpose != state.purpose:
            return "it was for another purpose"
        if options.buckets not in (None, state.buckets):
            return "it had a different number of buckets"
        if state.types and state.types != schema_digest(self._rows(state).schema):
            return "the fields or types in the settings have changed"
        at_ms = int(state.cursor[:16], 16)
        if at_ms < self._now_ms() - self._kept_ms:
            date = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
            return (
                f"the table was last updated {date}, and the feed no longer has all later changes"
            )
        return ""

    def _rebuild(self, before: TableState | None, reason: str) -> Round:
        # Read before the export, so the next round merges changes made in the meantime.
        cursor, takedowns = self._store.feed.end(), self._store.takedowns.count()
        state = replace(self._options.apply_to(before), cursor=cursor, takedowns=takedowns)
        rows = self._rows(state)
        state = replace(state, types=schema_digest(rows.schema))
        self._files.replace(rows.exported_batches(), rows.schema, state, self._keep_h)
        return Round(self._files.row_count(), noun=rows.noun, rebuilt=reason, is_last=False)

    def _merge(self, state: TableState) -> Round:
        end, takedowns = self._store.feed.end(), self._store.takedowns.count()
        rows = self._rows(state)
        urls, cursor, is_last = self._read_changes(state.cursor, rows.max_pages)
        if is_last:
            cursor = max(cursor, end)
        new_state = replace(state, cursor=cursor, takedowns=takedowns, number=state.number + 1)
        merge = rows.merge(urls, taken_down=takedowns != state.takedowns)
        if merge is None:
            age_ms = int(cursor[:16], 16) - int(state.cursor[:16], 16)
            is_old = age_ms > min(_ADVANCE_INTERVAL_MS, self._kept_ms // 4)
            if takedowns != state.takedowns or not is_last or is_old:
                self._files.advance(new_state)
            return Round(noun=rows.noun, is_last=is_last)
        self._files.merge(merge.rows, new_state, rows.key)
        return Round(merge.written, merge.deleted, noun=rows.noun, is_last=is_last)

    def _read_changes(self, cursor: str, max_urls: int) -> tuple[set[str], str, bool]:
        """
        Return the URLs of changes after a cursor, the next cursor, and whether the feed has no more
        changes.
        """
        urls: set[str] = set()
        while len(urls) < max_urls:
            page = self._store.feed.changes(cursor, _BATCH_SIZE)
            if page.cursor in (None, cursor):
                return urls, cursor, True
            cursor = page.cursor or cursor
            urls |= {change.url for change in page.items}
        return urls, cursor, False
