"""
One fetch process in virtual time: its threads with a batch each, its requests at once, its CPU.

A thread takes a batch, sends its requests side by side, and is free when the last response is there
(`aragog.crawl.stages.requester`). So the slowest of 25 responses decides how long a thread is busy.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ProcessShape:
    """The settings of a fetch process."""

    threads: int
    """`workers.fetch`"""
    at_once: int
    """`fetch.concurrency`"""
    batch: int
    """`pipeline.batch_size`"""
    cpu_s: float
    """CPU of a fetch; the process has one core."""


class Throughput(NamedTuple):
    """What a process does when work is always there."""

    urls_s: float
    batch_s: float
    """Mean time of a batch, which is how long a fetched page waits for the others at most."""
    under_way: float
    """Mean number of requests under way."""
    cpu: float
    """Share of its core."""


def run(
    shape: ProcessShape,
    response_s: Callable[[random.Random], float],
    *,
    urls: int = 40_000,
    seed: int = 1,
) -> Throughput:
    """Simulate a process until it has fetched `urls`; the first tenth does not count."""
    rng = random.Random(seed)
    threads = [(0.0, n) for n in range(shape.threads)]
    heapq.heapify(threads)
    places = [0.0] * shape.at_once  # when each place for a request is free
    cpu_free_s = 0.0
    done, busy_s, cpu_s, batch_s, batches = 0, 0.0, 0.0, 0.0, 0
    from_s, counted = 0.0, 0
    while done < urls:
        now_s, thread = heapq.heappop(threads)
        end_s = now_s
        for _ in range(shape.batch):
            start_s = max(now_s, heapq.heappop(places))
            took_s = response_s(rng)
            # The CPU is used before and after the wait; a request waits for its turn.
            cpu_free_s = max(cpu_free_s, start_s) + shape.cpu_s
            ends_s = max(start_s + took_s, cpu_free_s)
            heapq.heappush(places, ends_s)
            end_s = max(end_s, ends_s)
            if counted:
                busy_s += ends_s - start_s
        done += shape.batch
        if counted:
            counted += shape.batch
            batch_s, batches, cpu_s = (
                batch_s + end_s - now_s,
                batches + 1,
                cpu_s + shape.batch * shape.cpu_s,
            )
        elif done >= urls / 10:
            from_s, counted = now_s, shape.batch
        heapq.heappush(threads, (end_s, thread))
    passed_s = max(threads[0][0] - from_s, 1e-9)
    return Throughput(
        counted / passed_s, batch_s / max(batches, 1), busy_s / passed_s, cpu_s / passed_s
    )
