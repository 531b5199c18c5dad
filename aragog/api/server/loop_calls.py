"""
Run reads from an embedded store (SQLite) on the event loop as long as they are short.

Reading a page takes about 40 µs. Passing the read to a thread and back takes just as long, plus up
to 5 ms for the interpreter's lock. Calls that can share a read therefore run on the event loop,
together with those that arrive in the same iteration (docs/adr/0088). After slow reads, which
delay the loop, calls run in threads for a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from aragog.api.server.threads import MAX_GROUP, CallThreads, ThreadCall

_SLOW_S = 0.005
"""On idle cores, a group of reads takes 0.05 to 1.3 ms (`python -m bench.busy_reads`)."""
_MAX_SLOW_READS = 3
_VERY_SLOW_S = 0.1
_THREADS_PERIOD_S = 1.0


class LoopCalls(CallThreads):
    """
    Runs an embedded store's calls in threads. Those that can share a read (`group_filter`) run on
    the event loop, so they must not wait for anything but the disk.

    Args:
        name, threads, max_calls: see `CallThreads`.
        now_s: the clock for deadlines and durations.
    """

    def __init__(
        self,
        name: str,
        threads: int,
        max_calls: int,
        *,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name, threads, max_calls, eager=False)
        self._now_s = now_s
        self._new_calls: list[ThreadCall] = []
        self._slow_reads = 0
        self._threads_until_s = 0.0

    def submit(self, call: ThreadCall) -> None:
        """Run a call soon, and then call `call.finish`, possibly after `call.expire`."""
        self.call_count += 1
        if self._now_s() < self._threads_until_s:
            self._submit_to_threads(call)
            return
        self._new_calls.append(call)
        if len(self._new_calls) == 1:
            asyncio.get_running_loop().call_soon(self._run_all)

    def close(self) -> None:
        """Close like `CallThreads`. Calls that arrived in this iteration never run."""
        new_calls, self._new_calls = self._new_calls, []
        for call in new_calls:
            self.call_count -= 1
            call.expire()
        super().close()

    def _run_all(self) -> None:
        """Run the calls that arrived in this iteration, or hand them to threads."""
        calls, self._new_calls = self._new_calls, []
        while calls:
            group = self._group(calls)
            del calls[: max(1, len(group))]
            if group:
                self._run_group(group)

    def _group(self, calls: Sequence[ThreadCall]) -> Sequence[ThreadCall]:
        """
        Return the first calls that can run together. If the first call cannot run here, hand it to
        a thread and return no calls.
        """
        first = calls[0]
        can_join = first.group_filter() if self._now_s() >= self._threads_until_s else None
        if can_join is None:
            self._submit_to_threads(first)
            return ()
        size = 1
        while size < min(len(calls), MAX_GROUP) and can_join(calls[size]):
            size += 1
        return calls[:size]

    def _run_group(self, group: Sequence[ThreadCall]) -> None:
        started_s = self._now_s()
        first, *others = group
        if others:
            first.run_with(others)
        else:
            first.run()
        now_s = self._now_s()
        self._record_duration(now_s - started_s)
        for call in group:
            self.call_count -= 1
            if call.deadline_s <= now_s:
                call.expire()
            call.finish()

    def _record_duration(self, duration_s: float) -> None:
        self._slow_reads = self._slow_reads + 1 if duration_s > _SLOW_S else 0
        if duration_s > _VERY_SLOW_S or self._slow_reads >= _MAX_SLOW_READS:
            self._slow_reads = 0
            self._threads_until_s = self._now_s() + _THREADS_PERIOD_S
