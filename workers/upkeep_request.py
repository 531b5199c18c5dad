"""
Report only failures of upkeep tasks (periodic maintenance) to Flower.

Beat starts about 50 upkeep tasks per minute, which would push a crawl's tasks out of Flower's
limited list. The queue page of `upkeep` shows all of them. `celeryconfig.task_annotations` refers
to this class.
"""

from __future__ import annotations

from typing import Any

from pinlater.worker import JobRequest

REPORTED_EVENTS = frozenset({"task-failed", "task-retried", "task-rejected"})


class UpkeepJobRequest(JobRequest):
    """A request for an upkeep task; reports only failures to Flower. Its `send_events` is off."""

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as Celery names it
        """Send the event if it reports a failure, with the task's name."""
        if type in REPORTED_EVENTS and self._eventer and self._eventer.enabled:
            self._eventer.send(type, uuid=self.id, name=self.name, **fields)
