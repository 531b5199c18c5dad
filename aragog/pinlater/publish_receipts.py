"""
What became of jobs published through Celery, whose `apply_async` cannot say it.

    with answers.heard() as told:
        task.apply_async(unique_key="page 7")
    told[0].already_there
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aragog.pinlater.models import Enqueued

_told: ContextVar[list[Enqueued] | None] = ContextVar("pinlater_answers", default=None)


@contextmanager
def collect_receipts() -> Iterator[list[Enqueued]]:
    """Answers to the jobs published inside, in order, in this thread or task."""
    told: list[Enqueued] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def note(answer: Enqueued) -> None:
    """Tell whoever listens."""
    told = _told.get()
    if told is not None:
        told.append(answer)
