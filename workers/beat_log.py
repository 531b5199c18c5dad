"""
Keep the log of beat, the scheduler, short while the broker does not accept messages.

Beat logs a traceback of about 2.5 KB for each unsent task: 40 MB in an hour with a full broker. The
filter keeps one line per minute and adds how many it dropped.
"""

from __future__ import annotations

import logging

from aragog.runtime.clock import Clock, SystemClock

INTERVAL_S = 60.0
_MESSAGE_PREFIX = "Message Error: "


class BeatErrors(logging.Filter):
    """A filter for the logger `celery.beat`."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._logged_at_s: float | None = None
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True to log the record, shortened to one line."""
        if not str(record.msg).startswith(_MESSAGE_PREFIX):
            return True
        now_s = self._clock.monotonic_s()
        if self._logged_at_s is not None and now_s < self._logged_at_s + INTERVAL_S:
            self._dropped += 1
            return False
        self._logged_at_s, dropped, self._dropped = now_s, self._dropped, 0
        args = record.args if isinstance(record.args, tuple) else ()
        record.msg = (
            "beat cannot send messages and will retry: %s (%d more since the previous such line)"
        )
        record.args = (args[0] if args else "", dropped)
        record.exc_info = record.exc_text = None
        return True
