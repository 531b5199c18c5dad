"""
The main texts for the file of a run, found while its other pages are still fetched.

Finding a text takes more CPU than fetching its page, and a run waits for sites most of the time. So
texts are begun when their pages are stored, some at a time, up to a bound of memory; the others are
begun as the file is written, ahead of the row that needs them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import AT_ONCE
from aragog.settings import PipelineSettings
from aragog.urlstore.store import UrlStore

MOST_BYTES = 64 << 20
AHEAD = 2 * AT_ONCE
"""Texts that are begun at a time: the processes always have a next one."""

Fields = Mapping[str, bytes]


class RunTexts:
    """
    Finds the texts of a run's pages. For one thread; close it, or let it end with the process.

    Args:
        settings: who finds texts, and the limits of a page.
        names: the fields, of `page.text` and `page.markdown`; (): nothing is ever begun.
        most_bytes: of texts that wait for the file to be written.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        names: tuple[str, ...],
        *,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._names = names
        self._most_bytes = most_bytes
        # Nobody else waits for these processes, so one site may have all of them.
        self._texts = PageTexts(settings, slow_site_s=float("inf"))
        self._threads = ThreadPoolExecutor(AHEAD, thread_name_prefix="texts")
        self._later: deque[str] = deque()
        self._begun: dict[str, Future[Fields]] = {}
        self._changed = threading.Lock()
        self._running = 0
        self._bytes = 0
        """Of texts that were found and not taken."""

    def begin(self, store: UrlStore, url: str) -> None:
        """Find the texts of a page soon."""
        if self._names:
            self._later.append(url)
            self.go_on(store)

    def go_on(self, store: UrlStore) -> None:
        """Begin what there is room for; called often."""
        while self._later and self._running < AHEAD and self._bytes < self._most_bytes:
            url = self._later.popleft()
            if url not in self._begun:
                self._submit(store, url)

    def fields(self, store: UrlStore, url: str, names: tuple[str, ...]) -> Fields:
        """A page's texts as stored fields; raises as `PageTexts.fields`."""
        if url not in self._begun:
            with suppress(ValueError):
                self._later.remove(url)
            self._submit(store, url)
        self.go_on(store)
        found = self._begun.pop(url).result()
        self._count(0, -_size(found))
        return {name: found[name] for name in names if name in found}

    def _submit(self, store: UrlStore, url: str) -> None:
        self._count(1, 0)
        self._begun[url] = self._threads.submit(self._found, store, url)

    def _found(self, store: UrlStore, url: str) -> Fields:
        size = 0
        try:
            found = self._texts.fields(store, url, self._names)
            size = _size(found)
            return found
        finally:
            self._count(-1, size)

    def _count(self, running: int, size: int) -> None:
        with self._changed:
            self._running += running
            self._bytes += size

    def close(self) -> None:
        """End the processes and threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._texts.close()


def _size(fields: Fields) -> int:
    return sum(map(len, fields.values()))
