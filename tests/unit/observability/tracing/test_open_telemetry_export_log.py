"""Log lines while no collector responds."""

import logging

from aragog.observability.tracing.open_telemetry import LOG_INTERVAL_S, MAX_CHARS, ExportErrors
from aragog.runtime.clock import ManualClock


def record(text):
    return logging.LogRecord("otlp", logging.WARNING, "", 0, text + "\nmore", (), None)


def test_one_line_a_minute_counts_the_suppressed_ones():
    clock = ManualClock(0)
    errors = ExportErrors(clock)
    first, *others = [record("refused " + "x" * 1000) for _ in range(4)]

    assert errors.filter(first)
    assert [errors.filter(other) for other in others] == [False] * 3
    assert first.getMessage().startswith("spans are not exported: refused xxx")
    assert len(first.getMessage()) < MAX_CHARS + 100
    clock.advance_ms(int(LOG_INTERVAL_S * 1000))
    last = record("refused")
    assert errors.filter(last)
    assert last.getMessage() == (
        "spans are not exported: refused (3 more since the last such line)"
    )
