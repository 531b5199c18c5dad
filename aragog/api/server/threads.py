"""
Run blocking calls in a limited number of threads, with deadlines.

An event loop submits calls, and gets each one back once a thread has run it or its deadline has
passed. A call that misses its deadline occupies its thread until it returns. Each kind of call has
its own threads, so a store that hangs does not block other calls.

Waking a thread costs more than most calls. With an embedded store, one thread therefore runs all
calls, and a second one is woken only if the first makes no progress. Calls that arrive in the
meantime run together if possible, and the event loop is woken once for several results. With a
networked store, every call wakes a thread, because threads spend their time waiting. A thread then
takes a few of the queued calls.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from aragog.api.operations.abandonment import RUNNING
from aragog.api.problems import Overloaded

T = TypeVar("T")

MAX_GROUP = 32
"""Maximum number of calls that a thread runs together."""
_MAX_EAGER_GROUP = 8
"""The same for a networked store. Other threads take the remaining calls."""
_MAX_UNREPORTED_CALLS = 16
_TICK_INTERVAL_S = 0.002
"""How often deadlines and the threads' progress are checked."""


class Cancellable(Protocol):
    """A caller that may stop waiting for a call."""

    cancelled: bool


CALLER: ContextVar[Cancellable | None] = ContextVar("caller", default=None)
"""Who made this task's calls. None means that the caller waits until a call's deadline."""


class ThreadCall(ABC):
    """
    A call that `CallThreads` runs.

    Attributes:
        deadline_s: the `time.monotonic` time at which `expire` is called.
    """

    __slots__ = ("deadline_s",)

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s

    @abstractmethod
    def run(self) -> None:
        """Execute the call in a thread. This must not raise."""

    def group_filter(self) -> Callable[[Any], bool] | None:
        """
        Return a predicate for calls that can run together with this one, or None. Called in a
        thread.
        """
        return None

    def run_with(self, others: Sequence[Any]) -> None:
        """Run this call and others in a thread. This must not raise."""
        for call in (self, *others):
            call.run()

    @abstractmethod
    def finish(self) -> None:
        """Use the result. Called on the event loop, even after `expire`."""

    @abstractmethod
    def expire(self) -> None:
        """Handle a missed deadline, without a result. Called on the event loop."""

    @property
    def abandoned(self) -> bool:
        """True if nobody is waiting for the result any longer. Thread-safe."""
        return False

    def update_deadline(self, now_s: float) -> None:  # noqa: B027 - most calls do not use it
        """Shorten the deadline if possible. Called regularly on the event loop."""


class CallThreads:
    """
    The threads for one kind of call, on one event loop.

    Args:
        name: prefix of the threads' names.
        threads: how many calls run at the same time.
        max_calls: how many calls may be running or waiting. `run` enforces this; callers of
            `submit` must check `is_full`.
        eager: True to wake a thread for each call, for calls that wait for a network.

    Attributes:
        call_count: how many calls are running or waiting. Abandoned ones count until they return.
    """

    def __init__(self, name: str, threads: int, max_calls: int, *, eager: bool = True) -> None:
        self.call_count = 0
        self._max_calls = max_calls
        self._eager = eager
        self._threads: _Threads[ThreadCall] = _Threads(name, self._run, threads, eager=eager)
        self._finished_calls: deque[ThreadCall] = deque()
        self._in_flight: set[ThreadCall] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_signalled = False
        self._is_ticking = False

    @property
    def is_full(self) -> bool:
        return self.call_count >= self._max_calls

    def submit(self, call: ThreadCall) -> None:
        """Run a call soon and then call `call.finish`, possibly after `call.expire`."""
        self.call_count += 1
        self._submit_to_threads(call)

    def _submit_to_threads(self, call: ThreadCall) -> None:
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self._in_flight.add(call)
        self._threads.submit(call)
        if (
            self._finished_calls and not self._is_signalled
        ):  # the event loop is awake, so finish them now
            self._is_signalled = True
            loop.call_soon(self._flush)
        if not self._is_ticking:
            self._is_ticking = True
            loop.call_later(_TICK_INTERVAL_S, self._tick)

    async def run(self, call: Callable[[], T], deadline_s: float) -> T:
        """
        Run `call` in a thread and return its result.

        Args:
            call: takes no arguments.
            deadline_s: how long the call may take from now.

        Raises:
            Overloaded: too many calls are running or waiting.
            TimeoutError: the call took longer. If it has not started, it never runs.
        """
        if self.is_full:
            raise Overloaded
        awaited_call = _AwaitedCall(call, time.monotonic() + deadline_s)
        self.submit(awaited_call)
        return await awaited_call.future

    def close(self) -> None:
        """Release the threads without waiting for running calls. Waiting calls never run."""
        for call in self._threads.close():
            self.call_count -= 1
            self._in_flight.discard(call)
            with suppress(RuntimeError):  # the event loop is closed, so no caller waits
                call.expire()

    # The methods below run in threads.

    def _run(self, call: ThreadCall) -> None:
        others = self._take_group(call)
        if others:
            call.run_with(others)
            self._finished_calls.append(call)
            self._finished_calls.extend(others)
        else:
            RUNNING.call = call
            call.run()
            RUNNING.call = None  # otherwise an idle thread would keep its last result in memory
            self._finished_calls.append(call)
        if self._threads.waiting and len(self._finished_calls) < _MAX_UNREPORTED_CALLS:
            return  # waking the event loop costs as much as a call; its timer limits the delay
        self._wake_loop()

    def _take_group(self, call: ThreadCall) -> Sequence[ThreadCall]:
        can_join = call.group_filter() if self._threads.waiting else None
        max_group = _MAX_EAGER_GROUP if self._eager else MAX_GROUP
        return () if can_join is None else self._threads.take_more(can_join, max_group - 1)

    def _wake_loop(self) -> None:
        if not self._is_signalled and self._loop is not None:
            self._is_signalled = True
            with suppress(RuntimeError):  # the loop was closed in the meantime
                self._loop.call_soon_threadsafe(self._flush)

    # The methods below run on the event loop.

    def _flush(self) -> None:
        self._is_signalled = False
        done = self._finished_calls
        while done:
            call = done.popleft()
            self.call_count -= 1
            self._in_flight.discard(call)
            call.finish()

    def _tick(self) -> None:
        self._flush()
        now_s = time.monotonic()
        for call in [call for call in self._in_flight if call.deadline_s <= now_s]:
            self._in_flight.discard(call)
            call.expire()
        for call in self._in_flight:
            call.update_deadline(now_s)
        self._threads.wake_if_stuck()
        self._is_ticking = bool(self._in_flight)
        if self._is_ticking and self._loop is not None:
            self._loop.call_later(_TICK_INTERVAL_S, self._tick)


class _AwaitedCall(ThreadCall, Generic[T]):
    __slots__ = ("_call", "_caller", "_error", "_result", "future")

    def __init__(self, call: Callable[[], T], deadline_s: float) -> None:
        super().__init__(deadline_s)
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._caller = CALLER.get()
        self._call = call
        self._result: Any = None
        self._error: BaseException | None = None

    @property
    def abandoned(self) -> bool:
        caller = self._caller
        return self.future.done() or (caller is not None and caller.cancelled)

    def run(self) -> None:
        if self.future.done():
            return
        try:
            self._result = self._call()
        except BaseException as error:  # noqa: BLE001 - the call's caller gets it
            self._error = error

    def finish(self) -> None:
        # Keep no references. An error's traceback refers to this call and to everything that it
        # read. Only the garbage collector would free that cycle, some time later.
        result, self._result, error, self._error = self._result, None, self._error, None
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        elif isinstance(error, StopIteration):  # a future cannot raise this
            self.future.set_exception(RuntimeError("the call raised StopIteration"))
        else:
            self.future.set_exception(error)

    def expire(self) -> None:
        if not self.future.done():
            self.future.set_exception(TimeoutError())


class _Threads(Generic[T]):
    """
    Threads with one queue.

    The thread that became idle last is woken first, because its connections and caches are warm.

    Args:
        name: prefix of the threads' names.
        run: called with each item. It must not raise.
        threads: how many items run at the same time.
        eager: True to wake a thread for each item; otherwise only `wake_if_stuck` wakes more than
            the first.
    """

    def __init__(self, name: str, run: Callable[[T], None], threads: int, *, eager: bool) -> None:
        self._run = run
        self._eager = eager
        self._waiting: deque[T] = deque()
        self._idle: list[threading.Lock] = []
        self._max_threads = threads
        self._started = 0
        self._finished = 0
        self._finished_at_last_check = -1
        self._name = name
        self._is_stopping = False

    def submit(self, item: T) -> None:
        """Run an item soon. Only one thread may call this."""
        self._waiting.append(item)
        if self._eager or len(self._idle) == self._started:
            self._wake()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take_more(self, can_join: Callable[[T], bool], limit: int) -> list[T]:
        """
        Take more items to run together with the caller's current one. Takes the oldest items, up to
        `limit`, and stops at the first one that cannot join.
        """
        result: list[T] = []
        with suppress(IndexError):
            while len(result) < limit:
                item = self._waiting.popleft()
                if not can_join(item):
                    self._waiting.appendleft(item)
                    break
                result.append(item)
        return result

    def wake_if_stuck(self) -> None:
        """Wake another thread if items are waiting and none was finished since the last call."""
        if self._waiting and self._finished == self._finished_at_last_check:
            self._wake()
        self._finished_at_last_check = self._finished

    def close(self) -> list[T]:
        """Stop idle threads now and busy ones after their item. Returns the queued items."""
        self._is_stopping = True
        queued = list(self._waiting)
        self._waiting.clear()
        while self._idle:
            self._idle.pop().release()
        return queued

    def _wake(self) -> None:
        try:
            self._idle.pop().release()
        except IndexError:
            if self._started < self._max_threads and not self._is_stopping:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        ready = threading.Lock()
        ready.acquire()
        waiting, idle, run = self._waiting, self._idle, self._run
        while not self._is_stopping:
            try:
                item = waiting.popleft()
            except IndexError:
                idle.append(ready)
                if waiting or self._is_stopping:
                    # An item arrived after the check and before this thread was idle.
                    self._wake()
                ready.acquire()
                continue
            run(item)
            del item  # otherwise an idle thread would keep its last result in memory
            self._finished += 1
