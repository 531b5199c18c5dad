"""`python -m tests.chaos.shifted_worker SECONDS ROLE …`: a worker whose wall clock is off."""

from __future__ import annotations

import runpy
import sys
import time


def shift(seconds: float) -> None:
    """Shift the wall clock of this process, but not its monotonic clock."""
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + int(seconds * 1e9)


if __name__ == "__main__":
    shift(float(sys.argv.pop(1)))
    runpy.run_module("aragog.workers", run_name="__main__", alter_sys=True)
