"""
Run store calls in threads, limited in number and time, so that they do not block the event loop.

A call that misses its deadline is abandoned: its caller gets a TimeoutError, and its thread counts
as busy until the call returns. A store that hangs therefore occupies only its own threads. Further
requests get 503, and the event loop continues.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from aragog.api.problems import Overloaded
from aragog.api.workers import Workers

T = TypeVar("T")
_Item = tuple[Future[Any], Callable[[], Any]]


class StoreThreads:
    """
    Threads for one kind of store call.

    Args:
        name: prefix of the threads' names.
        threads: how many calls run at once.
        most: how many calls run or wait at once.
    """

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._workers: Workers[_Item] = Workers(name, _run, threads, eager=True)
        self._most = most
        self._lock = threading.Lock()
        self.busy = 0
        """How many calls run or wait, including abandoned ones."""

    async def run(self, call: Callable[[], T], deadline_s: float) -> T:
        """
        Run `call` in a thread and return its result.

        Raises:
            Overloaded: too many calls run or wait.
            TimeoutError: it took longer than `deadline_s`; if it has not begun, it never runs.
        """
        future = self._submit(call)
        async with asyncio.timeout(deadline_s):
            return await asyncio.wrap_future(future)

    def start(
        self, call: Callable[[], T], deadline_s: float, done: Callable[[T | Exception], None]
    ) -> None:
        """
        `run` without a task: `done` is called once on the event loop, with the result or an error.

        Raises:
            Overloaded: too many calls run or wait; `done` is not called.
        """
        loop, future = asyncio.get_running_loop(), self._submit(call)
        started = _Started(future, done)
        timer = loop.call_later(deadline_s, started.expire)

        def finish(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile: no caller waits
                loop.call_soon_threadsafe(started.finish, timer)

        future.add_done_callback(finish)

    def _submit(self, call: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self.busy >= self._most:
                raise Overloaded
            self.busy += 1
        future: Future[T] = Future()
        future.add_done_callback(self._done)
        self._workers.submit((future, call))
        return future

    def _done(self, _future: Future[Any]) -> None:
        with self._lock:
            self.busy -= 1

    def close(self) -> None:
        """Release the threads without waiting for running calls."""
        for future, _ in self._workers.close():
            future.cancel()


def _run(item: _Item) -> None:
    future, call = item
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - its caller gets it
        future.set_exception(error)
    else:
        future.set_result(result)


class _Started(Generic[T]):
    """A call whose caller waits for the result until its deadline."""

    __slots__ = ("_done", "_future")

    def __init__(self, future: Future[T], done: Callable[[T | Exception], None]) -> None:
        self._future = future
        self._done: Callable[[T | Exception], None] | None = done

    def expire(self) -> None:
        """Report that it took too long; if it has not begun, it never runs."""
        self._future.cancel()
        self._report(TimeoutError())

    def finish(self, timer: asyncio.TimerHandle) -> None:
        """Report the result, unless its deadline has passed."""
        timer.cancel()
        if self._future.cancelled():
            return
        error = self._future.exception()
        if error is None:
            self._report(self._future.result())
        else:
            self._report(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _report(self, result: T | Exception) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(result)
