"""
Extract main text for a run's output file while pages are still being fetched.

Extracting a text takes more CPU time than fetching its page, but a run mostly waits for sites. So
extraction starts when a page is stored, for a few pages at a time, up to a memory limit. The other
texts are extracted while the file is written.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import MAX_PROCESSES
from aragog.settings import PipelineSettings
from aragog.urlstore.store import UrlStore

MAX_UNUSED_BYTES = 64 << 20
MAX_EXTRACTIONS = 2 * MAX_PROCESSES
"""Maximum extractions in flight. Each process then always has another text waiting."""

Fields = Mapping[str, bytes]


class RunTexts:
    """
    Extracts the text of a run's pages. Not thread-safe.

    Args:
        settings: the limits for each page.
        names: which of `page.text` and `page.markdown` to extract.
        max_bytes: maximum total size of texts not yet written.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        names: tuple[str, ...],
        *,
        max_bytes: int = MAX_UNUSED_BYTES,
    ) -> None:
        self._names = names
        self._max_bytes = max_bytes
        # No other run uses these processes, so one site may occupy all of them.
        self._texts = PageTexts(settings, slow_site_s=float("inf"))
        self._threads = ThreadPoolExecutor(MAX_EXTRACTIONS, thread_name_prefix="texts")
        self._queued: deque[str] = deque()
        self._futures: dict[str, Future[Fields]] = {}
        self._lock = threading.Lock()
        self._running_count = 0
        self._unused_bytes = 0
        """Total size of the extracted texts that are not written yet."""

    def enqueue(self, store: UrlStore, url: str) -> None:
        """Queue a page for the extraction of its text during the run."""
        if self._names:
            self._queued.append(url)
            self.start_queued(store)

    def start_queued(self, store: UrlStore) -> None:
        """Start extracting queued texts, within the limits. Call this often."""
        while (
            self._queued
            and self._running_count < MAX_EXTRACTIONS
            and self._unused_bytes < self._max_bytes
        ):
            url = self._queued.popleft()
            if url not in self._futures:
                self._submit(store, url)

    def fields(self, store: UrlStore, url: str, names: tuple[str, ...]) -> Fields:
        """Return a page's texts as stored fields; raises the same errors as `PageTexts.fields`."""
        if url not in self._futures:
            with suppress(ValueError):
                self._queued.remove(url)
            self._submit(store, url)
        self.start_queued(store)
        texts = self._futures.pop(url).result()
        self._adjust_totals(0, -_total_bytes(texts))
        return {name: texts[name] for name in names if name in texts}

    def _submit(self, store: UrlStore, url: str) -> None:
        self._adjust_totals(1, 0)
        self._futures[url] = self._threads.submit(self._extract, store, url)

    def _extract(self, store: UrlStore, url: str) -> Fields:
        size = 0
        try:
            texts = self._texts.fields(store, url, self._names)
            size = _total_bytes(texts)
            return texts
        finally:
            self._adjust_totals(-1, size)

    def _adjust_totals(self, running: int, size: int) -> None:
        with self._lock:
            self._running_count += running
            self._unused_bytes += size

    def close(self) -> None:
        """Stop the processes and threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._texts.close()


def _total_bytes(fields: Fields) -> int:
    return sum(map(len, fields.values()))
