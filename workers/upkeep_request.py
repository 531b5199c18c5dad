"""
Upkeep in Flower's list of tasks: only what went wrong.

Beat starts six tasks of upkeep, together about 50 per minute, also while nothing is crawled. Flower
remembers a bounded number of tasks, so these would push the tasks of a crawl out of its list. The
page of the queue `upkeep` shows all of them. `celeryconfig.task_annotations` names the class.
"""

from __future__ import annotations

from typing import Any

from pinlater.worker import JobRequest

NEWS = frozenset({"task-failed", "task-retried", "task-rejected"})


class UpkeepJobRequest(JobRequest):
    """A task in a worker that tells Flower only of failures; its `send_events` is off."""

    def send_event(self, type: str, **fields: Any) -> None:  # noqa: A002 - as Celery names it
        """Send the event if it is news, with the name that the event of its arrival would have."""
        if type in NEWS and self._eventer and self._eventer.enabled:
            self._eventer.send(type, uuid=self.id, name=self.name, **fields)
