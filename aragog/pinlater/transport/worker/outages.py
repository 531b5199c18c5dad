"""
Log filter that reports a broker outage with one line at its start and one at its end.

While a broker is full, every task that must be sent again returns to its queue, and Celery logs a
traceback for each: 10 MB a minute were observed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

logger = logging.getLogger(__name__)


class Outage:
    """An outage as this process sees it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_back = 0

    def record_returned_job(self, reason: str) -> None:
        """Record that a job returned to its queue because of the outage."""
        with self._lock:
            self._given_back += 1
            first = self._given_back == 1
        if first:
            logger.warning("messages cannot be sent, jobs are returned to their queues: %s", reason)

    def over(self, **_: Any) -> None:
        """Record that a message was sent."""
        if self._given_back:
            with self._lock:
                count, self._given_back = self._given_back, 0
            if count:
                logger.warning("messages can be sent again; jobs were returned %d times", count)


class OneLine(logging.Filter):
    """
    Drops and counts Celery's log records of jobs that were returned because of an outage.

    Args:
        outage: counts the jobs.
        is_outage: returns whether a task with this exception was returned because of an outage.
    """

    def __init__(self, outage: Outage, is_outage: Callable[[object], bool]) -> None:
        super().__init__()
        self._outage = outage
        self._is_outage = is_outage

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not self._is_outage(error):
            return True
        self._outage.record_returned_job(str(getattr(error, "reason", error)))
        return False
