"""How every task of aragog behaves: a decorator over Celery's `shared_task`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from celery import shared_task

from aragog.errors import TransientError

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
    made = shared_task(
        name=name,
        acks_late=True,
        reject_on_worker_lost=True,
        ignore_result=True,
        autoretry_for=(TransientError,),
        retry_backoff=True,
        retry_backoff_max=LONGEST_BACKOFF_S,
        max_retries=MAX_RETRIES,
    )
    return cast("Callable[[Callable[..., Any]], Any]", made)
