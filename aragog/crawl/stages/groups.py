"""
Combines the batches that wait for a thread, so that they are handled together.

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


class WaitingBatch(Generic[T, R]):
    """The items of a batch waiting for a thread."""

    def __init__(self, items: Sequence[T]) -> None:
        self.items = items
        self.results: Sequence[R] | None = None
        """None until the items are handled. Stays None if handling the group fails."""
        self.done = threading.Event()
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
        self._waiting: deque[WaitingBatch[T, R]] = deque()

    def join(self, items: Sequence[T]) -> WaitingBatch[T, R]:
        """Let the next thread include these items. Call `handle` with the result."""
        batch = WaitingBatch[T, R](items)
        with self._lock:
            self._waiting.append(batch)
        return batch

    def handle(
        self, batch: WaitingBatch[T, R], handle: Callable[[Sequence[T]], Sequence[R]]
    ) -> Sequence[R] | None:
        """
        Handle a batch that has joined, together with other waiting batches.

        Returns None if no other batch waits or the group failed. The caller then handles the batch
        alone, and sees its error, if any.
        """
        group = self._take_group(batch)
        while not group and not batch.done.is_set():
            # Another thread took this batch. Until it has finished, this thread takes the next
            # ones.
            if other_group := self._take_group(None):
                _handle_together(other_group, handle)
            else:
                batch.done.wait()
        if len(group) > 1:
            _handle_together(group, handle)
        return batch.results

    def _take_group(self, first: WaitingBatch[T, R] | None) -> list[WaitingBatch[T, R]]:
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
            count = sum(len(batch.items) for batch in group)
            while self._waiting and count + len(self._waiting[0].items) <= self._max_items:
                group.append(self._waiting.popleft())
                count += len(group[-1].items)
            return group


def _handle_together(
    group: Sequence[WaitingBatch[T, R]], handle: Callable[[Sequence[T]], Sequence[R]]
) -> None:
    """Handle several batches with one call. If it fails, none of them has a result."""
    try:
        results = handle([item for batch in group for item in batch.items])
        start = 0
        for batch in group:
            batch.results = results[start : start + len(batch.items)]
            start += len(batch.items)
    except Exception:
        log.info("a group of %d batches could not be handled together", len(group), exc_info=True)
    finally:
        for batch in group:
            batch.done.set()
