"""Operations for administrators of job queues: states, retries, rates and pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.job_queues import Queue, get_jobs
from aragog.api.operations.jobs import YEAR_MS
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.queue_states import KeptJob, QueueState, QueueStates
from aragog.api.operations.scopes import ADMIN, READ, WRITE
from aragog.api.operations.values import MAX_ITEMS
from aragog.errors import BadInput
from pinlater.models import JobState
from pinlater.retry_policy import RetryPolicy

_JOB_STATES = tuple(state.value for state in JobState)
JobIds = Annotated[
    Sequence[str],
    Option("Job ids; default: all jobs in the state.", max_items=MAX_ITEMS),
]


def _queue_states(caller: Caller) -> QueueStates:
    return QueueStates(get_jobs(caller), caller.door)


@dataclass(frozen=True, slots=True)
class ListQueuesRequest:
    """All queues that the caller may use."""


@operation(
    ListQueuesRequest,
    http=HttpRoute("GET", "/v1/queues", member="queues"),
    thrift="PinLater.queues",
    scope=READ,
    pool=Pool.BROKER,
    tool=False,
)
def list_queues(caller: Caller, _request: ListQueuesRequest) -> list[str]:
    """List the names of the queues that the caller may use, sorted."""
    return get_jobs(caller).doors.open_queues(caller.door)


@dataclass(frozen=True, slots=True)
class QueueStateRequest:
    """One queue."""

    queue: Queue


@operation(
    QueueStateRequest,
    http=HttpRoute("GET", "/v1/queues/{queue}", missing="there is no such queue"),
    thrift="PinLater.state",
    scope=READ,
    pool=Pool.BROKER,
    tool=False,
)
def queue_state(caller: Caller, request: QueueStateRequest) -> QueueState | None:
    """
    Return a queue's job counts by state, its rate and its retry policy, or None if there is no
    such queue.
    """
    return _queue_states(caller).state(request.queue)


@dataclass(frozen=True, slots=True)
class ListJobsRequest:
    """The jobs of a queue in one state."""

    queue: Queue
    state: Annotated[str, Option("The state of the jobs.", choices=_JOB_STATES)] = (
        JobState.FAILED.value
    )
    limit: Annotated[int, Option("Maximum number of jobs.", minimum=1, maximum=MAX_ITEMS)] = 100


@operation(
    ListJobsRequest,
    http=HttpRoute("GET", "/v1/queues/{queue}/jobs", member="jobs"),
    thrift="PinLater.jobs",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def list_jobs(caller: Caller, request: ListJobsRequest) -> list[KeptJob]:
    """List the jobs in a state: waiting jobs by due time, and ended jobs with the latest first."""
    return _queue_states(caller).jobs(request.queue, JobState(request.state), request.limit)


@dataclass(frozen=True, slots=True)
class RetryJobsRequest:
    """FAILED jobs to run again."""

    queue: Queue
    job_ids: JobIds = ()


@operation(
    RetryJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:retry", member="retried"),
    thrift="PinLater.retryFailed",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def retry_jobs(caller: Caller, request: RetryJobsRequest) -> int:
    """Retry FAILED jobs with all their attempts, and return how many jobs became PENDING."""
    return _queue_states(caller).retry(request.queue, request.job_ids)


@dataclass(frozen=True, slots=True)
class DeleteJobsRequest:
    """Jobs to delete."""

    queue: Queue
    state: Annotated[
        str, Option("The state of the jobs; RUNNING jobs cannot be deleted.", choices=_JOB_STATES)
    ] = JobState.FAILED.value
    job_ids: JobIds = ()


@operation(
    DeleteJobsRequest,
    http=HttpRoute("POST", "/v1/queues/{queue}/jobs:delete", member="deleted"),
    thrift="PinLater.remove",
    scope=WRITE,
    pool=Pool.BROKER,
    tool=False,
)
def delete_jobs(caller: Caller, request: DeleteJobsRequest) -> int:
    """Delete waiting or ended jobs, and return how many were deleted."""
    return _queue_states(caller).delete(request.queue, JobState(request.state), request.job_ids)


_ATTEMPTS = Option("How many attempts a job gets before it is FAILED.", minimum=1, maximum=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureQueueRequest:
    """The settings to change. Omitted ones stay unchanged."""

    queue: Queue
    paused: Annotated[
        bool | None, Option("If true, no jobs are delivered; new ones are still accepted.")
    ] = None
    rate: Annotated[
        float | None,
        Option("Jobs per second across all workers; 0: no limit.", minimum=0, maximum=1_000_000),
    ] = None
    retry_policy: Annotated[
        str | None,
        Option("A complete retry policy; the other options override parts of it.",
               choices=(*RetryPolicy.PRESETS, "default")),
    ] = None  # fmt: skip
    job_type: Annotated[
        str | None,
        Option("Set the retry policy of this job type only.", pattern="[^|%@]{1,100}",
               rule="must have 1 to 100 characters, without '|', '%' and '@'"),
    ] = None  # fmt: skip
    max_attempts: Annotated[int | None, _ATTEMPTS] = None
    linear_attempts: Annotated[
        int | None,
        Option("After how many failures the delay grows by a step.", minimum=0, maximum=1000),
    ] = None
    retry_step_ms: Annotated[
        int | None, Option("The delay before the second attempt.", minimum=0, maximum=YEAR_MS)
    ] = None
    retry_growth: Annotated[
        float | None, Option("Factor by which later delays grow.", minimum=1, maximum=10)
    ] = None
    retry_cap_ms: Annotated[
        int | None, Option("The longest delay.", minimum=0, maximum=YEAR_MS)
    ] = None
    max_age_ms: Annotated[
        int | None,
        Option("A job is FAILED if its next attempt would be later than this after it was "
               "enqueued; 0: no limit.", minimum=0, maximum=YEAR_MS),
    ] = None  # fmt: skip


_POLICY_OPTIONS = (
    "max_attempts", "linear_attempts", "retry_step_ms", "retry_growth", "retry_cap_ms",
    "max_age_ms",
)  # fmt: skip


@operation(
    ConfigureQueueRequest,
    http=HttpRoute("PATCH", "/v1/queues/{queue}"),
    thrift="PinLater.configure",
    scope=ADMIN,
    pool=Pool.BROKER,
    tool=False,
)
def configure_queue(caller: Caller, request: ConfigureQueueRequest) -> QueueState:
    """Pause a queue, limit its rate, or change its retry policy, and return its new state."""
    policy = {
        name: value for name in _POLICY_OPTIONS if (value := getattr(request, name)) is not None
    }
    if request.job_type is not None and not (policy or request.retry_policy):
        raise BadInput("job_type: needs a retry policy to set")
    return _queue_states(caller).configure(
        request.queue,
        paused=request.paused,
        rate=request.rate,
        retry=request.retry_policy or "",
        job_type=request.job_type or "",
        policy=policy,
    )
