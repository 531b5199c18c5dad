"""
Keep the log short while no collector takes the spans.

The exporter logs each attempt with the whole error, half a line a second in each process. This
filter keeps one line a minute, which says how many others were dropped.
"""

from __future__ import annotations

import logging

from aragog.runtime.clock import Clock, SystemClock

EVERY_S = 60.0
MOST_CHARS = 300


class ExportErrors(logging.Filter):
    """A filter for the loggers of OpenTelemetry's exporter: one short line a minute."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._logged_s: float | None = None
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged; if so, it is shortened to one line."""
        now_s = self._clock.monotonic_s()
        if self._logged_s is not None and now_s < self._logged_s + EVERY_S:
            self._dropped += 1
            return False
        self._logged_s, dropped, self._dropped = now_s, self._dropped, 0
        text = record.getMessage().partition("\n")[0][:MOST_CHARS]
        record.msg = "spans are not exported: %s (%d more since the last such line)"
        record.args = (text, dropped)
        record.exc_info = record.exc_text = None
        return True
