"""The retry and acknowledgement policy of all tasks: a decorator over Celery's `shared_task`."""

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
from pinlater.envelope import TAGGED
from pinlater.retry_policy import RetryPolicy
from pinlater.worker import RunLater

# While the infrastructure does not answer, a task is retried 1, 2, 4 … 60 s apart, for hours. The
# message stays in the broker in the meantime, so nothing is lost.
LONGEST_BACKOFF_S = 60
MAX_RETRIES = 200
# How long a message waits that this version cannot read: a worker has 1 ms of work with each.
GIVE_BACK_S = 20.0
# How long a message without a place holds a thread, which bounds how many are sent again a second,
# and after how long it is then sent again.
PATIENCE_S = 0.25
FULL_S = 2.0


class TaskPlaces:
    """
    The places of one kind of task in this process; thread-safe.

    Args:
        count: how many tasks of the kind may run at once, asked each time; at least 1.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._taken = 0

    def take(self, wait_s: float = 0.0) -> bool:
        """Take a place, after at most `wait_s`; False if all are taken."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._taken < self._count(), wait_s):
                return False
            self._taken += 1
            return True

    def give_back(self) -> None:
        """Give back a place that `take` returned True for."""
        with self._changed:
            self._taken -= 1
            self._changed.notify()


def periodic(name: str, at_most: Callable[[], int] = lambda: 1) -> Callable[[Any], Any]:
    """
    Make a function a task that beat sends again and again, with the policy of all tasks.

    At most `at_most` of them run in a process; one more ends at once, because beat sends the next
    in seconds. So a server that hangs holds the threads of one kind of work, and no others.
    """
    return stage(name, TaskPlaces(at_most))


def limited(name: str, queue: str) -> Callable[[Any], Any]:
    """
    Make a function a task of a queue of which a process may have a limited number (`gates.limit`).

    A pinlater broker keeps the others on the server. Of another one a worker has them already: they
    are sent again, to be run a little later, so that they do not hold the threads of other work.
    """
    return stage(name, TaskPlaces(lambda: gates.limit_of(queue) or sys.maxsize), again=True)


def stage(
    name: str,
    places: TaskPlaces | None = None,
    *,
    again: bool = False,
    has_result: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """
    Make a function a Celery task called `name`, with the policy of all tasks.

    Its message is acknowledged late, is requeued when its worker is lost, and is retried while our
    own infrastructure does not answer.

    Any other exception is a defect in aragog. On pinlater, the job runs again according to its
    queue's retry policy and finally becomes a FAILED job with the reason. On other brokers, the
    default policy limits the attempts, and the message ends in the dead-letter queue. A message
    that nobody can read (`InvalidMessage`) fails for good at its first attempt. One that only a
    newer version can read (`NewerMessage`) waits for a worker of it, and that is no attempt.

    Args:
        name: of the task.
        places: how many may run at once; None: any number.
        again: one without a place is run later, instead of never.
        has_result: a caller may wait for its result, if there is a result backend.
    """

    def decorator(body: Callable[..., Any]) -> Any:
        parameters, seconds = inspect.signature(body), STAGE_SECONDS.of(name)

        @wraps(body)
        def run(task: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise InvalidMessage(f"arguments of {name}", str(error)) from error
            delivery.set((task.request.properties or {}).get(TAGGED, 1))
            call = partial(_run, task, name, seconds, partial(body, *args, **kwargs))
            if places is None:
                return call()
            if not places.take(PATIENCE_S if again else 0.0):
                if again:
                    give_back(task, f"{name} has no room here", FULL_S)
                return None
            try:
                return call()
            finally:
                places.give_back()

        return _shared(name, run, has_result=has_result)

    return cast("Callable[[Callable[..., Any]], Any]", decorator)


CALLS = frozenset({"apply", "apply_async", "delay", "s", "si", "signature", "subtask"})
"""How a task is called, or asked for its signature."""


def called_as(task: Any) -> Callable[[str], Any]:
    """
    Make the `__getattr__` of a task's module: the module is called as its task is.

    `from aragog.tasks import fetch` gives the module, so `fetch.delay(url)` is asked of it.
    """

    def get(name: str) -> Any:
        if name in CALLS:
            return getattr(task, name)
        raise AttributeError(f"the module of the task {task.name} has no attribute {name!r}")

    return get


def _run(task: Any, name: str, seconds: Observations, call: Callable[[], Any]) -> Any:
    """The result of a call; what it raises decides whether, and when, its message runs again."""
    try:
        with timed(seconds):
            result = call()
    except TRANSIENT as error:
        OUTAGES.failed(name, error)
        retry_after_outage(task, error)
    except NewerMessage as error:
        give_back(task, str(error), GIVE_BACK_S)
    except (InvalidMessage, Ignore):
        raise
    except Exception as error:
        if is_job(task.request):
            raise
        retry_after_defect(task, error)
    OUTAGES.succeeded(name)
    return result


def _shared(name: str, run: Callable[..., Any], *, has_result: bool) -> Any:
    """The function as a task of every app, with what Celery must know of the policy."""
    return shared_task(
        name=name,
        bind=True,
        acks_late=True,
        reject_on_worker_lost=True,
        ignore_result=not has_result,
        broker_retries=True,
        max_retries=MAX_RETRIES,
    )(run)


def give_back(task: Any, why: str, about_s: float) -> NoReturn:
    """
    Give a message back that cannot be worked on now; another worker may get it next time.

    A broker other than pinlater gives a requeued message back at once, so it is sent again there,
    unchanged and with a delay.
    """
    wait_s = random.uniform(0.5, 1.5) * about_s
    if is_job(task.request):
        raise RunLater(why, wait_s, counts=False)
    request = task.request
    again = task.signature_from_request(
        request, request.args, request.kwargs, countdown=wait_s, retries=request.retries
    )
    try:
        again.apply_async()
    # Any error of the transport: the message must not be lost.
    except Exception as problem:
        raise RunLater(f"{why}; it could not be sent again: {problem}", counts=False) from problem
    raise Ignore(why)


def is_job(request: Any) -> bool:
    """Whether the request's message is a pinlater job; pinlater counts the attempts of its jobs."""
    return TAGGED in (request.properties or {})


def retry_after_defect(task: Any, error: Exception) -> NoReturn:
    """Retry the task later after a defect; raise the error when no attempts are left."""
    policy, attempt = RetryPolicy(), task.request.retries + 1
    if attempt >= policy.max_attempts:
        raise error
    wait_s = policy.delay_ms(attempt, random.random()) / 1000
    raise task.retry(exc=error, countdown=wait_s)


def retry_after_outage(task: Any, error: Exception) -> NoReturn:
    """
    Retry the task later, even if the broker does not accept the retry.

    Celery retries by sending a new message. If that fails, Celery would reject the current message
    for good and lose its batch. The current message is requeued instead and waits according to its
    queue's retry policy. This attempt does not count, because a full broker is not the job's fault.
    """
    wait_s = get_exponential_backoff_interval(
        factor=1, retries=task.request.retries, maximum=LONGEST_BACKOFF_S, full_jitter=True
    )
    try:
        raise task.retry(exc=error, countdown=wait_s)
    except Reject as rejected:
        raise RunLater(str(rejected.reason), counts=False) from error
