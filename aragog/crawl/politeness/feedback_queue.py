"""Sends feedback to the limiter in batches, from its own thread."""

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
    Sends items in one batch, `delay_s` after the first one.

    Its daemon thread starts with the first item, and again after a fork. Items that cannot be sent
    are dropped; the limiter then waits until their permits expire.

    Args:
        send: sends one batch, from the thread.
        delay_s: seconds between the first item and the batch.
    """

    def __init__(self, send: Callable[[Sequence[T]], None], delay_s: float) -> None:
        self._send = send
        self._delay_s = delay_s
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._has_items = threading.Event()
        self._closed = threading.Event()
        self._items: list[T] = []
        self._thread: threading.Thread | None = None

    def add(self, item: T) -> None:
        if self._pid != os.getpid():
            self._start()  # a forked process has no thread; its parent sends the earlier items
        with self._lock:
            self._items.append(item)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="limiter feedback", daemon=True
                )
                self._thread.start()
        self._has_items.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._has_items.wait()
            self._closed.wait(self._delay_s)
            self._has_items.clear()
            self.flush()

    def flush(self) -> None:
        """Return when all items added so far have been sent or dropped."""
        if self._pid != os.getpid():
            return
        with self._send_lock:
            with self._lock:
                items, self._items = self._items, []
            if not items:
                return
            try:
                self._send(items)
            except LimiterUnavailable as error:
                log.warning("dropped limiter feedback for %d requests: %s", len(items), error)
            except Exception:
                # If the thread died, later permits would only be released when they expire.
                log.exception("dropped limiter feedback for %d requests", len(items))

    def close(self) -> None:
        """Send the remaining items and stop the thread."""
        self._closed.set()
        self._has_items.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(5)
        self.flush()
