"""
Make short reads of an embedded store on the event loop, as long as they are short.

A read of a page from SQLite takes about 40 µs, and handing it to a thread and back as much again,
with waits of up to 5 ms for the interpreter's lock. So calls that could share a read are made where
they arrive: those that came in one turn of the loop, together (docs/adr/0088). When the disk is
slow, calls go to threads for a while; the loop is then held up by the reads that showed it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from aragog.api.server.threads import MOST_TOGETHER, CallThreads, ThreadCall

_SLOW_S = 0.005
"""A group of reads takes 0.05 to 1.3 ms on idle cores (`python -m bench.busy_reads`)."""
_SLOW_IN_A_ROW = 3
_HANGS_S = 0.1
_IN_THREADS_S = 1.0


class LoopCalls(CallThreads):
    """
    Threads for the calls of an embedded store, but for those that are `alike` others.

    Such calls must not wait for anything but the disk.

    Args:
        name: as of `CallThreads`, like `threads` and `most`.
        now_s: the clock of deadlines, which also measures reads.
    """

    def __init__(
        self, name: str, threads: int, most: int, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(name, threads, most, eager=False)
        self._now_s = now_s
        self._arrived: list[ThreadCall] = []
        self._slow_in_a_row = 0
        self._in_threads_until_s = 0.0

    def submit(self, call: ThreadCall) -> None:
        """Make a call soon; then `call.finish` is called, and perhaps `call.expire` before."""
        self.busy += 1
        if self._now_s() < self._in_threads_until_s:
            self._begin(call)
            return
        self._arrived.append(call)
        if len(self._arrived) == 1:
            asyncio.get_running_loop().call_soon(self._make_all)

    def close(self) -> None:
        """As of `CallThreads`; calls that arrived in this turn never run."""
        arrived, self._arrived = self._arrived, []
        for call in arrived:
            self.busy -= 1
            call.expire()
        super().close()

    def _make_all(self) -> None:
        """Make the calls that came in this turn of the event loop, or give them to threads."""
        calls, self._arrived = self._arrived, []
        while calls:
            group = self._group(calls)
            del calls[: max(1, len(group))]
            if group:
                self._make(group)

    def _group(self, calls: Sequence[ThreadCall]) -> Sequence[ThreadCall]:
        """The first calls that are made together; the first goes to a thread if there are none."""
        first = calls[0]
        fits = first.alike() if self._now_s() >= self._in_threads_until_s else None
        if fits is None:
            self._begin(first)
            return ()
        size = 1
        while size < min(len(calls), MOST_TOGETHER) and fits(calls[size]):
            size += 1
        return calls[:size]

    def _make(self, group: Sequence[ThreadCall]) -> None:
        began_s = self._now_s()
        first, *others = group
        if others:
            first.run_with(others)
        else:
            first.run()
        now_s = self._now_s()
        self._note(now_s - began_s)
        for call in group:
            self.busy -= 1
            if call.deadline_s <= now_s:
                call.expire()
            call.finish()

    def _note(self, took_s: float) -> None:
        """Turn to threads for a while if reads are slow."""
        self._slow_in_a_row = self._slow_in_a_row + 1 if took_s > _SLOW_S else 0
        if took_s > _HANGS_S or self._slow_in_a_row >= _SLOW_IN_A_ROW:
            self._slow_in_a_row = 0
            self._in_threads_until_s = self._now_s() + _IN_THREADS_S
