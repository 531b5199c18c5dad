"""
Make calls in threads, each kind of call in its own, so that one that hangs delays no other.

No call of a store runs on the event loop. A call that misses its deadline occupies its thread until
it returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from aragog.api.operation import Pool
from aragog.api.thrift import wire
from aragog.api.thrift.calls.call import Call, Done, run, run_together
from aragog.api.thrift.contract import Method
from aragog.api.workers import Workers
from aragog.settings import ServingSettings

_FETCH_THREADS = 8
_FEED_THREADS = 4
_TOGETHER = 32
"""Calls of one method that a thread makes together."""
_REPLIES_AT_ONCE = 16


class CallThreads:
    """
    The threads of a server; used on its event loop.

    Args:
        settings: how many threads.
        embedded: the store answers without waiting for a network; see `Workers`.
        wake: called in threads when there is something in `done`.

    Attributes:
        done: what became of calls; the event loop takes it from the left.
        running: calls of each kind that threads have or will have, abandoned ones included.
    """

    def __init__(
        self, settings: ServingSettings, *, embedded: bool, wake: Callable[[], None]
    ) -> None:
        self.done: deque[Done] = deque()
        self.running = dict.fromkeys(Pool, 0)
        self._embedded = embedded
        self._wake = wake
        self._workers = {
            Pool.STORE: self._threads(Pool.STORE, settings.threads, eager=not embedded),
            Pool.CONTENT: self._threads(Pool.CONTENT, settings.content_threads, eager=True),
            Pool.FEED: self._threads(Pool.FEED, _FEED_THREADS, eager=True),
            Pool.BROKER: self._threads(Pool.BROKER, settings.content_threads, eager=True),
            Pool.FETCH: self._threads(Pool.FETCH, _FETCH_THREADS, eager=True),
        }

    def submit(self, call: Call) -> None:
        """Make a call, or its next step, soon."""
        pool = call.method.pool
        self.running[pool] += 1
        self._workers[pool].submit(call)

    def help_if_stuck(self) -> None:
        """Let another thread of each kind help where calls wait and none was finished."""
        for workers in self._workers.values():
            workers.help_if_stuck()

    def close(self) -> None:
        """End the threads that wait; those in a call end after it."""
        for workers in self._workers.values():
            workers.close()

    def _threads(self, pool: Pool, count: int, *, eager: bool) -> Workers[Call]:
        return Workers(f"thrift-{pool.value}", self._run, count, eager=eager)

    def _run(self, call: Call) -> None:
        """Make a call in a thread of its pool, and pass its reply to the event loop."""
        more = self._alike(call) if self._embedded and call.method.shares is not None else ()
        if more:
            self.done.extend(run_together([call, *more]))
        else:
            self.done.append(run(call))
        if self._workers[call.method.pool].waiting and len(self.done) < _REPLIES_AT_ONCE:
            return  # waking the event loop costs as much as a call; its timer bounds the delay
        self._wake()

    def _alike(self, call: Call) -> Sequence[Call]:
        """Calls that wait and share one call of the store with this one."""
        method, rest = call.method, wire.after_string(call.frame, call.arguments_at)
        workers = self._workers[method.pool]
        if rest is None or method.shares is None or not workers.waiting:
            return ()
        with suppress(wire.BadArguments):
            if method.shares(wire.cached(method.arguments, rest)):
                return workers.also(partial(_is_alike, method, rest), _TOGETHER - 1)
        return ()


def _is_alike(method: Method, rest: bytes, call: Call) -> bool:
    return call.method is method and wire.after_string(call.frame, call.arguments_at) == rest
