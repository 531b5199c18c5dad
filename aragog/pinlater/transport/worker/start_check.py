"""A worker that starts warns of tasks whose jobs would be lost with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery import Celery
from celery.signals import worker_ready

logger = logging.getLogger(__name__)

CALL = "aragog.pinlater.transport.worker.at_least_once(app)"
MOST_NAMES = 5
EARLY = "a killed worker's jobs do not run again: tasks are acknowledged before they run"


@worker_ready.connect  # type: ignore[untyped-decorator]
def warn(sender: Any, **_: Any) -> None:
    """Log what `remarks` says of the worker's app."""
    for remark in remarks(sender.app):
        logger.warning(remark)


def remarks(app: Celery) -> list[str]:
    """
    Return which tasks lose their jobs when a worker is killed or a task raises. Pure.

    A task that differs from the app's own setting does so on purpose.
    """
    own = {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}
    early = [name for name, task in own.items() if not (app.conf.task_acks_late or task.acks_late)]
    lost = [
        name
        for name, task in own.items()
        if name not in early
        and not (app.conf.task_reject_on_worker_lost or task.reject_on_worker_lost)
    ]
    silent = [name for name, task in own.items() if not _records_ends(task)]
    return [
        f"{problem} ({_some(names)}); call {CALL} after Celery(…)"
        for names, problem in (
            (
                early,
                "a killed worker's jobs do not run again: tasks are acknowledged before they run",
            ),
            (lost, "the job of a task whose process dies does not run again"),
            (silent, "the job of a task that raises counts as succeeded"),
        )
        if names
    ]


def _records_ends(task: Any) -> bool:
    return "JobRequest" in str(task.Request)


def _some(names: Iterable[str]) -> str:
    every = sorted(names)
    more = len(every) - MOST_NAMES
    return ", ".join(every[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
