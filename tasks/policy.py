"""The retry and acknowledgement policy of all tasks, as decorators over Celery's `shared_task`."""

from __future__ import annotations

import inspect
import random
import sys
import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NoReturn, cast

from celery import shared_task
from celery.exceptions import Ignore, Reject
from celery.utils.time import get_exponential_backoff_interval

from aragog.crawl.pipeline.outages import OUTAGES
from aragog.crawl.pipeline.url_traces import delivery
from aragog.errors import TRANSIENT, InvalidMessage, NewerMessage
from aragog.observability.instruments import STAGE_SECONDS, Observations, timed
from pinlater import gates
from pinlater.envelope import ATTEMPT_PROPERTY
from pinlater.retry_policy import RetryPolicy
from pinlater.worker import RunLater

# While the infrastructure does not respond, a task is retried for hours, after at most 1, 2, 4 … 60
# seconds. Its message stays in the broker.
MAX_BACKOFF_S = 60
MAX_RETRIES = 200
# Delay for messages that this version cannot read. An attempt takes 1 ms.
RETURN_DELAY_S = 20.0
# When the limit is reached, a message blocks its thread for LIMIT_WAIT_S, which limits how many are
# resent per second. It is then resent with the delay FULL_DELAY_S.
LIMIT_WAIT_S = 0.25
FULL_DELAY_S = 2.0


class TaskLimit:
    """
    Limits how many tasks of one kind run at once in this process. Thread-safe.

    Args:
        count: returns the limit, at least 1; called for each task.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._running = 0

    def acquire(self, wait_s: float = 0.0) -> bool:
        """Return True unless the limit is still reached after `wait_s` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._running < self._count(), wait_s):
                return False
            self._running += 1
            return True

    def release(self) -> None:
        """End a task that `acquire` has admitted."""
        with self._changed:
            self._running -= 1
            self._changed.notify()


def periodic(name: str, max_running: Callable[[], int] = lambda: 1) -> Callable[[Any], Any]:
    """
    Make a function a task that beat sends periodically, with the policy of all tasks.

    At most `max_running` of them run in a process, so a hanging server only blocks one kind of
    work. A further task returns at once, because beat sends the next one within seconds.
    """
    return stage(name, TaskLimit(max_running))


def limited(name: str, queue: str) -> Callable[[Any], Any]:
    """
    Make a function a task whose queue limits the number of jobs per process (`gates.limit`).

    With pinlater, the other jobs stay on the server. With other brokers, the worker sends them
    again with a delay, which keeps threads free for other work.
    """
    return stage(name, TaskLimit(lambda: gates.get_limit(queue) or sys.maxsize), resend=True)


def stage(
    name: str,
    limit: TaskLimit | None = None,
    *,
    resend: bool = False,
    has_result: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """
    Make a function a Celery task called `name`, with the policy of all tasks.

    A message is acknowledged after its task has run, requeued if its worker is lost, and retried
    while our own infrastructure does not respond.

    Any other exception is a defect in aragog. On pinlater, the queue's retry policy applies, and
    the job is finally marked FAILED with the reason. On other brokers, the default policy applies,
    and the message ends in the dead-letter queue. An unreadable message (`InvalidMessage`) fails at
    its first attempt. A message for a newer version (`NewerMessage`) waits for a newer worker,
    which does not count as an attempt.

    Args:
        name: the name of the task.
        limit: how many of the tasks run concurrently; None for no limit.
        resend: what happens at the limit: True sends the task again to run later, False drops it.
        has_result: True if a caller may wait for the result, provided there is a result backend.
    """

    def decorator(body: Callable[..., Any]) -> Any:
        parameters, seconds = inspect.signature(body), STAGE_SECONDS.labels(name)

        @wraps(body)
        def run(task: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise InvalidMessage(f"arguments of {name}", str(error)) from error
            delivery.set((task.request.properties or {}).get(ATTEMPT_PROPERTY, 1))
            call = partial(_run, task, name, seconds, partial(body, *args, **kwargs))
            if limit is None:
                return call()
            if not limit.acquire(LIMIT_WAIT_S if resend else 0.0):
                if resend:
                    return_message(task, f"{name}: too many run in this process", FULL_DELAY_S)
                return None
            try:
                return call()
            finally:
                limit.release()

        return _register(name, run, has_result=has_result)

    return cast("Callable[[Callable[..., Any]], Any]", decorator)


TASK_CALLS = frozenset({"apply", "apply_async", "delay", "s", "si", "signature", "subtask"})
"""Attributes that call a task or create its signature."""


def callable_module(task: Any) -> Callable[[str], Any]:
    """
    Return a `__getattr__` for a module, so that the module has the methods of its task.

    `from aragog.tasks import fetch` imports the module, so `fetch.delay(url)` looks up the
    attribute there.
    """

    def get(name: str) -> Any:
        if name in TASK_CALLS:
            return getattr(task, name)
        raise AttributeError(f"the module of the task {task.name} has no attribute {name!r}")

    return get


def _run(task: Any, name: str, seconds: Observations, call: Callable[[], Any]) -> Any:
    try:
        with timed(seconds):
            result = call()
    except TRANSIENT as error:
        OUTAGES.record_failure(name, error)
        retry_after_outage(task, error)
    except NewerMessage as error:
        return_message(task, str(error), RETURN_DELAY_S)
    except (InvalidMessage, Ignore):
        raise
    except Exception as error:
        if is_job(task.request):
            raise
        retry_after_defect(task, error)
    OUTAGES.record_success(name)
    return result


def _register(name: str, run: Callable[..., Any], *, has_result: bool) -> Any:
    return shared_task(
        name=name,
        bind=True,
        acks_late=True,
        reject_on_worker_lost=True,
        ignore_result=not has_result,
        broker_retries=True,
        max_retries=MAX_RETRIES,
    )(run)


def return_message(task: Any, reason: str, mean_delay_s: float) -> NoReturn:
    """
    Return a message to the broker, so that another worker may get it.

    Brokers other than pinlater would deliver the message again at once, so they get a copy with a
    delay instead.
    """
    wait_s = random.uniform(0.5, 1.5) * mean_delay_s
    if is_job(task.request):
        raise RunLater(reason, wait_s, counts=False)
    request = task.request
    copy = task.signature_from_request(
        request, request.args, request.kwargs, countdown=wait_s, retries=request.retries
    )
    try:
        copy.apply_async()
    # Requeue on any transport error, because the message must not be lost.
    except Exception as problem:
        raise RunLater(f"{reason}; resending failed: {problem}", counts=False) from problem
    raise Ignore(reason)


def is_job(request: Any) -> bool:
    """Return True for pinlater jobs, whose attempts pinlater counts."""
    return ATTEMPT_PROPERTY in (request.properties or {})


def retry_after_defect(task: Any, error: Exception) -> NoReturn:
    """Retry a task later after a defect. Raises the error if no attempts are left."""
    policy, attempt = RetryPolicy(), task.request.retries + 1
    if attempt >= policy.max_attempts:
        raise error
    wait_s = policy.delay_ms(attempt, random.random()) / 1000
    raise task.retry(exc=error, countdown=wait_s)


def retry_after_outage(task: Any, error: Exception) -> NoReturn:
    """
    Retry the task later, even if the broker does not accept the retry.

    Celery retries by sending a new message. If that fails, Celery would reject the current message
    and lose its batch, so this requeues it, with the delay of the queue's retry policy. The attempt
    does not count.
    """
    wait_s = get_exponential_backoff_interval(
        factor=1, retries=task.request.retries, maximum=MAX_BACKOFF_S, full_jitter=True
    )
    try:
        raise task.retry(exc=error, countdown=wait_s)
    except Reject as rejected:
        raise RunLater(str(rejected.reason), counts=False) from error
