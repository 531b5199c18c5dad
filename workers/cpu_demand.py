"""
How many jobs a process's threads have at once: few while they need its core, else more.

Threads of one process take turns on one core. Where pages come quickly, more threads add no work
but their turns: 40 of them took 1.4 times the CPU a page of 12, and 75 MB more, with pages from the
same machine (`python -m bench.crawl`). Where responses take long, a few threads leave the core
idle (docs/adr/0081).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

LOOK_EVERY_S = 0.5
# Of the time since the last look: above the first share the process has fewer jobs, below the
# second one more. `aragog plan` counts on half of a core.
BUSY, FREE = 0.8, 0.5
STEP = 4
THREADS = Path("/proc/self/task")


class LimitByDemand:
    """
    A limit of one queue's jobs, for `gates.limit`: between two numbers, by the CPU needed.

    It starts low, and grows only while it is reached, so jobs that come after a rest do not take
    all threads at once.

    Args:
        least: how many jobs there may always be.
        most: how many there may be at most.
        kept: how many of them only urgent jobs take (`gates.reserve_room`).
        now_s: a stopwatch.
        needed_s: the CPU that this process has needed so far, in seconds.
    """

    def __init__(
        self,
        least: int,
        most: int,
        kept: int = 0,
        *,
        now_s: Callable[[], float] = time.monotonic,
        needed_s: Callable[[], float] | None = None,
    ) -> None:
        self._least, self._most, self._kept = min(least, most), most, kept
        self._now_s, self._needed_s = now_s, needed_s or needed_cpu_s
        self._jobs = self._least
        self._looked_s, self._needed_then_s = now_s(), self._needed_s()

    def __call__(self, held: int) -> int:
        """How many jobs the process may have, by how many it has; a look takes 1 to 2 ms of CPU."""
        now_s = self._now_s()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            needed_s = self._needed_s()
            demand = (needed_s - self._needed_then_s) / (now_s - self._looked_s)
            self._looked_s, self._needed_then_s = now_s, needed_s
            self._jobs = min(max(self._jobs + self._change(demand, held), self._least), self._most)
        return self._jobs

    def _change(self, demand: float, held: int) -> int:
        unused = self._jobs - self._kept - held
        if demand > BUSY or unused > STEP:
            return -STEP
        return STEP if demand < FREE and unused <= 0 else 0


def needed_cpu_s() -> float:
    """
    The CPU seconds that the threads of this process used, and on Linux those that they waited for.

    A process that others keep from running needs its core although it uses little of it.
    """
    needed_ns = 0
    try:
        for thread in THREADS.iterdir():
            needed_ns += _needed_ns(thread / "schedstat")
    except OSError:
        return time.process_time()
    return needed_ns / 1e9 or time.process_time()


def _needed_ns(schedstat: Path) -> int:
    """What one thread used and waited for; 0 if it has ended, or the kernel does not count."""
    try:
        used, waited, *_ = schedstat.read_text().split()
    except (OSError, ValueError):
        return 0
    return int(used) + int(waited)
