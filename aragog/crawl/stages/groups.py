"""
Lets batches that wait for a thread be handled together.

Only a few of a process's threads read the spool and write to the store. Most of a batch's cost is
per call, statement or round trip, so a thread takes all waiting batches.

A batch joins a group while it waits for a thread. If its turn never comes, its message is
redelivered.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")


class Waiting(Generic[T, R]):
    """The items of a batch waiting for a thread."""

    def __init__(self, items: Sequence[T]) -> None:
        self.items = items
        self.results: Sequence[R] | None = None
        """None until the items are handled, and if handling the group fails."""
        self.over = threading.Event()
        """Set when the thread that took the batch has finished with it."""


class Groups(Generic[T, R]):
    """
    One process's batches waiting for a thread. Thread-safe.

    Args:
        max_items: the maximum number of items in a group, unless a single batch has more.
    """

    def __init__(self, max_items: int) -> None:
        self._max_items = max_items
        self._lock = threading.Lock()
        self._waiting: deque[Waiting[T, R]] = deque()

    def join(self, items: Sequence[T]) -> Waiting[T, R]:
        """Let the next thread include these items. Call `handle` with the result."""
        one = Waiting[T, R](items)
        with self._lock:
            self._waiting.append(one)
        return one

    def handle(
        self, mine: Waiting[T, R], handle: Callable[[Sequence[T]], Sequence[R]]
    ) -> Sequence[R] | None:
        """
        Handle a batch that has joined, together with other waiting batches.

        Returns None if no other batch waits or the group failed. The caller then handles the batch
        alone, and sees its error, if any.
        """
        group = self._taken(mine)
        while not group and not mine.over.is_set():
            # Another thread took this batch. Until it has finished, this thread takes the next
            # ones.
            if others := self._taken(None):
                _handle_together(others, handle)
            else:
                mine.over.wait()
        if len(group) > 1:
            _handle_together(group, handle)
        return mine.results

    def _taken(self, first: Waiting[T, R] | None) -> list[Waiting[T, R]]:
        """
        Take `first` and the batches that have waited longest.

        Returns an empty list if another thread has taken `first`, or if no batch waits.
        """
        with self._lock:
            if first is not None:
                if first not in self._waiting:
                    return []
                self._waiting.remove(first)
            group = [first] if first else []
            count = sum(len(one.items) for one in group)
            while self._waiting and count + len(self._waiting[0].items) <= self._max_items:
                group.append(self._waiting.popleft())
                count += len(group[-1].items)
            return group


def _handle_together(
    group: Sequence[Waiting[T, R]], handle: Callable[[Sequence[T]], Sequence[R]]
) -> None:
    """Handle several batches with one call. If it fails, none of them has a result."""
    try:
        results = handle([item for one in group for item in one.items])
        at = 0
        for one in group:
            one.results = results[at : at + len(one.items)]
            at += len(one.items)
    except Exception:
        log.info("a group of %d batches could not be handled together", len(group), exc_info=True)
    finally:
        for one in group:
            one.over.set()
