"""
Run blocking calls in threads, limited in number and time, each kind of call in its own threads.

An event loop submits calls, and gets each back once its thread has run it, or at its deadline. A
call that misses its deadline is abandoned: it occupies its thread until it returns. A store that
hangs therefore occupies only its own threads, and the event loop goes on.

Waking a thread costs more than most calls: on an embedded store one thread therefore takes call
after call while there are any, and another is woken only when it makes no progress. Calls that wait
in the meantime are made together where they can be, and the event loop is woken for several results
at once. On a store behind a network every call wakes a thread, because threads spend their time
waiting there; the first that runs makes a few of the calls that wait, and others find fewer.
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

MOST_TOGETHER = 32
"""Calls that a thread makes together."""
_TOGETHER_EAGER = 8
"""The same behind a network, where the rest is read at the same time by other threads."""
_RESULTS_AT_ONCE = 16
_TICK_S = 0.002
"""While calls are in flight: how often deadlines and the progress of threads are checked."""


class Cancellable(Protocol):
    """A caller that waits for a call and may give up."""

    cancelled: bool


CALLER: ContextVar[Cancellable | None] = ContextVar("caller", default=None)
"""Who waits for the calls that a task makes; None: a caller that stays until its deadline."""


class ThreadCall(ABC):
    """
    A call of `CallThreads`.

    Attributes:
        deadline_s: when `expire` is called, by `time.monotonic`.
    """

    __slots__ = ("deadline_s",)

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s

    @abstractmethod
    def run(self) -> None:
        """Make the call, in a thread; must not raise."""

    def alike(self) -> Callable[[Any], bool] | None:
        """A test for calls that can be made with this one; None: no others. Runs in a thread."""
        return None

    def run_with(self, others: Sequence[Any]) -> None:
        """Make this call and others that are alike, in a thread; must not raise."""
        for call in (self, *others):
            call.run()

    @abstractmethod
    def finish(self) -> None:
        """Use the result, on the event loop, even after `expire`."""

    @abstractmethod
    def expire(self) -> None:
        """Do without the result, on the event loop: the deadline has passed."""

    @property
    def abandoned(self) -> bool:
        """Nobody waits for the result anymore. In any thread."""
        return False

    def wait(self, now_s: float) -> None:  # noqa: B027 - most calls need not know
        """Called on the event loop now and then until the result is there."""


class CallThreads:
    """
    The threads for one kind of call; used on one event loop.

    Args:
        name: prefix of the threads' names.
        threads: how many calls run at once.
        most: how many calls run or wait at once; for `run`, and for callers that look at `busy`.
        eager: wake a thread for each call; for calls that wait for a network.

    Attributes:
        busy: how many calls run or wait, including abandoned ones.
    """

    def __init__(self, name: str, threads: int, most: int, *, eager: bool = True) -> None:
        self.busy = 0
        self._most = most
        self._eager = eager
        self._threads: _Threads[ThreadCall] = _Threads(name, self._run, threads, eager=eager)
        self._done: deque[ThreadCall] = deque()
        self._in_flight: set[ThreadCall] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signalled = False
        self._ticking = False

    @property
    def full(self) -> bool:
        """No further call should be submitted now."""
        return self.busy >= self._most

    def submit(self, call: ThreadCall) -> None:
        """Make a call soon; then `call.finish` is called, and perhaps `call.expire` before."""
        self.busy += 1
        self._begin(call)

    def _begin(self, call: ThreadCall) -> None:
        """Give a call to a thread."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        self._in_flight.add(call)
        self._threads.submit(call)
        if self._done and not self._signalled:  # they need not wait: the event loop is awake
            self._signalled = True
            loop.call_soon(self._flush)
        if not self._ticking:
            self._ticking = True
            loop.call_later(_TICK_S, self._tick)

    async def run(self, call: Callable[[], T], deadline_s: float) -> T:
        """
        Run `call` in a thread and return its result.

        Args:
            call: a function without arguments.
            deadline_s: how long it may take from now.

        Raises:
            Overloaded: too many calls run or wait.
            TimeoutError: it took longer; if it has not begun, it never runs.
        """
        if self.full:
            raise Overloaded
        awaited = _AwaitedCall(call, time.monotonic() + deadline_s)
        self.submit(awaited)
        return await awaited.future

    def close(self) -> None:
        """Release the threads without waiting for running calls; those that wait never run."""
        for call in self._threads.close():
            self.busy -= 1
            self._in_flight.discard(call)
            with suppress(RuntimeError):  # the event loop is closed: no caller waits
                call.expire()

    # In threads

    def _run(self, call: ThreadCall) -> None:
        others = self._others(call)
        if others:
            call.run_with(others)
            self._done.append(call)
            self._done.extend(others)
        else:
            RUNNING.call = call
            call.run()
            RUNNING.call = None  # an idle thread would keep its last result in memory
            self._done.append(call)
        if self._threads.waiting and len(self._done) < _RESULTS_AT_ONCE:
            return  # waking the event loop costs as much as a call; its timer bounds the delay
        self._wake_loop()

    def _others(self, call: ThreadCall) -> Sequence[ThreadCall]:
        fits = call.alike() if self._threads.waiting else None
        most = _TOGETHER_EAGER if self._eager else MOST_TOGETHER
        return () if fits is None else self._threads.also(fits, most - 1)

    def _wake_loop(self) -> None:
        if not self._signalled and self._loop is not None:
            self._signalled = True
            with suppress(RuntimeError):  # the loop was closed in the meantime
                self._loop.call_soon_threadsafe(self._flush)

    # On the event loop

    def _flush(self) -> None:
        self._signalled = False
        done = self._done
        while done:
            call = done.popleft()
            self.busy -= 1
            self._in_flight.discard(call)
            call.finish()

    def _tick(self) -> None:
        self._flush()
        now_s = time.monotonic()
        for call in [call for call in self._in_flight if call.deadline_s <= now_s]:
            self._in_flight.discard(call)
            call.expire()
        for call in self._in_flight:
            call.wait(now_s)
        self._threads.help_if_stuck()
        self._ticking = bool(self._in_flight)
        if self._ticking and self._loop is not None:
            self._loop.call_later(_TICK_S, self._tick)


class _AwaitedCall(ThreadCall, Generic[T]):
    """A function whose result a coroutine awaits."""

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
        except BaseException as error:  # noqa: BLE001 - its caller gets it
            self._error = error

    def finish(self) -> None:
        # Nothing is kept: the traceback of an error leads to this call and to all that it has read,
        # a cycle that only the garbage collector would find, some time later.
        result, self._result, error, self._error = self._result, None, self._error, None
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        elif isinstance(error, StopIteration):  # a future cannot raise it
            self.future.set_exception(RuntimeError("the call raised StopIteration"))
        else:
            self.future.set_exception(error)

    def expire(self) -> None:
        if not self.future.done():
            self.future.set_exception(TimeoutError())


class _Threads(Generic[T]):
    """
    Threads with one queue.

    The thread that was idle for the shortest time is woken: its connections and caches are warm.

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
            del item  # an idle thread would keep its last result in memory
            self._finished += 1
