"""A scheduler for beat that keeps sending tasks after the machine's clock was set back."""

from __future__ import annotations

import logging
from typing import Any

from celery.beat import PersistentScheduler

log = logging.getLogger(__name__)


class SteadyScheduler(PersistentScheduler):  # type: ignore[misc]
    """
    Sends tasks at their intervals, even if the clock was wrong when they were previously sent.

    Celery's scheduler sends a task when its interval has passed since it last sent the task. If the
    clock was a day ahead, it would send nothing for a day.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send one task that is due. Returns the seconds until the next call."""
        future_entries = [entry for entry in self.schedule.values() if _is_ahead(entry)]
        if future_entries:
            log.warning(
                "the clock was set back: the intervals of %d tasks restart now", len(future_entries)
            )
            for entry in future_entries:
                entry.last_run_at = entry.default_now()
            self._heap = None  # rebuild the heap, because its times are from the old clock
        seconds: float = super().tick(*args, **kwargs)
        return seconds


def _is_ahead(entry: Any) -> bool:
    is_ahead: bool = entry.schedule.maybe_make_aware(entry.last_run_at) > entry.default_now()
    return is_ahead
