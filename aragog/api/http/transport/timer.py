"""A timer that is started and stopped for each request."""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from collections.abc import Callable


class Timer:
    """
    Calls `then` once, `seconds` after `start`, unless it is stopped before.

    It is started and stopped for each request, so it keeps one handle of the loop, which looks
    again when it is too early.
    """

    __slots__ = ("_due_s", "_handle", "_loop", "_seconds", "_then")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, then: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._then = then
        self._due_s: float | None = None
        self._handle: TimerHandle | None = None

    def start(self) -> None:
        """Start the timer unless it is already running."""
        if self._due_s is None:
            self._due_s = self._loop.time() + self._seconds
            if self._handle is None:
                self._handle = self._loop.call_later(self._seconds, self._fire)

    def stop(self) -> None:
        """Cancel the call."""
        self._due_s = None

    def close(self) -> None:
        """Cancel the call, and release the loop's handle; the timer is not started again."""
        self._due_s = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        if self._due_s is None:
            return
        left_s = self._due_s - self._loop.time()
        if left_s > 0:
            self._handle = self._loop.call_later(left_s, self._fire)
        else:
            self._due_s = None
            self._then()
