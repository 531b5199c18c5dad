"""How every task of aragog behaves: a decorator over Celery's `shared_task`."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, cast

from celery import shared_task
from celery.exceptions import Reject
from celery.utils.time import get_exponential_backoff_interval

from aragog.errors import InvalidMessage, TransientError
from aragog.pinlater.policy import RetryPolicy
from aragog.pinlater.transport.envelope import TAGGED
from aragog.pinlater.transport.worker import RunLater
from aragog.pipeline.faults.outages import OUTAGES

# Retries of an infrastructure that does not answer: 1, 2, 4 … 60 s apart, for hours. The message
# stays with the broker meanwhile, and nothing is lost when it comes back.
LONGEST_BACKOFF_S = 60
MAX_RETRIES = 200


def stage(name: str) -> Callable[[Callable[..., Any]], Any]:
    """
    A Celery task called `name`: acknowledged late, given back when its worker is lost, and tried
    again while our own infrastructure does not answer.

    Anything else it raises is our defect. On pinlater the job runs again as its queue's retry
    policy says, and ends among the FAILED jobs with the reason; on other brokers the default policy
    bounds it, and its message ends in the queue of dead letters. A message that cannot be read
    (`InvalidMessage`) gets there at its first attempt.
    """

    def made(body: Callable[..., Any]) -> Any:
        parameters = inspect.signature(body)

        @wraps(body)
        def run(task: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise InvalidMessage(f"arguments of {name}", str(error)) from error
            try:
                result = body(*args, **kwargs)
            except TransientError as error:
                OUTAGES.failed(name, error)
                again(task, error)
            except InvalidMessage:
                raise
            except Exception as error:
                if is_job(task.request):
                    raise
                once_more(task, error)
            OUTAGES.succeeded(name)
            return result

        return shared_task(
            name=name,
            bind=True,
            acks_late=True,
            reject_on_worker_lost=True,
            ignore_result=True,
            broker_retries=True,
            max_retries=MAX_RETRIES,
        )(run)

    return cast("Callable[[Callable[..., Any]], Any]", made)


def is_job(request: Any) -> bool:
    """The message of this request is a job of pinlater, which counts its attempts."""
    return TAGGED in (request.properties or {})


def once_more(task: Any, error: Exception) -> NoReturn:
    """Run the task's message again, later, after a defect; raise it where it had its attempts."""
    policy, attempt = RetryPolicy(), task.request.retries + 1
    if attempt >= policy.max_attempts:
        raise error
    wait_s = policy.delay_ms(attempt, random.random()) / 1000
    raise task.retry(exc=error, countdown=wait_s)


def again(task: Any, error: TransientError) -> NoReturn:
    """
    Run the task's message once more, later, whatever does not answer.

    Celery retries by sending the message anew. Where that fails it would reject the one at hand for
    good, and the batch with it: then that one is given back instead, and waits as its queue's
    retry policy says; the attempt does not count, for a full broker is not the job's fault.
    """
    wait_s = get_exponential_backoff_interval(
        factor=1, retries=task.request.retries, maximum=LONGEST_BACKOFF_S, full_jitter=True
    )
    try:
        raise task.retry(exc=error, countdown=wait_s)
    except Reject as rejected:
        raise RunLater(str(rejected.reason), counts=False) from error
