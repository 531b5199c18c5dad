"""Quiet hours: spans of a day in a time zone."""

from datetime import UTC, datetime

import pytest

from aragog.crawl.politeness.quiet_hours import quiet_hours
from aragog.errors import BadInput


def at(text: str) -> float:
    """A UTC instant, in seconds."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("hours", "when", "left_min"),
    [
        ("08:00-18:00 UTC", "2026-01-10T08:00", 600),
        ("08:00-18:00 UTC", "2026-01-10T17:59", 1),
        ("08:00-18:00 UTC", "2026-01-10T18:00", 0),
        ("08:00-18:00 UTC", "2026-01-10T07:59", 0),
        ("22:00-06:00 UTC", "2026-01-10T23:00", 420),
        ("22:00-06:00 UTC", "2026-01-10T05:00", 60),
        ("22:00-06:00 UTC", "2026-01-10T12:00", 0),
        ("18:00-24:00 UTC", "2026-01-10T23:30", 30),
        ("08:00-18:00 +02:00", "2026-01-10T06:00", 600),
        ("08:00-18:00 -05:30", "2026-01-10T13:30", 600),
        ("08:00-18:00 Europe/Berlin", "2026-01-10T07:00", 600),
        ("08:00-18:00 Europe/Berlin", "2026-07-10T06:00", 600),
    ],
)
def test_remaining_time_is_computed(hours, when, left_min):
    assert quiet_hours(hours).remaining_s(at(when)) == left_min * 60


@pytest.mark.parametrize(
    "text",
    ["", "08:00-18:00", "8-18 UTC", "08:00-18:00 Mars/Crater", "25:00-18:00 UTC", "08:00-08:00 UTC",
     "08:00-24:01 UTC", "08:60-18:00 UTC", "08:00-18:00 ../etc/passwd", "08:00-18:00 +25:00"],
)  # fmt: skip
def test_invalid_span_is_refused(text):
    with pytest.raises(BadInput, match="quiet hours"):
        quiet_hours(text)


def test_quiet_hours_round_trip():
    for text in ("08:00-18:00 Europe/Berlin", "22:00-06:00 +02:00", "18:00-24:00 UTC"):
        assert str(quiet_hours(text)) == text
