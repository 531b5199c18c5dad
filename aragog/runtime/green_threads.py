"""
Green threads let many network waits share one thread of the operating system.

A fetching worker has hundreds of requests in progress. With one thread per request, switching
threads took a fifth of its CPU time. `GreenPool.batch` runs calls as greenlets in the submitting
thread. A call yields whenever it uses this module to wait for a socket (`wait_readable`,
`wait_writable`), for a time (`GreenClock.sleep_s`), or for another thread (`GreenEvent`). Code that
holds a `threading.Lock` must not wait in these ways. Outside of a batch, waiting blocks the thread
as usual.
"""

from __future__ import annotations

import errno
import heapq
import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Generic, ParamSpec, Self, TypeVar, cast

from greenlet import getcurrent, greenlet

from aragog.runtime.clock import SystemClock

P = ParamSpec("P")
T = TypeVar("T")
_clock = SystemClock()
_timer_numbers = count()
_this_thread = threading.local()
MAX_EXPIRED_TIMERS = 1_000
"""Timers of finished waits are removed once about this many have accumulated."""


class _GreenWait:
    """One wait of one green thread. Either an event or a timer ends it."""

    __slots__ = ("green", "hub", "is_over")

    def __init__(self, hub: _Hub) -> None:
        self.hub = hub
        self.green = getcurrent()
        self.is_over = False

    def end(self, *, happened: bool) -> None:
        """Resume the green thread. Call this in its thread."""
        if not self.is_over:
            self.is_over = True
            self.hub.ready.append((self.green, happened))

    def wait_at_most(self, seconds: float | None) -> bool:
        """Yield until the wait ends. Returns False if it timed out."""
        return self.hub.yield_until(self, seconds)


class _Hub:
    """
    Schedules one thread's green threads. Those that are ready run before those whose wait has just
    ended.
    """

    def __init__(self) -> None:
        self.running_calls = 0
        self.ready: deque[tuple[greenlet, object]] = deque()
        self._green = greenlet(self._run)
        self._poll = select.epoll()
        self._sockets: dict[int, _GreenWait] = {}
        self._timers: list[tuple[float, int, _GreenWait]] = []
        self._waiting = 0
        self._ended_by_others: deque[_GreenWait] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poll.register(self._wake_fd, select.EPOLLIN)

    def __del__(self) -> None:
        self._poll.close()
        os.close(self._wake_fd)

    @property
    def dead(self) -> bool:
        """True if a signal handler's exception has ended the hub and its threads."""
        return bool(self._green.dead)

    def start(self, function: Callable[[], None]) -> None:
        """Run `function` in a new green thread as soon as this thread waits."""

        def run(_: object) -> None:
            try:
                function()
            finally:
                self.running_calls -= 1

        self.running_calls += 1
        self.ready.append((greenlet(run, self._green), None))

    def yield_until(self, wait: _GreenWait, seconds: float | None) -> bool:
        """Run other green threads until `wait` has ended. Returns False on a timeout."""
        if seconds is not None:
            at_s = _clock.monotonic_s() + max(0.0, seconds)
            heapq.heappush(self._timers, (at_s, next(_timer_numbers), wait))
        self._waiting += 1
        try:
            return cast(bool, self._green.switch())
        finally:
            self._waiting -= 1
            wait.is_over = True

    def wait_for_socket(self, fd: int, events: int, seconds: float) -> bool:
        """Yield until the socket is ready. Returns False on a timeout."""
        wait = _GreenWait(self)
        self._poll.register(fd, events)
        self._sockets[fd] = wait
        try:
            return self.yield_until(wait, seconds)
        finally:
            del self._sockets[fd]
            self._poll.unregister(fd)

    def end_from_any_thread(self, wait: _GreenWait) -> None:
        """End a wait. Can be called from any thread."""
        self._ended_by_others.append(wait)
        os.eventfd_write(self._wake_fd, 1)

    def _run(self) -> None:
        while True:
            while self.ready:
                green, value = self.ready.popleft()
                green.switch(value)
            for fd, _ in self._poll.poll(self._seconds_until_timer()):
                if fd == self._wake_fd:
                    self._process_ended()
                elif fd in self._sockets:
                    self._sockets[fd].end(happened=True)
            self._end_expired()

    def _process_ended(self) -> None:
        os.eventfd_read(self._wake_fd)
        while self._ended_by_others:
            self._ended_by_others.popleft().end(happened=True)

    def _seconds_until_timer(self) -> float | None:
        """Return the time until the next timer fires, or None."""
        if len(self._timers) > MAX_EXPIRED_TIMERS + 2 * self._waiting:
            self._timers = [timer for timer in self._timers if not timer[2].is_over]
            heapq.heapify(self._timers)
        while self._timers and self._timers[0][2].is_over:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - _clock.monotonic_s()) if self._timers else None

    def _end_expired(self) -> None:
        now_s = _clock.monotonic_s()
        while self._timers and self._timers[0][0] <= now_s:
            heapq.heappop(self._timers)[2].end(happened=False)


def _busy_hub() -> _Hub | None:
    """Return this thread's hub if other green threads can run."""
    hub: _Hub | None = getattr(_this_thread, "hub", None)
    return hub if hub is not None and hub.running_calls else None


def wait_readable(sock: socket.socket, seconds: float) -> None:
    """Wait until the socket has data or is closed. Raises TimeoutError after `seconds`."""
    _wait_for_socket(sock, select.EPOLLIN, seconds)


def wait_writable(sock: socket.socket, seconds: float) -> None:
    """Wait until the socket accepts data or is closed. Raises TimeoutError after `seconds`."""
    _wait_for_socket(sock, select.EPOLLOUT, seconds)


def _wait_for_socket(sock: socket.socket, events: int, seconds: float) -> None:
    hub = _busy_hub()
    if sock.fileno() < 0:
        raise OSError(errno.EBADF, "the socket was closed")
    if hub is not None:
        ready = hub.wait_for_socket(sock.fileno(), events, seconds)
    else:
        poll = select.poll()
        poll.register(sock, events)  # EPOLLIN and EPOLLOUT are POLLIN and POLLOUT
        ready = bool(poll.poll(max(0.0, seconds) * 1000))
    if not ready:
        raise TimeoutError("timed out")


class GreenClock(SystemClock):
    """The system clock. While one green thread sleeps, others run."""

    def sleep_s(self, seconds: float) -> None:
        hub = _busy_hub()
        if hub is None or seconds <= 0:
            super().sleep_s(seconds)
        else:
            _GreenWait(hub).wait_at_most(seconds)


class GreenEvent:
    """Like `threading.Event`, but only one thread may wait. It may be a green thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._wait: _GreenWait | threading.Event | None = None

    def set(self) -> None:
        """Wake the waiter."""
        with self._lock:
            self._is_set, wait = True, self._wait
        if isinstance(wait, threading.Event):
            wait.set()
        elif wait is not None:
            wait.hub.end_from_any_thread(wait)

    def wait(self, seconds: float | None = None) -> bool:
        """Return True if the event was set within `seconds`. With None, wait without a limit."""
        hub = _busy_hub()
        with self._lock:
            if self._is_set:
                return True
            wait = self._wait = threading.Event() if hub is None else _GreenWait(hub)
        if isinstance(wait, threading.Event):
            wait.wait(seconds)
        else:
            wait.wait_at_most(seconds)
        return self._is_set


class GreenCall(Generic[T]):
    """One call of a batch."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._value: T | None = None
        self._error: BaseException | None = None
        self._waiter: _GreenWait | None = None
        self.is_over = False

    def run(self) -> None:
        """Run the call in its green thread."""
        try:
            self._value = self._function()
        except BaseException as error:  # noqa: BLE001 - raised by `result`
            self._error = error
        self.is_over = True
        if self._waiter is not None:
            self._waiter.end(happened=True)

    def finish(self) -> None:
        """Wait for the call to end, in its batch's thread."""
        if not self.is_over:
            self._waiter = _GreenWait(_this_thread.hub)
            self._waiter.wait_at_most(None)

    def result(self) -> T:
        """Wait for the call to end, and return its result or raise its exception."""
        self.finish()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


class GreenPool:
    """
    Limits how many calls run concurrently in one process, across all batches.

    Args:
        size: the limit. Further calls wait in order of arrival.
        urgent_extra: how many urgent calls may run in addition to the limit.
    """

    def __init__(self, size: int, urgent_extra: int = 0) -> None:
        self._free = size
        self._urgent_extra = urgent_extra
        self._lock = threading.Lock()
        self._waiters: deque[GreenEvent] = deque()
        self._urgent_waiters: deque[GreenEvent] = deque()

    def batch(self) -> GreenBatch:
        """Create a batch of calls. It is a context manager that waits for all calls on exit."""
        return GreenBatch(self)

    def acquire(self, *, urgent: bool = False) -> None:
        """Wait until fewer than the maximum number of calls run."""
        with self._lock:
            if self._free > (-self._urgent_extra if urgent else 0):
                self._free -= 1
                return
            turn = GreenEvent()
            (self._urgent_waiters if urgent else self._waiters).append(turn)
        turn.wait()

    def release(self) -> None:
        """Let the next waiting call run. Urgent calls go first."""
        with self._lock:
            self._free += 1
            if self._urgent_waiters:
                turn = self._urgent_waiters.popleft()
            elif self._waiters and self._free > 0:
                turn = self._waiters.popleft()
            else:
                return
            self._free -= 1
        turn.set()


class GreenBatch:
    """Calls that run concurrently in the submitting thread, while it waits."""

    def __init__(self, pool: GreenPool) -> None:
        self._pool = pool
        self._calls: list[GreenCall[Any]] = []

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> GreenCall[T]:
        """Submit a call. It starts as soon as this thread waits; see `GreenCall.result`."""
        return self._submit(lambda: function(*args, **kwargs), urgent=False)

    def submit_urgent(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> GreenCall[T]:
        """Submit an urgent call. It only waits for other urgent calls."""
        return self._submit(lambda: function(*args, **kwargs), urgent=True)

    def _submit(self, function: Callable[[], T], *, urgent: bool) -> GreenCall[T]:
        hub: _Hub | None = getattr(_this_thread, "hub", None)
        if hub is None or hub.dead:
            hub = _this_thread.hub = _Hub()
        call = GreenCall(function)
        self._calls.append(call)
        hub.start(partial(self._run, call, urgent=urgent))
        return call

    def _run(self, call: GreenCall[Any], *, urgent: bool) -> None:
        self._pool.acquire(urgent=urgent)
        try:
            call.run()
        finally:
            self._pool.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for call in self._calls:
            call.finish()
