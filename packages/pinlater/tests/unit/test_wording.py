"""Durations, instants and untrusted text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlater.wording import format_duration, format_time, format_time_and_distance, one_line


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999.4, "999 ms"),
        (1000, "1 s"),
        (12_540, "12.5 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_600_000, "1 h"),
        (7_260_000, "2 h 1 min"),
        (187_200_000, "2 d 4 h"),
        (-200_000, "-3 min 20 s"),
    ],
)
def test_duration_is_shown_in_its_two_largest_units(ms, text):
    assert format_duration(ms) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_duration_can_be_formatted(ms):
    assert format_duration(ms)


@given(st.integers())
def test_every_instant_can_be_formatted(ms):
    assert format_time(ms)


def test_instant_is_shown_with_its_distance_from_now():
    assert (
        format_time_and_distance(1_700_000_010_000, 1_700_000_000_000)
        == "2023-11-14 22:13:30 UTC (in 10 s)"
    )
    assert (
        format_time_and_distance(1_700_000_000_000, 1_700_000_010_000)
        == "2023-11-14 22:13:20 UTC (10 s ago)"
    )


@given(st.text(), st.integers(1, 50))
def test_untrusted_text_becomes_one_printable_line(text, limit):
    cleaned = one_line(text, limit)

    assert len(cleaned) <= limit
    assert cleaned.isprintable()


def test_terminal_escapes_are_removed():
    assert one_line("\x1b[31mred\x1b[0m\nnext") == " [31mred [0m next"
