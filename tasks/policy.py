"""How every task of aragog behaves: a decorator over Celery's `shared_task`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, cast

from celery import shared_task
from celery.exceptions import Reject
from celery.utils.time import get_exponential_backoff_interval

from aragog.errors import TransientError
from aragog.pinlater.worker import RunLater

# Retries of an infrastructure that does not answer: 1, 2, 4 … 60 s apart, for hours. The message
# stays with the broker meanwhile, and nothing is lost when it comes back.
LONGEST_BACKOFF_S = 60
MAX_RETRIES = 200


def stage(name: str) -> Callable[[Callable[..., Any]], Any]:
    """
    A Celery task called `name`: acknowledged late, given back when its worker is lost, and tried
    again while our own infrastructure does not answer. Anything else it raises is our defect: the
    broker's attempts bound it, and it ends among the FAILED jobs with the reason.
    """

    def made(body: Callable[..., Any]) -> Any:
        @wraps(body)
        def run(task: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return body(*args, **kwargs)
            except TransientError as error:
                again(task, error)

        return shared_task(
            name=name,
            bind=True,
            acks_late=True,
            reject_on_worker_lost=True,
            ignore_result=True,
            max_retries=MAX_RETRIES,
        )(run)

    return cast("Callable[[Callable[..., Any]], Any]", made)


def again(task: Any, error: TransientError) -> NoReturn:
    """
    Run the task's message once more, later, whatever does not answer.

    Celery retries by sending the message anew. Where that fails it would reject the one at hand for
    good, and the bundle with it: then that one is given back instead, and waits as its queue's
    retry policy says: half an hour in all, as delivered, before it counts as FAILED.
    """
    wait_s = get_exponential_backoff_interval(
        factor=1, retries=task.request.retries, maximum=LONGEST_BACKOFF_S, full_jitter=True
    )
    try:
        raise task.retry(exc=error, countdown=wait_s)
    except Reject as rejected:
        raise RunLater(str(rejected.reason)) from error
