"""
Job queues for workers in other programs. A job has an opaque body with a content type, and a job
type.

`queue_doors.py` decides which queues those programs may use. Jobs are numbered separately in each
queue and shard, so a job's id includes both, as in `0-2a:mail`, or `0-2a-mail` if an older version
enqueued the job.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Annotated, NamedTuple

from aragog.api.operations.job_waits import JobWaits
from aragog.api.operations.options import Option
from aragog.api.operations.queue_doors import LEGACY, DoorQueue, QueueDoors
from aragog.api.operations.steps import Steps, Wait
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.errors import BadInput, BrokerUnavailable, InvalidMessage
from pinlater import envelope, job_body, job_codec
from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.job_body import OCTETS, JobBody
from pinlater.models import Claimed, ClaimRequest, JobState, Nack, NewJob
from pinlater.retry_policy import TYPE_SEPARATOR, RetryPolicy
from pinlater.shard import Shard

MAX_CLAIMS = 200
MAX_BODY_BYTES = 1_000_000
MAX_SHORT_TEXT_BYTES = 200
MIN_CLAIM_MS, MAX_CLAIM_MS = 1_000, 86_400_000
YEAR_MS = 366 * 86_400_000
QUEUE = Option(
    "The name of the queue.",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    rule="must have 1 to 100 letters, digits, '.', '_' and '-'",
)
_JOB_ID = re.compile("([^-:]+)-([0-9a-f]{1,16})([:-])(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class QueueJob:
    """A job to enqueue."""

    body: Annotated[
        bytes, Option("Opaque bytes; workers receive them unchanged.", max_bytes=MAX_BODY_BYTES)
    ] = b""
    priority: Annotated[int, Option("0 (most urgent) to 9.", minimum=0, maximum=9)] = (
        PRIORITY_DEFAULT
    )
    delay_ms: Annotated[
        int,
        Option(
            "How long to delay the first delivery; at most one year.", minimum=0, maximum=YEAR_MS
        ),
    ] = 0
    max_attempts: Annotated[
        int,
        Option("How many attempts the job gets before it is FAILED; 0: as the queue is set.",
               minimum=0, maximum=1000),
    ] = 0  # fmt: skip
    unique_key: Annotated[
        str,
        Option("While a job with this key is queued or running, another one is rejected.",
               max_bytes=MAX_SHORT_TEXT_BYTES),
    ] = ""  # fmt: skip
    name: Annotated[
        str,
        Option("The job type, which tells workers how to handle the body; empty if the queue "
               "has only one.", max_bytes=MAX_SHORT_TEXT_BYTES),
    ] = ""  # fmt: skip
    content_type: Annotated[
        str,
        Option("The media type of the body. A Python job type receives JSON as its arguments: an "
               "object by name, an array by position.",
               pattern="[!-~]([ -~]{0,198}[!-~])?",
               rule="must have 1 to 200 printable ASCII characters"),
    ] = OCTETS  # fmt: skip


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """The result of enqueuing a job."""

    job_id: str
    already_there: bool
    """
    True if the unique key was in use. Then nothing was added, and the id is that of the existing
    job.
    """


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that belongs to the caller until its claim expires."""

    job_id: str
    claim_token: int
    """Identifies this delivery. `ack_jobs`, `nack_jobs` and `extend_jobs` require it."""
    attempt: int
    """1 for the first delivery."""
    body: bytes
    content_type: str = OCTETS
    """The body's content type, as the producer declared it."""
    name: str = ""
    """The job type."""

    @property
    def claim(self) -> JobClaim:
        """The claim, for acknowledging the job or extending the claim."""
        return JobClaim(self.job_id, self.claim_token, self.attempt)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A claim that `dequeue_jobs` returned."""

    job_id: Annotated[str, Option("The job's id, which includes its queue.")]
    claim_token: Annotated[int, Option("The token of this delivery.", minimum=0, maximum=2**53)]
    attempt: Annotated[
        int,
        Option(
            "The number of the attempt, which determines the delay before a retry.",
            minimum=1,
            maximum=2**31 - 1,
        ),
    ] = 1


class Jobs:
    """
    The job queues. Each call blocks its thread until the broker responds.

    Methods with a `door` argument (`http`, `thrift`, or empty for Python) raise AccessDenied if the
    queue cannot be used through that interface.

    Args:
        cluster: the shards of the broker.
        max_waiting: how many callers may wait for jobs. Others get an immediate response.
        reserved: queues that no other program may use.
    """

    def __init__(
        self, cluster: Cluster, max_waiting: int = 1000, reserved: Iterable[str] = ()
    ) -> None:
        self.cluster = cluster
        self.doors = QueueDoors(cluster, reserved)
        self._claims = ClaimRegistry(cluster)
        self._waits = JobWaits(cluster, max_waiting)
        self._rng = random.Random()

    def enqueue(self, queue: str, jobs: Sequence[QueueJob], *, door: str) -> list[EnqueuedJob]:
        accepted = [
            NewJob(
                body=job_body.encode(JobBody(job.body, job.content_type)),
                priority=job.priority,
                delay_ms=job.delay_ms,
                max_attempts=job.max_attempts,
                unique_key=job.unique_key,
                name=job.name,
            )
            for job in jobs
        ]
        return [
            EnqueuedJob(f"{done.job_id}:{queue}", done.already_there)
            for done in self.cluster.enqueue(self.doors.queue_to_write(queue, door), accepted)
        ]

    def dequeue(
        self, queue: str, limit: int, *, door: str, claim_ms: int, worker: str, wait_ms: int
    ) -> Steps[list[ClaimedJob]]:
        """Claim up to `limit` due jobs. If none is due, wait for one for up to `wait_ms`."""
        deadline_s = time.monotonic() + wait_ms / 1000
        worker = (worker or "api")[:MAX_SHORT_TEXT_BYTES]
        with ExitStack() as place:
            has_place = False
            while True:
                sources = self.doors.queues_to_read(queue, door)
                jobs, due_in_s = self._claim(sources, limit, claim_ms, worker)
                remaining_s = deadline_s - time.monotonic()
                if jobs or remaining_s <= 0:
                    return jobs
                has_place = has_place or place.enter_context(self._waits.place())
                if not has_place or self._waits.is_closed:
                    return jobs
                name = sources[-1].broker_name
                with self._waits.waiting(name, due_in_s) as waiter:
                    yield Wait(waiter.woken, remaining_s)
                    if not self._waits.finish_wait(name, waiter):
                        return jobs

    def _claim(
        self, sources: Sequence[DoorQueue], limit: int, claim_ms: int, worker: str
    ) -> tuple[list[ClaimedJob], float | None]:
        """Claim due jobs on all shards. Also returns the seconds until the next job is due."""
        jobs: list[ClaimedJob] = []
        due_in_ms: list[int] = []
        last_error: BrokerUnavailable | None = None
        shards = self.cluster.healthy_shards()
        for source, shard in product(sources, self._rng.sample(shards, len(shards))):
            if len(jobs) == limit:
                break
            self._claims.watch(source.broker_name)
            request = ClaimRequest(
                limit=limit - len(jobs), timeout_ms=claim_ms, worker=worker,
                share=self.cluster.rate_share,
            )  # fmt: skip
            try:
                with self.cluster.track(shard):
                    claimed = shard.claim(source.broker_name, request)
            except BrokerUnavailable as error:
                last_error = error
                continue
            if claimed.next_due_ms is not None:
                due_in_ms.append(max(0, claimed.next_due_ms - claimed.now_ms))
            jobs += _decode_claims(shard, source, claimed.claims)
        if last_error and not jobs:
            raise last_error
        return jobs, min(due_in_ms) / 1000 if due_in_ms else None

    def ack(self, queue: str, claims: Sequence[JobClaim], *, door: str) -> list[bool]:
        """Mark claimed jobs as done."""
        return self._for_each_shard(
            queue, claims, door,
            lambda shard, name, sent: shard.ack(name, [(claim.id, claim.token) for claim in sent]),
        )  # fmt: skip

    def nack(
        self, queue: str, claims: Sequence[JobClaim], *, door: str, reason: str,
        delay_ms: int | None, fail: bool,
    ) -> list[bool]:  # fmt: skip
        """Mark claimed jobs as failed, to be retried if attempts are left."""

        def nack_on_shard(shard: Shard, name: str, sent: Sequence[_SentClaim]) -> list[bool]:
            policies = {} if delay_ms is not None or fail else self._policies(shard, name, sent)
            nacks = [
                Nack(
                    claim.id,
                    claim.token,
                    "fail" if fail else "again",
                    policies[claim.id].delay_ms(claim.attempt, self._rng.random())
                    if policies
                    else delay_ms or 0,
                    reason,
                )
                for claim in sent
            ]
            return [state is not None for state in shard.nack(name, nacks)]

        return self._for_each_shard(queue, claims, door, nack_on_shard)

    def _policies(
        self, shard: Shard, name: str, claims: Sequence[_SentClaim]
    ) -> dict[str, RetryPolicy]:
        """Return each job's retry policy. Looks up job types only if one of them has a policy."""
        settings, job_types = self.cluster.settings(name), dict[str, str]()
        if any(TYPE_SEPARATOR in setting for setting in settings):
            running = shard.jobs_by_id(name, JobState.RUNNING, [claim.id for claim in claims])
            job_types = {job.job_id: job.name for job in running}
        return {claim.id: RetryPolicy.of(settings, job_types.get(claim.id, "")) for claim in claims}

    def extend(
        self, queue: str, claims: Sequence[JobClaim], claim_ms: int, *, door: str
    ) -> list[bool]:
        return self._for_each_shard(
            queue,
            claims,
            door,
            lambda shard, name, sent: shard.extend(
                name, [(claim.id, claim.token) for claim in sent], timeout_ms=claim_ms
            ),
        )

    def close(self) -> None:
        """Stop the background threads."""
        self._claims.stop()
        self._waits.close()

    def _for_each_shard(
        self,
        queue: str,
        claims: Sequence[JobClaim],
        door: str,
        call: Callable[[Shard, str, Sequence[_SentClaim]], list[bool]],
    ) -> list[bool]:
        """Call `call` with each shard's claims. Returns results in the order of the claims."""
        results = [False] * len(claims)
        groups: dict[tuple[str, str], list[_SentClaim]] = defaultdict(list)
        for position, claim in enumerate(claims):
            sent = _SentClaim(claim, position, queue)
            groups[sent.shard, sent.broker_name].append(sent)
        if any(name == queue for _, name in groups):
            self.doors.queue_to_write(queue, door)
        for (name, broker_name), shard_claims in groups.items():
            shard = self.cluster.find(name)
            if shard is None:
                raise BadInput(
                    f"job_id: {shard_claims[0].shard}-{shard_claims[0].id} belongs to no shard"
                )
            with self.cluster.track(shard):
                for sent_claim, succeeded in zip(
                    shard_claims, call(shard, broker_name, shard_claims), strict=True
                ):
                    results[sent_claim.position] = bool(succeeded)
        return results


class JobLocation(NamedTuple):
    """A job's location, parsed from its id."""

    shard: str
    id: str
    broker_name: str
    """The queue's name in pinlater."""


def parse_job_id(job_id: str, queue: str) -> JobLocation:
    """
    Parse the id of a job in a queue.

    Raises:
        BadInput: this is not the id of a job in this queue.
    """
    match = _JOB_ID.fullmatch(job_id)
    if match is None:
        raise BadInput("job_id: must be an id returned by dequeue")
    shard, number, separator, job_queue = match.groups()
    if job_queue != queue:
        raise BadInput(f"job_id: {job_id[:200]} belongs to queue {job_queue[:100]}, not to {queue}")
    return JobLocation(shard, number, queue if separator == ":" else f"{LEGACY}{queue}")


def public_job_id(job_id: str, source: DoorQueue) -> str:
    """Return a job's public id, the inverse of `parse_job_id`."""
    if source.is_legacy:
        return f"{job_id}-{source.broker_name.removeprefix(LEGACY)}"
    return f"{job_id}:{source.broker_name}"


class _SentClaim:
    __slots__ = ("attempt", "broker_name", "id", "position", "shard", "token")

    def __init__(self, claim: JobClaim, position: int, queue: str) -> None:
        self.shard, self.id, self.broker_name = parse_job_id(claim.job_id, queue)
        self.token = claim.claim_token
        self.attempt = claim.attempt
        self.position = position


def _decode_claims(shard: Shard, source: DoorQueue, claims: Sequence[Claimed]) -> list[ClaimedJob]:
    """Return the claimed jobs. Jobs that cannot be read are marked FAILED."""
    jobs = []
    for job in claims:
        try:
            record = job_codec.decode(job.record)
            body = public_body(record.body, source)
        except InvalidMessage as error:
            nack = Nack(job.job_id, job.token, "fail", 0, str(error))
            shard.nack(source.broker_name, [nack])
            continue
        job_id = public_job_id(f"{shard.name}-{job.job_id}", source)
        jobs.append(
            ClaimedJob(job_id, job.token, job.attempt, body.data, body.content_type, record.name)
        )
    return jobs


def public_body(stored: bytes, source: DoorQueue) -> JobBody:
    """
    Return a job's body in the form that other programs receive.

    Raises:
        InvalidMessage: the body cannot be read.
    """
    return JobBody(stored) if source.is_legacy else envelope.for_others(stored)
