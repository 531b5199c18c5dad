"""
The calls of service PinLater: jobs with opaque bodies, for workers in any language.

A queue `NAME` of the service is the queue `jobs.NAME` of pinlater, so that no client reads or fills
the queues of the crawler, whose bodies are Celery messages.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from aragog.api.fetching import LONGEST_WAIT_MS
from aragog.api.steps import Steps, Wait
from aragog.api.thrift.contract import idl
from aragog.api.thrift.services.arguments import MOST_NAME_BYTES, bounded, items, text
from aragog.api.thrift.services.job_waits import JobWaits
from aragog.errors import BadInput, BrokerUnavailable, InvalidMessage
from aragog.pinlater import job_codec
from aragog.pinlater.claims import ClaimRegistry
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.models import Claimed, ClaimRequest, Nack, NewJob
from aragog.pinlater.policy import RetryPolicy
from aragog.pinlater.shard import Shard
from aragog.pipeline.messages import PRIORITY_DEFAULT

PREFIX = "jobs."
MOST_CLAIMS = 200
MOST_BODY_BYTES = 1_000_000
CLAIM_MS, LEAST_CLAIM_MS, MOST_CLAIM_MS = 60_000, 1_000, 86_400_000
YEAR_MS = 366 * 86_400_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_JOB_NUMBER = re.compile("[0-9a-f]{1,16}")


class PinLaterService:
    """
    Handles calls, each in a thread.

    Args:
        cluster: the shards of the broker; None: the broker is not pinlater.
        most_waiting: how many callers may wait for jobs; further ones are answered at once.
    """

    def __init__(self, cluster: Cluster | None, most_waiting: int = 1000) -> None:
        self._cluster = cluster
        self._claims = ClaimRegistry(cluster) if cluster else None
        self._waits = JobWaits(cluster, most_waiting) if cluster else None
        self._rng = random.Random()

    def enqueue(self, args: Any) -> list[Any]:
        queue = self._queue(args.queue)
        jobs = [_new_job(job) for job in items(args.jobs, "jobs")]
        return [
            idl.EnqueuedJob(job_id=f"{done.job_id}-{args.queue}", already_there=done.already_there)
            for done in self._shards().enqueue(queue, jobs)
        ]

    def dequeue(self, args: Any) -> Steps[list[Any]]:
        queue, options = self._queue(args.queue), args.options or idl.DequeueOptions()
        limit = bounded(args.limit, "limit", 1, MOST_CLAIMS)
        claim_ms = bounded(options.claim_ms, "claim_ms", LEAST_CLAIM_MS, MOST_CLAIM_MS, CLAIM_MS)
        wait_ms = bounded(options.wait_ms, "wait_ms", 0, LONGEST_WAIT_MS, 0)
        until_s = time.monotonic() + wait_ms / 1000
        worker = (options.worker or "thrift")[:MOST_NAME_BYTES]
        self._shards()
        if self._claims is not None:
            self._claims.watch(queue)
        while True:
            jobs, due_in_s = self._claim(queue, limit, claim_ms, worker)
            left_s = until_s - time.monotonic()
            if jobs or left_s <= 0 or self._waits is None:
                return jobs
            with self._waits.waiting(queue, due_in_s) as turn:
                if turn is None:
                    return jobs
                yield Wait(turn.woken, left_s)
                if not self._waits.is_woken(queue, turn):
                    return jobs

    def _claim(
        self, queue: str, limit: int, claim_ms: int, worker: str
    ) -> tuple[list[Any], float | None]:
        """Due jobs of all shards, and how soon the next one will be due."""
        cluster = self._shards()
        jobs: list[Any] = []
        due_in_ms: list[int] = []
        failed: BrokerUnavailable | None = None
        shards = cluster.healthy()
        for shard in self._rng.sample(shards, len(shards)):
            if len(jobs) == limit:
                break
            request = ClaimRequest(
                limit=limit - len(jobs), timeout_ms=claim_ms, worker=worker, share=cluster.share
            )
            try:
                with cluster.watched(shard):
                    claimed = shard.claim(queue, request)
            except BrokerUnavailable as error:
                failed = error
                continue
            if claimed.next_due_ms is not None:
                due_in_ms.append(max(0, claimed.next_due_ms - claimed.now_ms))
            jobs += _readable(shard, queue, claimed.claims)
        if failed and not jobs:
            raise failed
        return jobs, min(due_in_ms) / 1000 if due_in_ms else None

    def ack(self, args: Any) -> list[bool]:
        queue = self._queue(args.queue)
        return self._each(
            args, lambda shard, some: shard.ack(queue, [(c.id, c.token) for c in some])
        )

    def nack(self, args: Any) -> list[bool]:
        queue, options = self._queue(args.queue), args.options or idl.NackOptions()
        policy = RetryPolicy.of(self._shards().settings(queue))
        delay_ms = options.delay_ms
        if delay_ms is not None:
            bounded(delay_ms, "delay_ms", 0, YEAR_MS)

        def end(shard: Shard, some: Sequence[_SentClaim]) -> list[bool]:
            nacks = [
                Nack(
                    claim.id,
                    claim.token,
                    "fail" if options.fail else "again",
                    policy.delay_ms(claim.attempt, self._rng.random())
                    if delay_ms is None
                    else delay_ms,
                    options.reason or "",
                )
                for claim in some
            ]
            return [state is not None for state in shard.nack(queue, nacks)]

        return self._each(args, end)

    def extend(self, args: Any) -> list[bool]:
        queue = self._queue(args.queue)
        claim_ms = bounded(args.claim_ms, "claim_ms", LEAST_CLAIM_MS, MOST_CLAIM_MS)
        return self._each(
            args,
            lambda shard, some: shard.extend(
                queue, [(c.id, c.token) for c in some], timeout_ms=claim_ms
            ),
        )

    def close(self) -> None:
        """End the threads that return expired claims and listen for jobs."""
        if self._claims is not None:
            self._claims.stop()
        if self._waits is not None:
            self._waits.close()

    def _shards(self) -> Cluster:
        if self._cluster is None:
            raise BadInput("the broker of this server is not pinlater (broker.url)")
        return self._cluster

    def _queue(self, name: str | None) -> str:
        if name is None or not _NAME.fullmatch(name):
            raise BadInput("queue: must have 1 to 100 letters, digits, '.', '_' and '-'")
        return PREFIX + name

    def _each(
        self,
        args: Any,
        end: Callable[[Shard, Sequence[_SentClaim]], list[bool]],
    ) -> list[bool]:
        """Call `end` for the claims of each shard; the results are in the order of the claims."""
        claims_sent = [
            _SentClaim(claim, place, args.queue)
            for place, claim in enumerate(items(args.claims, "claims"))
        ]
        done = [False] * len(claims_sent)
        by_shard: dict[str, list[_SentClaim]] = defaultdict(list)
        for claim in claims_sent:
            by_shard[claim.shard].append(claim)
        cluster = self._shards()
        for name, some in by_shard.items():
            shard = cluster.find(name)
            if shard is None:
                raise BadInput(f"job_id: {some[0].shard}-{some[0].id} is of no shard")
            with cluster.watched(shard):
                for claim, kept in zip(some, end(shard, some), strict=True):
                    done[claim.place] = bool(kept)
        return done


class _SentClaim:
    """
    A claim of a request.

    Shards count job ids and claim tokens for each queue, so a job id names its queue too.
    """

    __slots__ = ("attempt", "id", "place", "shard", "token")

    def __init__(self, claim: Any, place: int, queue: str) -> None:
        job_id = text(claim.job_id, "job_id")
        self.shard, self.id, queue_of_job = (*job_id.split("-", 2), "", "")[:3]
        if not (_JOB_NUMBER.fullmatch(self.id) and queue_of_job):
            raise BadInput("job_id: must be one that dequeue returned")
        if queue_of_job != queue:
            raise BadInput(
                f"job_id: {job_id[:200]} is of queue {queue_of_job[:100]}, not of {queue}"
            )
        self.token = bounded(claim.claim_token, "claim_token", 0, 2**53)
        self.attempt = bounded(claim.attempt, "attempt", 1, 2**31, 1)
        self.place = place


def _new_job(job: Any) -> NewJob:
    body = job.body or b""
    if len(body) > MOST_BODY_BYTES:
        raise BadInput(f"body: at most {MOST_BODY_BYTES} bytes, got {len(body)}")
    unique_key, name = job.unique_key or "", job.name or ""
    if len(unique_key) > MOST_NAME_BYTES or len(name) > MOST_NAME_BYTES:
        raise BadInput(f"unique_key, name: at most {MOST_NAME_BYTES} characters")
    return NewJob(
        body=body,
        priority=bounded(job.priority, "priority", 0, 9, PRIORITY_DEFAULT),
        delay_ms=bounded(job.delay_ms, "delay_ms", 0, YEAR_MS, 0),
        max_attempts=bounded(job.max_attempts, "max_attempts", 0, 1000, 0),
        unique_key=unique_key,
        name=name,
    )


def _readable(shard: Shard, queue: str, claims: Sequence[Claimed]) -> list[Any]:
    """The claimed jobs as the contract has them."""
    return [
        idl.ClaimedJob(
            job_id=f"{shard.name}-{job.job_id}-{queue.removeprefix(PREFIX)}",
            claim_token=job.token,
            attempt=job.attempt,
            body=body,
        )
        for job in claims
        if (body := _body(shard, queue, job.record, job.job_id, job.token)) is not None
    ]


def _body(shard: Shard, queue: str, record: bytes, job_id: str, token: int) -> bytes | None:
    """The body of a claimed job; None for an unreadable one, which is FAILED."""
    try:
        return job_codec.decode(record).body
    except InvalidMessage as error:
        shard.nack(queue, [Nack(job_id, token, "fail", 0, str(error))])
        return None
