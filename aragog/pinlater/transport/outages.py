"""
One line when messages cannot be sent, and one when they can again, instead of one a task.

While a broker is full every task that wants to be sent again is given back, with a traceback each
in Celery's log: 10 MB a minute, seen.
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

    def met(self, why: str) -> None:
        """A job was given back because of it."""
        with self._lock:
            self._given_back += 1
            first = self._given_back == 1
        if first:
            logger.warning("messages cannot be sent, jobs are given back and wait: %s", why)

    def over(self, **_: Any) -> None:
        """A message was sent."""
        if self._given_back:
            with self._lock:
                count, self._given_back = self._given_back, 0
            if count:
                logger.warning("messages can be sent again; jobs were given back %d times", count)


class OneLine(logging.Filter):
    """
    Drops Celery's records of jobs that were given back because of an outage, and counts them.

    Args:
        outage: counts them.
        is_outage: whether a task that ended with this exception was given back for one.
    """

    def __init__(self, outage: Outage, is_outage: Callable[[object], bool]) -> None:
        super().__init__()
        self._outage = outage
        self._is_outage = is_outage

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if not self._is_outage(error):
            return True
        self._outage.met(str(getattr(error, "reason", error)))
        return False
