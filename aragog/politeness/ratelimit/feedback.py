"""Telling in the background, many things in one round trip, what nobody waits for."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from aragog.errors import LimiterUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")


class FeedbackQueue(Generic[T]):
    """
    Collects things and tells them together, `after_s` after the first.

    Its thread starts with the first thing, again after a fork, and never keeps a process alive.
    What cannot be told is dropped: the receiver must do without it after a timeout of its own.

    Args:
        tell: called from the thread, with what came together.
        after_s: seconds between the first thing and the telling.
    """

    def __init__(self, tell: Callable[[Sequence[T]], None], after_s: float) -> None:
        self._tell = tell
        self._after_s = after_s
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._something = threading.Event()
        self._closed = threading.Event()
        self._things: list[T] = []
        self._thread: threading.Thread | None = None

    def add(self, thing: T) -> None:
        """Have it told soon; returns at once."""
        if self._pid != os.getpid():
            self._start()  # a fork copies neither the thread nor what its parent is about to tell
        with self._lock:
            self._things.append(thing)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
                self._thread.start()
        self._something.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._something.wait()
            self._closed.wait(self._after_s)
            self._something.clear()
            self.flush()

    def flush(self) -> None:
        """Return when all that was added before has been told."""
        if self._pid != os.getpid():
            return
        with self._telling:
            with self._lock:
                things, self._things = self._things, []
            if not things:
                return
            try:
                self._tell(things)
            except LimiterUnavailable as error:
                log.warning("%d departures were not told: %s", len(things), error)

    def close(self) -> None:
        """Tell the rest and end the thread."""
        self._closed.set()
        self._something.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(5)
        self.flush()
