"""
Job queues for workers in other programs: jobs with opaque bodies.

A queue `NAME` is the queue `jobs.NAME` of pinlater, so that no client reads or fills the queues of
the crawler, whose bodies are Celery messages. Shards count job ids and claim tokens for each queue,
so the id of a job names its queue as well.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.job_waits import JobWaits
from aragog.api.operations.options import Option
from aragog.api.operations.steps import Steps, Wait
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.errors import BadInput, BrokerUnavailable, InvalidMessage
from pinlater import job_codec
from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.models import Claimed, ClaimRequest, Nack, NewJob
from pinlater.retry_policy import RetryPolicy
from pinlater.shard import Shard

PREFIX = "jobs."
MOST_CLAIMS = 200
MOST_BODY_BYTES = 1_000_000
MOST_TEXT_BYTES = 200
LEAST_CLAIM_MS, MOST_CLAIM_MS = 1_000, 86_400_000
YEAR_MS = 366 * 86_400_000
QUEUE = Option(
    "The name of the queue.",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    rule="must have 1 to 100 letters, digits, '.', '_' and '-'",
)
_JOB_NUMBER = re.compile("[0-9a-f]{1,16}")


@dataclass(frozen=True, slots=True)
class QueueJob:
    """A job to enqueue."""

    body: Annotated[
        bytes, Option("Opaque; a worker gets it as it is.", most_bytes=MOST_BODY_BYTES)
    ] = b""
    priority: Annotated[int, Option("0 (most urgent) to 9.", least=0, most=9)] = PRIORITY_DEFAULT
    delay_ms: Annotated[
        int, Option("Do not deliver it earlier; one year at most.", least=0, most=YEAR_MS)
    ] = 0
    max_attempts: Annotated[
        int,
        Option("Deliveries before the job is FAILED; 0: by the queue's setting.",
               least=0, most=1000),
    ] = 0  # fmt: skip
    unique_key: Annotated[
        str,
        Option("While a job with this key waits or runs, another one is not accepted.",
               most_bytes=MOST_TEXT_BYTES),
    ] = ""  # fmt: skip
    name: Annotated[str, Option("For display.", most_bytes=MOST_TEXT_BYTES)] = ""


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """What became of a job that was enqueued."""

    job_id: str
    already_there: bool
    """Its unique key was in use: the id is that of the other job, and nothing was added."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that belongs to the caller until its claim expires."""

    job_id: str
    claim_token: int
    """Identifies this delivery; `ack_jobs`, `nack_jobs` and `extend_jobs` require it."""
    attempt: int
    """1 for the first delivery."""
    body: bytes

    @property
    def claim(self) -> JobClaim:
        """What ends or keeps the claim."""
        return JobClaim(self.job_id, self.claim_token, self.attempt)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A claim, as `dequeue_jobs` returned it."""

    job_id: Annotated[str, Option("Of the job; it names the queue as well.")]
    claim_token: Annotated[int, Option("Of the delivery.", least=0, most=2**53)]
    attempt: Annotated[
        int, Option("The attempt that failed; the delay follows from it.", least=1, most=2**31 - 1)
    ] = 1


class Jobs:
    """
    The queues; each call blocks its thread on Redis.

    Args:
        cluster: the shards of the broker.
        most_waiting: how many callers may wait for jobs; further ones are answered at once.
    """

    def __init__(self, cluster: Cluster, most_waiting: int = 1000) -> None:
        self._cluster = cluster
        self._claims = ClaimRegistry(cluster)
        self._waits = JobWaits(cluster, most_waiting)
        self._rng = random.Random()

    def enqueue(self, queue: str, jobs: Sequence[QueueJob]) -> list[EnqueuedJob]:
        """Add jobs."""
        accepted = [
            NewJob(
                body=job.body,
                priority=job.priority,
                delay_ms=job.delay_ms,
                max_attempts=job.max_attempts,
                unique_key=job.unique_key,
                name=job.name,
            )
            for job in jobs
        ]
        return [
            EnqueuedJob(f"{done.job_id}-{queue}", done.already_there)
            for done in self._cluster.enqueue(PREFIX + queue, accepted)
        ]

    def dequeue(
        self, queue: str, limit: int, *, claim_ms: int, worker: str, wait_ms: int
    ) -> Steps[list[ClaimedJob]]:
        """Claim up to `limit` due jobs, and wait for the first one if none is due."""
        until_s = time.monotonic() + wait_ms / 1000
        worker = (worker or "api")[:MOST_TEXT_BYTES]
        name = PREFIX + queue
        self._claims.watch(name)
        while True:
            jobs, due_in_s = self._claim(queue, limit, claim_ms, worker)
            left_s = until_s - time.monotonic()
            if jobs or left_s <= 0:
                return jobs
            with self._waits.waiting(name, due_in_s) as turn:
                if turn is None:
                    return jobs
                yield Wait(turn.woken, left_s)
                if not self._waits.is_woken(name, turn):
                    return jobs

    def _claim(
        self, queue: str, limit: int, claim_ms: int, worker: str
    ) -> tuple[list[ClaimedJob], float | None]:
        """Due jobs of all shards, and how soon the next one will be due."""
        jobs: list[ClaimedJob] = []
        due_in_ms: list[int] = []
        failed: BrokerUnavailable | None = None
        shards = self._cluster.healthy()
        for shard in self._rng.sample(shards, len(shards)):
            if len(jobs) == limit:
                break
            request = ClaimRequest(
                limit=limit - len(jobs), timeout_ms=claim_ms, worker=worker,
                share=self._cluster.share,
            )  # fmt: skip
            try:
                with self._cluster.watched(shard):
                    claimed = shard.claim(PREFIX + queue, request)
            except BrokerUnavailable as error:
                failed = error
                continue
            if claimed.next_due_ms is not None:
                due_in_ms.append(max(0, claimed.next_due_ms - claimed.now_ms))
            jobs += _readable(shard, queue, claimed.claims)
        if failed and not jobs:
            raise failed
        return jobs, min(due_in_ms) / 1000 if due_in_ms else None

    def ack(self, queue: str, claims: Sequence[JobClaim]) -> list[bool]:
        """End claims of jobs that are done."""
        name = PREFIX + queue
        return self._each(
            queue, claims, lambda shard, some: shard.ack(name, [(c.id, c.token) for c in some])
        )

    def nack(
        self, queue: str, claims: Sequence[JobClaim], *, reason: str, delay_ms: int | None,
        fail: bool,
    ) -> list[bool]:  # fmt: skip
        """End claims of jobs that failed."""
        name = PREFIX + queue
        policy = RetryPolicy.of(self._cluster.settings(name))

        def end(shard: Shard, some: Sequence[_SentClaim]) -> list[bool]:
            nacks = [
                Nack(
                    claim.id,
                    claim.token,
                    "fail" if fail else "again",
                    policy.delay_ms(claim.attempt, self._rng.random())
                    if delay_ms is None
                    else delay_ms,
                    reason,
                )
                for claim in some
            ]
            return [state is not None for state in shard.nack(name, nacks)]

        return self._each(queue, claims, end)

    def extend(self, queue: str, claims: Sequence[JobClaim], claim_ms: int) -> list[bool]:
        """Keep claims."""
        name = PREFIX + queue
        return self._each(
            queue,
            claims,
            lambda shard, some: shard.extend(
                name, [(c.id, c.token) for c in some], timeout_ms=claim_ms
            ),
        )

    def close(self) -> None:
        """End the threads that return expired claims and listen for jobs."""
        self._claims.stop()
        self._waits.close()

    def _each(
        self,
        queue: str,
        claims: Sequence[JobClaim],
        end: Callable[[Shard, Sequence[_SentClaim]], list[bool]],
    ) -> list[bool]:
        """Call `end` for the claims of each shard; the results are in the order of the claims."""
        done = [False] * len(claims)
        by_shard: dict[str, list[_SentClaim]] = defaultdict(list)
        for place, claim in enumerate(claims):
            sent = _SentClaim(claim, place, queue)
            by_shard[sent.shard].append(sent)
        for name, some in by_shard.items():
            shard = self._cluster.find(name)
            if shard is None:
                raise BadInput(f"job_id: {some[0].shard}-{some[0].id} is of no shard")
            with self._cluster.watched(shard):
                for claim_sent, kept in zip(some, end(shard, some), strict=True):
                    done[claim_sent.place] = bool(kept)
        return done


class _SentClaim:
    """A claim of a request."""

    __slots__ = ("attempt", "id", "place", "shard", "token")

    def __init__(self, claim: JobClaim, place: int, queue: str) -> None:
        self.shard, self.id, queue_of_job = (*claim.job_id.split("-", 2), "", "")[:3]
        if not (_JOB_NUMBER.fullmatch(self.id) and queue_of_job):
            raise BadInput("job_id: must be one that dequeue returned")
        if queue_of_job != queue:
            shown = claim.job_id[:200]
            raise BadInput(f"job_id: {shown} is of queue {queue_of_job[:100]}, not of {queue}")
        self.token = claim.claim_token
        self.attempt = claim.attempt
        self.place = place


def _readable(shard: Shard, queue: str, claims: Sequence[Claimed]) -> list[ClaimedJob]:
    """The claimed jobs; one that cannot be read is FAILED."""
    return [
        ClaimedJob(f"{shard.name}-{job.job_id}-{queue}", job.token, job.attempt, body)
        for job in claims
        if (body := _body(shard, PREFIX + queue, job)) is not None
    ]


def _body(shard: Shard, queue: str, job: Claimed) -> bytes | None:
    """The body of a claimed job; None for an unreadable one, which is FAILED."""
    try:
        return job_codec.decode(job.record).body
    except InvalidMessage as error:
        shard.nack(queue, [Nack(job.job_id, job.token, "fail", 0, str(error))])
        return None
