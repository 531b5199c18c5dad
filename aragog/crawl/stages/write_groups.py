"""
Batches that wait to be written at the same time are written together.

Batches whose bodies are in one pack are ready at the same instant, and few threads write them. What
a batch costs is mostly by file and statement of the embedded store, or by round trip, not by page:
200 pages at once take three quarters of the CPU of eight times 25.

A batch joins a group while it waits for a thread. Nothing is lost if it is never written: its
message comes back, and pages that are written twice are the same.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from aragog.urlstore.records import PageWrite, Written

MOST_PAGES = 200
"""Pages of a group, unless one batch has more."""

log = logging.getLogger(__name__)

Write = Callable[[Sequence[PageWrite]], Sequence[Written]]


class WaitingWrite:
    """One batch's pages, on their way into the store."""

    def __init__(self, pages: Sequence[PageWrite]) -> None:
        self.pages = pages
        self.results: Sequence[Written] | None = None
        """None: nobody has written the pages, or others failed to."""
        self.over = threading.Event()
        """Set when a thread that took the batch along has ended with it."""


class WriteGroups:
    """The batches of one process that wait to be written; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[WaitingWrite] = deque()

    def join(self, pages: Sequence[PageWrite]) -> WaitingWrite:
        """Let the pages be written by whoever writes next; call `write` with the result."""
        one = WaitingWrite(pages)
        with self._lock:
            self._waiting.append(one)
        return one

    def write(self, mine: WaitingWrite, write: Write) -> Sequence[Written] | None:
        """
        Write the pages of a batch that has joined with those of others that wait.

        None: nothing was written, because no other batch waits or because a group failed. The
        caller writes the batch by itself, and learns what is wrong with it.
        """
        group = self._taken(mine)
        while not group and not mine.over.is_set():
            # Another thread took the batch along; until it has ended, this one takes the next.
            if others := self._taken(None):
                _write_together(others, write)
            else:
                mine.over.wait()
        if len(group) > 1:
            _write_together(group, write)
        return mine.results

    def _taken(self, first: WaitingWrite | None) -> list[WaitingWrite]:
        """
        `first` and the batches that have waited longest, none of which waits anymore.

        Empty if `first` was taken before, or if none waits.
        """
        with self._lock:
            if first is not None:
                if first not in self._waiting:
                    return []
                self._waiting.remove(first)
            group = [first] if first else []
            count = sum(len(one.pages) for one in group)
            while self._waiting and count + len(self._waiting[0].pages) <= MOST_PAGES:
                group.append(self._waiting.popleft())
                count += len(group[-1].pages)
            return group


def _write_together(group: Sequence[WaitingWrite], write: Write) -> None:
    """Write the pages of batches with one call; if it fails, none of them has a result."""
    try:
        results = write([page for one in group for page in one.pages])
        at = 0
        for one in group:
            one.results = results[at : at + len(one.pages)]
            at += len(one.pages)
    except Exception:
        log.info("a group of %d batches could not be written at once", len(group), exc_info=True)
    finally:
        for one in group:
            one.over.set()
