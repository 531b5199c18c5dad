"""
Writes batches of pages, and deletes what may not be kept.

A page may redirect to a taken-down URL, its site may forbid keeping it, or it may be taken down
while it is being written.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from aragog.urlstore.kept_for import KEPT_FOR, USUAL, other_permitted_crawls
from aragog.urlstore.records import PageWrite, Written
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.write_clock import MAX_AHEAD_MS, WriteClock
from aragog.urlstore.writing.fetch_times import fetched_at
from aragog.urlstore.writing.writer import PageWriter

log = logging.getLogger(__name__)


class PageBatchWriter:
    """Writes batches, and removes pages that were taken down during the write."""

    def __init__(
        self,
        writer: PageWriter,
        takedowns: Takedowns,
        clock: WriteClock,
        unique: frozenset[str] = frozenset(),
    ) -> None:
        self._writer = writer
        self._takedowns = takedowns
        self._clock = clock
        self._unique = unique

    def _without_unique_fields(self, page: PageWrite) -> PageWrite:
        """Remove unique fields. Another page may have their values, and the rest must be stored."""
        if self._unique.isdisjoint(page.fields):
            return page
        fields = {name: v for name, v in page.fields.items() if name not in self._unique}
        return replace(page, fields=fields)

    def write(self, pages: Sequence[PageWrite]) -> list[Written]:
        """See `UrlStore.write_pages`."""
        pages = list(map(self.timely, pages))
        if self._unique:
            pages = list(map(self._without_unique_fields, pages))
        before = self._takedowns.count()
        for page in pages:
            self._delete_forbidden(page)
        written_by_id: dict[int, Written] = {}
        remaining = list(pages)
        while remaining:
            written, remaining = self._writer.write(remaining, now_ms := self._clock.now_ms())
            self._clock.record_deletion(now_ms)
            written_by_id |= written
        urls = (url for page in pages for url in page.urls)
        self._takedowns.recheck(urls, before)
        results = [written_by_id[id(page)] for page in pages]
        unstored = [page for page, result in zip(pages, results, strict=True) if result.stale]
        if unstored:
            self._takedowns.complete({url for page in unstored for url in page.urls})
        _log_older(results)
        return results

    def timely(self, page: PageWrite) -> PageWrite:
        """Return the page, dated now if its time is over a minute ahead of the store's clock."""
        at_ms = self._clock.capped(page.fetched_at_ms, f"fetch of {page.url}")
        return page if at_ms == page.fetched_at_ms else fetched_at(page, at_ms)

    def _delete_forbidden(self, page: PageWrite) -> None:
        before_ms = page.fetched_at_ms - 1
        if page.leads_to_taken_down:
            self._takedowns.drop(page.url, before_ms)
        for url in dict.fromkeys((page.url, page.final_url)):
            if page.withdrawn:
                self._withdraw(page, url, before_ms)
            elif page.without_content:
                self._takedowns.drop_content(url, before_ms)

    def _withdraw(self, page: PageWrite, url: str, before_ms: int) -> None:
        """Delete data that was fetched from a URL, unless another crawl may keep it."""
        crawl = str(page.facts.get(KEPT_FOR) or USUAL)
        if page.expired or not other_permitted_crawls(
            self._takedowns.facts_of_sent(url), page.facts, crawl
        ):
            self._takedowns.withdraw(url, before_ms)


def _log_older(results: Iterable[Written]) -> None:
    """
    Log the fetches that were dropped as older.

    Batches may overtake each other by a few seconds. A larger difference may be caused by a wrong
    clock, so it is logged as a warning.
    """
    older = [result for result in results if result.older_by_ms]
    if not older:
        return
    latest = max(older, key=lambda result: result.older_by_ms)
    log.log(
        logging.WARNING if latest.older_by_ms > MAX_AHEAD_MS else logging.INFO,
        "%d pages were not stored, because the stored pages were fetched later; %s by %.1f s",
        len(older), latest.canonical_url, latest.older_by_ms / 1000,
    )  # fmt: skip
