"""
Threads that run the calls of one kind.

Waking a thread costs more than most calls: on an embedded store one thread therefore takes call
after call while there are any, and another is woken only when it makes no progress. On a store
behind a network every call wakes a thread, because threads spend their time waiting there.

The thread that was idle for the shortest time is woken: its connections and caches are warm.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Workers(Generic[T]):
    """
    Threads with one queue.

    Args:
        name: prefix of the threads' names.
        run: called with each item; must not raise.
        threads: how many items run at once.
        eager: wake a thread for each item; otherwise one, and more through `help_if_stuck`.
    """

    def __init__(self, name: str, run: Callable[[T], None], threads: int, *, eager: bool) -> None:
        self._run = run
        self._eager = eager
        self._waiting: deque[T] = deque()
        self._idle: list[threading.Lock] = []
        self._size = threads
        self._started = 0
        self._finished = 0
        self._finished_before = -1
        self._name = name
        self._stopping = False

    def submit(self, item: T) -> None:
        """Run an item soon. Called by one thread only."""
        self._waiting.append(item)
        if self._eager or len(self._idle) == self._started:
            self._wake()

    @property
    def waiting(self) -> int:
        """How many items no thread has taken yet."""
        return len(self._waiting)

    def also(self, fits: Callable[[T], bool], most: int) -> list[T]:
        """
        Further items for the caller to run with the one that it has.

        Those that wait longest, as long as they fit, up to `most`.
        """
        result: list[T] = []
        with suppress(IndexError):
            while len(result) < most:
                item = self._waiting.popleft()
                if not fits(item):
                    self._waiting.appendleft(item)
                    break
                result.append(item)
        return result

    def help_if_stuck(self) -> None:
        """Wake another thread if items wait and none was finished since the last call."""
        if self._waiting and self._finished == self._finished_before:
            self._wake()
        self._finished_before = self._finished

    def close(self) -> list[T]:
        """End the threads that wait; those in a call end after it. Returns what none has taken."""
        self._stopping = True
        left = list(self._waiting)
        self._waiting.clear()
        while self._idle:
            self._idle.pop().release()
        return left

    def _wake(self) -> None:
        try:
            self._idle.pop().release()
        except IndexError:
            if self._started < self._size and not self._stopping:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        ready = threading.Lock()
        ready.acquire()
        waiting, idle, run = self._waiting, self._idle, self._run
        while not self._stopping:
            try:
                item = waiting.popleft()
            except IndexError:
                idle.append(ready)
                if waiting or self._stopping:
                    # An item came after the look and before this thread was idle.
                    self._wake()
                ready.acquire()
                continue
            run(item)
            self._finished += 1
