"""
Celery worker integration that records in each job how its task ended.

Without it, a job whose task raised is SUCCEEDED, because Celery acknowledges it. After
`follow(app)`, the job is FAILED with the error, and tasks with `broker_retries = True` run again
according to their queue's retry policy. Use that option only for tasks whose results nobody waits
for: Celery stores a failure, and fires chords, at the first attempt.

Other brokers have no FAILED jobs. There, a message that Celery rejects permanently goes to a
dead-letter queue (`aragog.pinlater.transport.worker.dead_letters`) instead of being lost.
"""

from __future__ import annotations

import logging
from typing import Any

from billiard.einfo import ExceptionWithTraceback
from billiard.exceptions import WorkerLostError
from celery import Celery, signals
from celery.exceptions import Ignore, Reject, Retry
from celery.worker.request import Request
from kombu.exceptions import ContentDisallowed, DecodeError, OperationalError
from redis.exceptions import RedisError

from aragog.errors import BrokerUnavailable, InvalidMessage
from aragog.pinlater.claims.claim import Disposition
from aragog.pinlater.models import Step
from aragog.pinlater.transport import envelope
from aragog.pinlater.transport.worker import dead_letters
from aragog.pinlater.transport.worker.outages import OneLine, Outage

UNSENT = (OperationalError, RedisError, BrokerUnavailable)
"""A `Reject` with one of these reasons means that Celery could not send a retry."""


class RunLater(Reject):
    """
    Raised in a task to return its job to the queue and run it again after a delay.

    On brokers other than pinlater, it runs again immediately.

    Args:
        reason: stored with the job.
        delay_s: seconds; None uses the delay of the queue's retry policy.
        counts: False: the attempt does not count, because the job did not cause the failure.
    """

    def __init__(self, reason: str = "", delay_s: float | None = None, counts: bool = True) -> None:
        super().__init__(reason, requeue=True)
        self.delay_s = delay_s
        self.counts = counts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.delay_s, self.counts)


class JobRequest(Request):
    """A request that records in its job how the task ended, before the acknowledgement."""

    _problem = "rejected"

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
        self._note_end()
        super().acknowledge()

    def reject(self, requeue: bool = False) -> None:
        self._note_end()
        if not requeue and not self.acknowledged and not _on_pinlater(self.message):
            requeue = not dead_letters.keep(self.app, self.message, self._problem)
        super().reject(requeue=requeue)

    def _note_end(self) -> None:
        # In a thread pool, the event loop makes the ack later. If it loses its connection before,
        # the job must not return to its queue.
        claims = getattr(self.message.channel, "claims", None)
        if claims is not None:
            claims.note_end(self.message.delivery_tag)

    def _set_dispositions(self, error: BaseException) -> None:
        self._problem = f"{type(error).__name__}: {error}"
        claims = getattr(self.message.channel, "claims", None)
        if claims is None or isinstance(error, Retry):
            return
        on_ack, on_reject = dispositions(error, retries=getattr(self.task, "broker_retries", False))
        claims.set_dispositions(self.message.delivery_tag, on_ack=on_ack, on_reject=on_reject)


def dispositions(
    error: BaseException, *, retries: bool
) -> tuple[Disposition | None, Disposition | None]:
    """
    Return the dispositions for an ack and a reject of a job whose task ended with `error`.

    None keeps the default (ack: SUCCEEDED; reject: run again at once, or FAILED). Pure.
    """
    problem = f"{type(error).__name__}: {error}"
    if isinstance(error, RunLater):
        if error.delay_s is None:
            return None, Disposition("policy" if error.counts else "wait", 0, str(error.reason))
        step: Step = "again" if error.counts else "release"
        return None, Disposition(step, round(error.delay_s * 1000), str(error.reason))
    if isinstance(error, Reject) and isinstance(error.reason, UNSENT):
        # `self.retry()` could not publish, for example to a full broker: this message is the only
        # copy and did not cause the failure.
        return None, Disposition("wait", 0, f"could not be sent again: {error.reason}")
    if isinstance(error, Reject):
        return None, Disposition(
            "again" if error.requeue else "fail", 0, f"rejected: {error.reason}"
        )
    if isinstance(error, Ignore):
        return None, None
    if isinstance(error, WorkerLostError):
        # An ack here means that the result was stored before the worker was lost.
        return None, Disposition("policy", 0, problem)
    readable = not isinstance(error, InvalidMessage | ContentDisallowed | DecodeError)
    end = Disposition("policy" if retries and readable else "fail", 0, problem)
    return end, end


def at_least_once(app: Celery) -> None:
    """
    Make `app`'s workers run each job until its task has ended. Call it right after `Celery(…)`.

    Celery's default acknowledges a task before it runs, so the job of a killed worker counts as
    succeeded. This sets `task_acks_late` and `task_reject_on_worker_lost`, and calls `follow`, so
    that a killed worker's jobs run again, and a job whose task raised is FAILED. A task may run
    more than once and must be safe to repeat; `acks_late=False` excepts one that is not.
    """
    app.conf.update(
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        # Claims survive a lost connection, and so do the tasks that run.
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    follow(app)


def follow(app: Celery) -> None:
    """Make `app`'s workers record how tasks ended and keep messages that would be lost."""
    app.Task.Request = f"{__name__}:JobRequest"
    app.conf.worker_consumer = "aragog.pinlater.transport.worker.celery_consumer:KeepingConsumer"
    log = logging.getLogger("celery.app.trace")
    if not any(isinstance(log_filter, OneLine) for log_filter in log.filters):
        outage = Outage()
        log.addFilter(OneLine(outage, _is_outage))
        signals.after_task_publish.connect(outage.over, weak=False)


def _is_outage(error: object) -> bool:
    if isinstance(error, RunLater):
        return not error.counts
    return isinstance(error, Reject) and isinstance(error.reason, UNSENT)


def _on_pinlater(message: Any) -> bool:
    return envelope.TAGGED in (message.properties or {})
