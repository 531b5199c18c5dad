"""Retry-After, as seconds or as a date."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.headers import MAX_RETRY_AFTER_S, retry_at_ms

NOW_MS = 1_445_412_480_000  # Wed, 21 Oct 2015 07:28:00 GMT


@pytest.mark.parametrize(
    ("value", "after_s"),
    [
        ("0", 0),
        ("120", 120),
        (" 120 ", 120),
        ("1.5", 1.5),
        ("99999999999999999999", MAX_RETRY_AFTER_S),
        ("Wed, 21 Oct 2015 07:30:00 GMT", 120),
        ("Wednesday, 21-Oct-15 07:30:00 GMT", 120),
        ("Wed Oct 21 07:30:00 2015", 120),
        ("Wed, 21 Oct 2015 09:30:00 +0200", 120),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0),
        ("Wed, 21 Oct 2099 07:00:00 GMT", MAX_RETRY_AFTER_S),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, after_s):
    assert retry_at_ms(value, NOW_MS) == NOW_MS + after_s * 1000


@pytest.mark.parametrize("value", [None, "", "-1", "soon", "1e9", "²", "12:00", "1.2.3", "."])
def test_unusable_retry_after_is_ignored(value):
    assert retry_at_ms(value, NOW_MS) is None


@given(st.text(max_size=60))
def test_any_retry_after_is_within_the_next_month(value):
    at_ms = retry_at_ms(value, NOW_MS)

    assert at_ms is None or NOW_MS <= at_ms <= NOW_MS + MAX_RETRY_AFTER_S * 1000


def test_retry_date_is_relative_to_the_clock_of_the_origin():
    # A worker whose clock is an hour ahead must not take the origin's date for a past one.
    date, after = "Tue, 14 Nov 2023 21:13:20 GMT", "Tue, 14 Nov 2023 21:13:50 GMT"

    assert retry_at_ms(after, NOW_MS, date) == NOW_MS + 30_000
    assert retry_at_ms(after, NOW_MS, "no date") == retry_at_ms(after, NOW_MS)
