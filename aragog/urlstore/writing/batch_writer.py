"""Writing the results of fetches: pages that share a URL are written one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from aragog.urlstore.records import PageWrite, Written
from aragog.urlstore.takedowns.takedowns import Takedowns
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing import page_updates
from aragog.urlstore.writing.writer import PageWriter


class PageBatchWriter:
    """Writes batches of fetched pages and removes those that were taken down during the write."""

    def __init__(self, writer: PageWriter, takedowns: Takedowns, clock: WriteClock) -> None:
        self._writer = writer
        self._takedowns = takedowns
        self._clock = clock

    def write(self, pages: Sequence[PageWrite]) -> list[Written]:
        """`UrlStore.write_pages`."""
        done: dict[int, Written] = {}
        left = list(pages)
        before = self._takedowns.count()
        for page in pages:
            if page.leads_to_taken_down:
                self._takedowns.drop(page.url, page.fetched_at_ms - 1)
        while left:
            written, left = self._writer.write(left, now_ms := self._clock.now_ms())
            self._clock.deleted_at(now_ms)
            done |= written
        self._takedowns.recheck(
            (url for page in pages for url in page_updates.urls_of(page)), before
        )
        return [done[id(page)] for page in pages]
