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
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from aragog.serving.http.problems import Overloaded

T = TypeVar("T")


class StoreThreads:
    """
    Threads for one kind of store call.

    Args:
        name: prefix of the threads' names.
        threads: how many calls run at once.
        most: how many calls run or wait at once.
    """

    def __init__(self, name: str, threads: int, most: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
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
        with self._lock:
            if self.busy >= self._most:
                raise Overloaded
            self.busy += 1
        future = self._pool.submit(call)
        future.add_done_callback(self._done)
        async with asyncio.timeout(deadline_s):
            return await asyncio.wrap_future(future)

    def _done(self, _future: Future[Any]) -> None:
        with self._lock:
            self.busy -= 1

    def close(self) -> None:
        """Release the threads without waiting for running calls."""
        self._pool.shutdown(wait=False, cancel_futures=True)
