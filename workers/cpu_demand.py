"""
Limit a process's concurrent jobs: few while its threads compete for the CPU, more otherwise.

A process's threads share one core. When pages arrive quickly, more threads only add context
switches: in a local crawl, 40 threads took 40% more CPU time per page than 12 threads, and 75 MB
more memory (`python -m bench.crawl`). When responses are slow, too few threads leave the core idle
(docs/adr/0081).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

CHECK_INTERVAL_S = 0.5
# The CPU demand as a fraction of time. Above the first value, the limit falls; below the second, it
# rises. `aragog plan` assumes half a core.
BUSY_SHARE, FREE_SHARE = 0.8, 0.5
STEP = 4
THREADS = Path("/proc/self/task")


class LimitByDemand:
    """
    A limit for `gates.limit` on a queue's jobs, which depends on CPU demand.

    It starts low and only rises while the process holds that many jobs, so that jobs that arrive
    after an idle time do not use all threads at once.

    Args:
        min_jobs: the minimum limit.
        max_jobs: the maximum limit.
        reserved: how many of the `max_jobs` are reserved for urgent jobs (`gates.reserve_room`).
        now_s: a monotonic clock.
        read_cpu_s: returns this process's CPU demand in seconds.
    """

    def __init__(
        self,
        min_jobs: int,
        max_jobs: int,
        reserved: int = 0,
        *,
        now_s: Callable[[], float] = time.monotonic,
        read_cpu_s: Callable[[], float] | None = None,
    ) -> None:
        self._min_jobs, self._max_jobs, self._reserved = min(min_jobs, max_jobs), max_jobs, reserved
        self._now_s, self._read_cpu_s = now_s, read_cpu_s or needed_cpu_s
        self._jobs = self._min_jobs
        self._checked_at_s, self._last_cpu_s = now_s(), self._read_cpu_s()

    def __call__(self, running: int) -> int:
        """
        Return the limit, given how many jobs the process holds. A check takes 1 to 2 ms of CPU
        time.
        """
        now_s = self._now_s()
        if now_s - self._checked_at_s >= CHECK_INTERVAL_S:
            cpu_s = self._read_cpu_s()
            demand = (cpu_s - self._last_cpu_s) / (now_s - self._checked_at_s)
            self._checked_at_s, self._last_cpu_s = now_s, cpu_s
            self._jobs = min(
                max(self._jobs + self._change(demand, running), self._min_jobs), self._max_jobs
            )
        return self._jobs

    def _change(self, demand: float, running: int) -> int:
        spare_jobs = self._jobs - self._reserved - running
        if demand > BUSY_SHARE or spare_jobs > STEP:
            return -STEP
        return STEP if demand < FREE_SHARE and spare_jobs <= 0 else 0


def needed_cpu_s() -> float:
    """
    Return the CPU seconds that this process's threads used and, on Linux, waited for.

    A process that competes with others may get little CPU time but still needs its core.
    """
    needed_ns = 0
    try:
        for thread in THREADS.iterdir():
            needed_ns += _needed_ns(thread / "schedstat")
    except OSError:
        return time.process_time()
    return needed_ns / 1e9 or time.process_time()


def _needed_ns(schedstat: Path) -> int:
    """Return the nanoseconds that a thread used and waited for; 0 if unknown."""
    try:
        used_ns, waited_ns, *_ = schedstat.read_text().split()
    except (OSError, ValueError):
        return 0
    return int(used_ns) + int(waited_ns)
