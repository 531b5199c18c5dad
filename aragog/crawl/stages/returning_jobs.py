"""
Decides when and in which messages jobs are sent again.

Waits are relative. `pipeline.routing` sends them as Celery's countdown, and pinlater's `envelope`
converts them into delivery times.

A job returns if its slot (reserved request time) is too far away, its fetch failed temporarily, the
spool lost its body, or its rows are in a damaged file of the store.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.fetch_results import result_without_fetch
from aragog.crawl.pipeline.messages import (
    VERSION,
    FetchBatch,
    ResultBatch,
    UrlJob,
    split_into_batches,
)
from aragog.crawl.pipeline.ports import CounterSink
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from aragog.fetch_record.outcome import OutcomeKind
from aragog.runtime.clock import Clock
from aragog.settings import PipelineSettings
from pinlater.envelope import Collection

# A longer Retry-After is shortened to this. After the last attempt, the refresh schedule decides.
MAX_WAIT_MS = 24 * 3_600_000
LOST_REASON = "at every attempt, the fetched page was lost before it was stored"

Delayed = tuple[UrlJob, int]
"""A job and its delay in ms."""


@dataclass(frozen=True, slots=True)
class ReturningJobs:
    """
    Reschedules jobs according to the pipeline's settings.

    Args:
        clock: its wall clock provides the time of failures.
        counters: counts retries and failures.
        collects: True if the broker (pinlater) can combine URLs that are due together into one
            message.
        rng: for jitter.
    """

    settings: PipelineSettings
    clock: Clock
    counters: CounterSink
    collects: bool = False
    rng: random.Random = field(default_factory=random.Random)

    def next_attempt(self, job: UrlJob, min_wait_ms: int | None = None) -> Delayed | None:
        """Return the next attempt after a failed fetch, or None if no attempts are left."""
        return next_attempt(job, self.settings, min_wait_ms=min_wait_ms, rng=self.rng)

    def delayed(
        self, jobs: Iterable[Delayed], *, span_ms: int = 1, elapsed_ms: int = 0
    ) -> list[OutgoingMessage]:
        """Return messages; see `one_message_per_priority` and `delayed_batches`."""
        size = self.settings.batch_size
        if self.collects:
            return one_message_per_priority(
                jobs, batch_size=size, span_ms=span_ms, elapsed_ms=elapsed_ms
            )
        return delayed_batches(jobs, batch_size=size, span_ms=span_ms, elapsed_ms=elapsed_ms)

    def refetch(self, jobs: Sequence[UrlJob]) -> list[OutgoingMessage]:
        """
        Return messages for jobs whose bodies are no longer in the spool.

        They go to `fetch` again from their first URL, without a slot. A repeated job is fetched
        even if its URL is stored. Each refetch counts as an attempt. After `pipeline.max_attempts`,
        jobs go to `canonicalize` as failures.
        """
        max_attempts = self.settings.max_attempts
        given_up = [job for job in jobs if job.attempt + 1 >= max_attempts]
        retried = [
            replace(restart(job), attempt=job.attempt + 1)
            for job in jobs
            if job.attempt + 1 < max_attempts
        ]
        unreachable_counter = counters.failure_counter(OutcomeKind.UNREACHABLE)
        failures = {counters.FAILED: len(given_up), unreachable_counter: len(given_up)}
        self.counters.add({counters.RETRIED: len(retried), **failures})
        outgoing = [
            OutgoingMessage(Destination.FETCH, batch, priority=most_urgent_priority(batch.jobs))
            for batch in split_into_batches(retried, self.settings.batch_size)
        ]
        return [*outgoing, self._lost_message(given_up)] if given_up else outgoing

    def _lost_message(self, jobs: Sequence[UrlJob]) -> OutgoingMessage:
        now_ms = self.clock.now_ms()
        results = tuple(
            result_without_fetch(job, OutcomeKind.UNREACHABLE, LOST_REASON, now_ms) for job in jobs
        )
        priority = most_urgent_priority(jobs)
        return OutgoingMessage(Destination.CANONICALIZE, ResultBatch(results), priority=priority)


def next_attempt(
    job: UrlJob,
    settings: PipelineSettings,
    *,
    min_wait_ms: int | None = None,
    rng: random.Random,
) -> Delayed | None:
    """
    Return the next attempt, or None after `pipeline.max_attempts`.

    Attempt n waits `retry_first_s`·2ⁿ, plus or minus a quarter. If the origin asked for
    `min_wait_ms`, the attempt waits that long instead. No wait exceeds a day. Redirects start again
    from the first URL.
    """
    if job.attempt + 1 >= settings.max_attempts:
        return None
    wait_ms = settings.retry_first_s * 1000 * 2**job.attempt * rng.uniform(0.75, 1.25)
    wait_ms = min(int(wait_ms), MAX_WAIT_MS)
    if min_wait_ms is not None:
        # The origin's wait replaces our guess. Jitter spreads the retries.
        wait_ms = min(max(0, min_wait_ms), MAX_WAIT_MS) + int(rng.uniform(0, 500))
    return replace(restart(job), attempt=job.attempt + 1), int(wait_ms)


def restart(job: UrlJob) -> UrlJob:
    """Return the job reset to its first URL, without a slot."""
    return replace(job, slot_at_ms=None, target=None, target_given=None, hops=())


def one_message_per_priority(
    jobs: Iterable[Delayed], *, batch_size: int, span_ms: int, elapsed_ms: int = 0
) -> list[OutgoingMessage]:
    """
    Return one message for the jobs of each priority, with each job's own delay.

    The broker combines jobs due within the same `span_ms` into one message, even across tasks. A
    batch with many domains has many slots, and a separate message for each would cost 1 KB and 0.3
    ms. See `delayed_batches` for the arguments.
    """
    by_priority: dict[int, list[Delayed]] = defaultdict(list)
    for job, wait_ms in jobs:
        by_priority[job.priority].append((job, wait_ms))
    return [
        OutgoingMessage(
            Destination.FETCH,
            FetchBatch(tuple(job for job, _ in group)),
            priority=priority,
            collect=Collection(
                elements="urls",
                delays_ms=tuple(max(0, wait_ms - elapsed_ms) for _, wait_ms in group),
                span_ms=max(1, span_ms),
                most=batch_size,
                group=f"{Destination.FETCH.task}:{VERSION}",
            ),
        )
        for priority, group in by_priority.items()
    ]


def delayed_batches(
    jobs: Iterable[Delayed], *, batch_size: int, span_ms: int, elapsed_ms: int = 0
) -> list[OutgoingMessage]:
    """
    Return batches for `fetch`, each delayed until its first job is due.

    Delays are in ms, counted from a time `elapsed_ms` ago.

    Jobs due within `span_ms` of the first job share its message, because `fetch` waits that long
    inside the task. So a domain at 10 requests per second needs one message per second.
    """
    outgoing: list[OutgoingMessage] = []
    group: list[Delayed] = []
    for job, wait_ms in sorted(jobs, key=lambda pair: pair[1]):
        if group and (len(group) >= batch_size or wait_ms > group[0][1] + span_ms):
            outgoing.append(_message(group, elapsed_ms))
            group = []
        group.append((job, wait_ms))
    return [*outgoing, _message(group, elapsed_ms)] if group else outgoing


def _message(group: Sequence[Delayed], elapsed_ms: int) -> OutgoingMessage:
    jobs = tuple(job for job, _ in group)
    delay_ms = max(0, group[0][1] - elapsed_ms)
    return OutgoingMessage(
        Destination.FETCH, FetchBatch(jobs), delay_ms, most_urgent_priority(jobs)
    )
