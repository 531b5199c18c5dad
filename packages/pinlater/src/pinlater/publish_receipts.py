"""
Receipts for jobs published through Celery. `apply_async` does not return them.

    with publish_receipts.collect_receipts() as receipts:
        task.apply_async(unique_key="page 7")
    receipts[0].already_there
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pinlater.models import Enqueued

_receipts: ContextVar[list[Enqueued] | None] = ContextVar("pinlater_receipts", default=None)


@contextmanager
def collect_receipts() -> Iterator[list[Enqueued]]:
    """Collect the receipts of jobs published in the block, in order, in this thread or task."""
    receipts: list[Enqueued] = []
    token = _receipts.set(receipts)
    try:
        yield receipts
    finally:
        _receipts.reset(token)


def add(receipt: Enqueued) -> None:
    """Add a receipt if the caller collects receipts."""
    receipts = _receipts.get()
    if receipts is not None:
        receipts.append(receipt)
