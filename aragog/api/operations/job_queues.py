"""Operations on job queues, for workers in other programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from aragog.api.operations.fetching import MAX_WAIT_MS
from aragog.api.operations.jobs import (
    MAX_CLAIM_MS,
    MAX_CLAIMS,
    MIN_CLAIM_MS,
    QUEUE,
    YEAR_MS,
    ClaimedJob,
    EnqueuedJob,
    JobClaim,
    Jobs,
    QueueJob,
)
from aragog.api.operations.operation import Caller, HttpRoute, Pool, need, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.steps import Steps
from aragog.api.operations.values import MAX_ITEMS

DEFAULT_CLAIM_MS = 60_000
Queue = Annotated[str, QUEUE]
Claims = Annotated[
    Sequence[JobClaim], Option("Claims returned by `dequeue_jobs`.", max_items=MAX_ITEMS)
]


def get_jobs(caller: Caller) -> Jobs:
    """Return the job queues. Raises Unsupported if the broker has none."""
    return need(caller.parts.jobs, "this server's broker is not pinlater (broker.url)")


@dataclass(frozen=True, slots=True)
class EnqueueJobsRequest:
    """Jobs to add to a queue."""

    queue: Queue
    jobs: Annotated[Sequence[QueueJob], Option("The jobs.", max_items=MAX_ITEMS)]


def _is_repeatable(_request: EnqueueJobsRequest | DequeueJobsRequest) -> bool:
    return False


@operation(
    EnqueueJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs", member="jobs"),
    thrift="PinLater.enqueue",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
    repeatable=_is_repeatable,
)
def enqueue_jobs(caller: Caller, request: EnqueueJobsRequest) -> list[EnqueuedJob]:
    """Add jobs. After an error, some of them may have been added."""
    return get_jobs(caller).enqueue(request.queue, request.jobs, door=caller.door)


@dataclass(frozen=True, slots=True)
class DequeueJobsRequest:
    """Due jobs to claim."""

    queue: Queue
    limit: Annotated[int, Option("Maximum number of jobs.", minimum=1, maximum=MAX_CLAIMS)] = 1
    _: KW_ONLY
    claim_ms: Annotated[
        int,
        Option("How long the claims last without `extend_jobs`.",
               minimum=MIN_CLAIM_MS, maximum=MAX_CLAIM_MS),
    ] = DEFAULT_CLAIM_MS  # fmt: skip
    worker: Annotated[str, Option("Name of the worker; only shown to operators.")] = ""
    wait_ms: Annotated[
        int, Option("How long to wait for a job if none is due.", minimum=0, maximum=MAX_WAIT_MS)
    ] = 0


@operation(
    DequeueJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:claim", member="jobs"),
    thrift="PinLater.dequeue",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
    repeatable=_is_repeatable,
    waits=True,
)
def dequeue_jobs(caller: Caller, request: DequeueJobsRequest) -> Steps[list[ClaimedJob]]:
    """
    Claim due jobs, with the most urgent first. Returns as soon as there are any.

    Returns an empty list if no job was due within `wait_ms`, or if the server is stopping.
    """
    return (
        yield from get_jobs(caller).dequeue(
            request.queue, request.limit, door=caller.door, claim_ms=request.claim_ms,
            worker=request.worker, wait_ms=request.wait_ms,
        )
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AckJobsRequest:
    """The claims of jobs that are done."""

    queue: Queue
    claims: Claims


@operation(
    AckJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:ack", member="done"),
    thrift="PinLater.ack",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def ack_jobs(caller: Caller, request: AckJobsRequest) -> list[bool]:
    """Acknowledge finished jobs. Returns False for each job whose claim the caller had lost."""
    return get_jobs(caller).ack(request.queue, request.claims, door=caller.door)


@dataclass(frozen=True, slots=True)
class NackJobsRequest:
    """The claims of jobs that failed."""

    queue: Queue
    claims: Claims
    _: KW_ONLY
    reason: Annotated[str, Option("Why they failed; only shown to operators.")] = ""
    delay_ms: Annotated[
        int | None,
        Option("Deliver again after this time. Default: as the queue's retry policy says.",
               minimum=0, maximum=YEAR_MS),
    ] = None  # fmt: skip
    fail: Annotated[bool, Option("Mark the jobs as FAILED; they are not delivered again.")] = False


@operation(
    NackJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:nack", member="done"),
    thrift="PinLater.nack",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def nack_jobs(caller: Caller, request: NackJobsRequest) -> list[bool]:
    """Report failed jobs, to be retried later or marked FAILED. Returns False for lost claims."""
    return get_jobs(caller).nack(
        request.queue, request.claims, door=caller.door, reason=request.reason,
        delay_ms=request.delay_ms, fail=request.fail,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExtendJobsRequest:
    """The claims to extend."""

    queue: Queue
    claims: Claims
    claim_ms: Annotated[
        int,
        Option("How long the claims last from now.", minimum=MIN_CLAIM_MS, maximum=MAX_CLAIM_MS),
    ] = DEFAULT_CLAIM_MS


@operation(
    ExtendJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:extend", member="done"),
    thrift="PinLater.extend",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def extend_jobs(caller: Caller, request: ExtendJobsRequest) -> list[bool]:
    """Extend claims. Returns False for each lost claim."""
    return get_jobs(caller).extend(
        request.queue, request.claims, request.claim_ms, door=caller.door
    )
