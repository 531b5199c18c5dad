"""
One fetch process in virtual time: threads with one batch each, concurrent requests, and the CPU.

A thread takes a batch, sends its requests concurrently, and is free when the last response has
arrived (`aragog.crawl.stages.requester`). So the slowest of 25 responses decides how long a thread
is busy.
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
    concurrency: int
    """`fetch.concurrency`"""
    batch: int
    """`pipeline.batch_size`"""
    cpu_s: float
    """CPU time per fetch; the process has one core."""


class Throughput(NamedTuple):
    """A process's throughput when there is always work."""

    urls_s: float
    batch_s: float
    """Mean time per batch, which is the longest that a fetched page waits for the others."""
    in_flight: float
    """Mean number of requests in progress."""
    cpu: float
    """The share of its core that the process uses."""


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
    request_slots = [0.0] * shape.concurrency  # when each place for a request is free
    cpu_free_s = 0.0
    done, busy_s, cpu_s, batch_s, batches = 0, 0.0, 0.0, 0.0, 0
    count_from_s, counted_urls = 0.0, 0
    while done < urls:
        now_s, thread = heapq.heappop(threads)
        end_s = now_s
        for _ in range(shape.batch):
            start_s = max(now_s, heapq.heappop(request_slots))
            took_s = response_s(rng)
            # The CPU is needed before and after the wait; each request waits for its turn.
            cpu_free_s = max(cpu_free_s, start_s) + shape.cpu_s
            request_end_s = max(start_s + took_s, cpu_free_s)
            heapq.heappush(request_slots, request_end_s)
            end_s = max(end_s, request_end_s)
            if counted_urls:
                busy_s += request_end_s - start_s
        done += shape.batch
        if counted_urls:
            counted_urls += shape.batch
            batch_s, batches, cpu_s = (
                batch_s + end_s - now_s,
                batches + 1,
                cpu_s + shape.batch * shape.cpu_s,
            )
        elif done >= urls / 10:
            count_from_s, counted_urls = now_s, shape.batch
        heapq.heappush(threads, (end_s, thread))
    elapsed_s = max(threads[0][0] - count_from_s, 1e-9)
    return Throughput(
        counted_urls / elapsed_s, batch_s / max(batches, 1), busy_s / elapsed_s, cpu_s / elapsed_s
    )
