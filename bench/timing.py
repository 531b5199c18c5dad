"""Measure CPU time on a machine that is also used by others."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_s(call: Callable[[], object], times: int = 7) -> float:
    """Return the shortest CPU time of several runs, in seconds."""
    samples = []
    for _ in range(times):
        started = time.process_time()
        call()
        samples.append(time.process_time() - started)
    return min(samples)
