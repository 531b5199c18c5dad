"""Measure the middle of a backlog that a worker processes, without its start-up and slow end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

POLL_S = 0.005
GROWTH_FACTOR = 4
MAX_TRIES = 5

Costs = Sequence[float]


def costs_per_job(count: int, run_down: Callable[[int], Costs | None]) -> Costs:
    """
    Return what `run_down(count)` returns.

    A fast machine may finish a short backlog between two polls. `run_down` then returns None, and
    is called again with a backlog four times as long.
    """
    for _ in range(MAX_TRIES):
        if (costs := run_down(count)) is not None:
            return costs
        count *= GROWTH_FACTOR
    raise RuntimeError(f"{count // GROWTH_FACTOR} jobs finished between two polls")


def middle(count: int, left: Callable[[], int], spent: Callable[[], Costs]) -> Costs | None:
    """
    Return the cost per job of the middle 80% of `count` jobs, as counted by `spent`, or None if no
    poll fell into it.

    `left` returns how many jobs are not done.
    """
    jobs, before = _wait(left, spent, count * 9 // 10)
    last, after = _wait(left, spent, count // 10)
    if jobs == last:
        return None
    return [(b - a) / (jobs - last) for a, b in zip(before, after, strict=True)]


def _wait(left: Callable[[], int], spent: Callable[[], Costs], max_left: int) -> tuple[int, Costs]:
    while (jobs_left := left()) > max_left:
        time.sleep(POLL_S)
    return jobs_left, spent()
