"""Rows of the queue and job pages. Templates must escape the values."""

from __future__ import annotations

from dataclasses import dataclass

from pinlater.admin import Admin
from pinlater.models import JobInfo, JobState, QueueStatus
from pinlater.wording import (
    format_duration,
    format_relative_time,
    format_time_and_distance,
    one_line,
)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One row of the queue page."""

    queue: str
    due: int
    later: int
    running: int
    succeeded: int
    failed: int
    oldest_due_ms: int
    by_priority: dict[str, int]
    """Number of PENDING jobs by priority, without zeros; priority 0 is the most urgent."""
    rate_per_s: float | None
    paused: bool
    missing_shards: tuple[str, ...]

    @property
    def pending(self) -> int:
        return self.due + self.later

    @property
    def oldest_due(self) -> str:
        return format_duration(self.oldest_due_ms) if self.oldest_due_ms else "—"

    @property
    def priorities(self) -> str:
        return ", ".join(f"{p}: {n:,}" for p, n in self.by_priority.items()) or "—"

    @property
    def rate(self) -> str:
        return "—" if self.rate_per_s is None else f"{self.rate_per_s:g}/s"


def queue_row(status: QueueStatus) -> QueueRow:
    """Return a queue's row."""
    sizes = status.sizes
    return QueueRow(
        queue=status.queue,
        due=sizes.due,
        later=sizes.later,
        running=sizes.running,
        succeeded=sizes.succeeded,
        failed=sizes.failed,
        oldest_due_ms=sizes.oldest_due_ms,
        by_priority={str(p): n for p, n in enumerate(sizes.by_priority) if n},
        rate_per_s=status.rate_per_s,
        paused=status.paused,
        missing_shards=status.missing_shards,
    )


def queue_rows(admin: Admin) -> list[QueueRow]:
    """Return a row for every queue; costs several round trips per queue and shard."""
    return [queue_row(status) for status in admin.statuses()]


LATE_MS = 300_000
"""A queue is late if a job has been due for longer than this."""


def get_problems(row: QueueRow, command: str = "pinlater") -> list[str]:
    """
    Return a queue's problems with remedies, one sentence each.

    Args:
        row: the queue.
        command: how the operator calls the program with the commands of `pinlater.cli`.
    """
    problems = []
    if row.missing_shards:
        problems.append(
            f"shards {', '.join(row.missing_shards)} do not answer; their jobs wait until they do"
        )
    if row.paused:
        problems.append(f"is paused; `{command} resume {row.queue}` resumes it")
    elif row.oldest_due_ms > LATE_MS:
        problems.append(
            f"a job has been due for {row.oldest_due}; "
            f"is a worker with --queues {row.queue} running?"
        )
    if row.failed:
        problems.append(
            f"{row.failed:,} jobs have FAILED; see `{command} jobs {row.queue}`, "
            f"then `{command} retry {row.queue} --all`"
        )
    return problems


@dataclass(frozen=True, slots=True)
class JobRow:
    """One row of the job page."""

    job_id: str
    name: str
    task_id: str
    priority: int
    at_ms: int
    when: str
    away: str
    """`when`, relative to now."""
    attempts: str
    worker: str
    problem: str


_WHEN_TITLES = {
    JobState.PENDING: "Due",
    JobState.RUNNING: "Claim expires",
    JobState.SUCCEEDED: "Ended",
    JobState.FAILED: "Ended",
}


def when_title(state: JobState) -> str:
    """Return the column title of `JobRow.when` for jobs in a state."""
    return _WHEN_TITLES[state]


def job_row(job: JobInfo, now_ms: int) -> JobRow:
    """Return a job's row."""
    limit = f" of {job.max_attempts}" if job.max_attempts else ""
    return JobRow(
        job_id=job.job_id,
        name=one_line(job.name),
        task_id=one_line(job.key),
        priority=job.priority,
        at_ms=job.at_ms,
        when=format_time_and_distance(job.at_ms, now_ms),
        away=format_relative_time(job.at_ms, now_ms),
        attempts=f"{job.attempts}{limit}",
        worker=one_line(job.worker),
        problem=one_line(job.problem, 500),
    )
