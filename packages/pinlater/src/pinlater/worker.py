"""
Make Celery workers record in each job how its task ended.

By default, Celery acknowledges a task before it runs, even if it then raises. After
`at_least_once(app)`, a killed worker's jobs run again, a job whose task raised is FAILED with the
error, and tasks with `broker_retries = True` are retried according to their queue's retry policy.
Use that option only if no caller waits for the results, because Celery stores a failure and starts
chords at the first attempt.

Other brokers have no FAILED jobs. There, a message that Celery rejects permanently goes to a
dead-letter queue (`pinlater.dead_letters`) instead of being lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from billiard.einfo import ExceptionWithTraceback
from billiard.exceptions import WorkerLostError
from celery import Celery, signals
from celery.exceptions import Ignore, Reject, Retry
from celery.signals import worker_ready
from celery.worker.request import Request
from kombu.exceptions import ContentDisallowed, DecodeError, OperationalError
from redis.exceptions import RedisError

from pinlater import dead_letters, envelope, run_log
from pinlater.acks import Disposition
from pinlater.errors import BrokerUnavailable, InvalidMessage
from pinlater.models import Step

logger = logging.getLogger(__name__)
PUBLISH_ERRORS = (OperationalError, RedisError, BrokerUnavailable)
"""With these reasons, a `Reject` means that Celery could not send a retry."""
RECOMMENDED_CALL = "pinlater.worker.at_least_once(app)"
MAX_LISTED_NAMES = 5


def at_least_once(app: Celery) -> None:
    """
    Make `app`'s workers run each job until its task has ended. Call it right after `Celery(…)`.

    Sets `task_acks_late` and `task_reject_on_worker_lost`, and calls `follow`, so a killed worker's
    jobs run again, and a job whose task raised is FAILED. Tasks may run more than once and must be
    safe to repeat. Set `acks_late=False` for a task that is not.
    """
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        # Claims and running tasks survive a lost connection.
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    follow(app)


def follow(app: Celery) -> None:
    """Make `app`'s workers record how tasks end, and keep messages that would be lost."""
    app.Task.Request = f"{__name__}:JobRequest"
    app.conf.worker_consumer = "pinlater.transport.celery_consumer:LosslessConsumer"
    log = logging.getLogger("celery.app.trace")
    if not any(isinstance(log_filter, OutageLogFilter) for log_filter in log.filters):
        outage = Outage()
        log.addFilter(OutageLogFilter(outage, _is_outage))
        signals.after_task_publish.connect(outage.record_sent_message, weak=False)


class RunLater(Reject):
    """
    Raised in a task to return its job to the queue and run it again after a delay.

    On brokers other than pinlater, the job runs again immediately.

    Args:
        reason: stored with the job.
        delay_s: seconds; None uses the queue's retry policy.
        counts: False if the attempt must not count, because the job did not cause the failure.
    """

    def __init__(self, reason: str = "", delay_s: float | None = None, counts: bool = True) -> None:
        super().__init__(reason, requeue=True)
        self.delay_s = delay_s
        self.counts = counts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.delay_s, self.counts)


class JobRequest(Request):
    """A request that records in its job how the task ended."""

    _problem = "rejected"

    def on_accepted(self, pid: Any, time_accepted: float) -> None:
        claims = getattr(self.message.channel, "claims", None)
        is_job_type = hasattr(self.task, "job_type")
        if claims is not None and self.app.conf.get(run_log.SETTING, is_job_type):
            claims.record_start(self.message.delivery_tag, self.task_name)
        super().on_accepted(pid, time_accepted)

    def on_failure(
        self,
        exc_info: Any,
        send_failed_event: bool = True,
        return_ok: bool = False,
    ) -> Any:
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        self._set_dispositions(error)
        return super().on_failure(
            exc_info, send_failed_event=send_failed_event, return_ok=return_ok
        )

    def on_timeout(self, soft: bool, timeout: float) -> Any:
        if not soft:
            self._set_dispositions(TimeoutError(f"hard time limit of {timeout} s exceeded"))
        return super().on_timeout(soft, timeout)

    def acknowledge(self) -> None:
        self._record_end()
        super().acknowledge()

    def reject(self, requeue: bool = False) -> None:
        self._record_end()
        if not requeue and not self.acknowledged and not _is_from_pinlater(self.message):
            requeue = not dead_letters.store(self.app, self.message, self._problem)
        super().reject(requeue=requeue)

    def _record_end(self) -> None:
        # In a thread pool, the event loop sends the ack later. If it loses its connection before
        # that, the job must not return to its queue.
        claims = getattr(self.message.channel, "claims", None)
        if claims is not None:
            claims.record_end(self.message.delivery_tag)

    def _set_dispositions(self, error: BaseException) -> None:
        self._problem = f"{type(error).__name__}: {error}"
        claims = getattr(self.message.channel, "claims", None)
        if claims is None or isinstance(error, Retry):
            return
        on_ack, on_reject = dispositions(error, retries=getattr(self.task, "broker_retries", False))
        claims.set_dispositions(self.message.delivery_tag, on_ack=on_ack, on_reject=on_reject)


def _is_from_pinlater(message: Any) -> bool:
    return envelope.ATTEMPT_PROPERTY in (message.properties or {})


def dispositions(
    error: BaseException, *, retries: bool
) -> tuple[Disposition | None, Disposition | None]:
    """
    Return the dispositions for an ack and a reject after the task ended with `error`.

    None keeps the default: after an ack, the job is SUCCEEDED; after a reject, it runs again at
    once or is FAILED.
    """
    problem = f"{type(error).__name__}: {error}"
    if isinstance(error, RunLater):
        if error.delay_s is None:
            return None, Disposition("policy" if error.counts else "wait", 0, str(error.reason))
        step: Step = "again" if error.counts else "release"
        return None, Disposition(step, round(error.delay_s * 1000), str(error.reason))
    if isinstance(error, Reject) and isinstance(error.reason, PUBLISH_ERRORS):
        # `self.retry()` could not publish, for example because the broker is full. This message is
        # the only copy and did not cause the failure.
        return None, Disposition("wait", 0, f"could not be published again: {error.reason}")
    if isinstance(error, Reject):
        return None, Disposition(
            "again" if error.requeue else "fail", 0, f"rejected: {error.reason}"
        )
    if isinstance(error, Ignore):
        return None, None
    if isinstance(error, WorkerLostError):
        # Then an ack means that the result was stored before the worker died.
        return None, Disposition("policy", 0, problem)
    can_read = not isinstance(error, InvalidMessage | ContentDisallowed | DecodeError)
    disposition = Disposition("policy" if retries and can_read else "fail", 0, problem)
    return disposition, disposition


@worker_ready.connect  # type: ignore[untyped-decorator]
def log_warnings(sender: Any, **_: Any) -> None:
    for warning in get_warnings(sender.app):
        logger.warning(warning)


def get_warnings(app: Celery) -> list[str]:
    """
    Return warnings about tasks whose jobs are lost if the worker is killed or the task raises.

    A task that overrides the app's setting is assumed to do so on purpose.
    """
    tasks = {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}
    early_acked = [
        name for name, task in tasks.items() if not (app.conf.task_acks_late or task.acks_late)
    ]
    lost_with_process = [
        name
        for name, task in tasks.items()
        if name not in early_acked
        and not (app.conf.task_reject_on_worker_lost or task.reject_on_worker_lost)
    ]
    without_request = [name for name, task in tasks.items() if not _uses_job_request(task)]
    return [
        f"{problem} ({_join_first(names)}); call {RECOMMENDED_CALL} after Celery(…)"
        for names, problem in (
            (
                early_acked,
                "a killed worker's jobs do not run again: tasks are acknowledged before they run",
            ),
            (lost_with_process, "the job of a task whose process dies does not run again"),
            (without_request, "the job of a task that raises counts as succeeded"),
        )
        if names
    ]


def _uses_job_request(task: Any) -> bool:
    return "JobRequest" in str(task.Request)


def _join_first(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - MAX_LISTED_NAMES
    return ", ".join(ordered[:MAX_LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")


def _is_outage(error: object) -> bool:
    if isinstance(error, RunLater):
        return not error.counts
    return isinstance(error, Reject) and isinstance(error.reason, PUBLISH_ERRORS)


class Outage:
    """Counts jobs that this process returned during a broker outage. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._returned_count = 0

    def record_returned_job(self, reason: str) -> None:
        with self._lock:
            self._returned_count += 1
            first = self._returned_count == 1
        if first:
            logger.warning("messages cannot be sent, jobs are returned to their queues: %s", reason)

    def record_sent_message(self, **_: Any) -> None:
        """A sent message ends the outage."""
        if self._returned_count:
            with self._lock:
                count, self._returned_count = self._returned_count, 0
            if count:
                logger.warning("messages can be sent again; jobs were returned %d times", count)


class OutageLogFilter(logging.Filter):
    """
    Drops and counts Celery's log records of jobs returned because of an outage.

    Args:
        outage: counts the jobs.
        is_outage: returns whether this exception's task was returned because of an outage.
    """

    def __init__(self, outage: Outage, is_outage: Callable[[object], bool]) -> None:
        super().__init__()
        self._outage = outage
        self._is_outage = is_outage

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not self._is_outage(error):
            return True
        self._outage.record_returned_job(str(getattr(error, "reason", error)))
        return False


__all__ = ["RunLater", "at_least_once", "follow"]
