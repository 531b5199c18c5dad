"""Dates and times: time zones in every spelling, and partly unreadable times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import ld, pin

from richpins.values.dates import moment

DAY = "2024-05-01T10:00:00"


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("Z", "+00:00"), (" UTC", "+00:00"), ("UTC", "+00:00"), (" GMT", "+00:00"), (" UT", "+00:00"),
        ("+00:00", "+00:00"), ("-00:00", "+00:00"), ("-0000", "+00:00"), ("+00:00Z", "+00:00"),
        (" +0000 UTC", "+00:00"), ("+02:00", "+02:00"), ("+0200", "+02:00"), ("+02", "+02:00"),
        ("+2", "+02:00"), ("+2:00", "+02:00"), ("+5:30", "+05:30"), ("+530", "+05:30"),
        ("−05:00", "-05:00"), (" GMT+01:00", "+01:00"), ("GMT+1", "+01:00"), (" GMT +0100", "+01:00"),
        (" UTC-3", "-03:00"), (" UTC + 5:45", "+05:45"), (" UTC+05:30", "+05:30"), (" CEST", "+02:00"),
        (" (MESZ)", "+02:00"), (" +0200 (CEST)", "+02:00"), (" +0200 CEST", "+02:00"),
        (" GMT+0200 (Central European Summer Time)", "+02:00"), ("+02:00[Europe/Berlin]", "+02:00"),
        ("+02:00:00", "+02:00"), (" EST", ""), (" IST", ""), ("[Europe/Berlin]", ""),
        (" Etc/GMT-1", ""), (" Europe/Berlin", ""), ("", ""),
    ],
)  # fmt: skip
def test_time_zone_is_parsed_in_every_spelling(zone, offset):
    assert moment(f"{DAY}{zone}").isoformat() == f"{DAY}{offset}"


@pytest.mark.parametrize(
    "zone",
    [
        "+01:00Z",
        " GMT+1 GMT+2",
        "+25:00",
        "+14:30",
        "+01:17",
        "+01:99",
        " - 11:30",
        ".5.5",
        "7",
        " 7",
    ],
)
def test_impossible_or_second_time_zone_makes_the_time_invalid(zone):
    assert moment(f"{DAY}{zone}") is None


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2025-3-4", "2025-03-04"), ("2025-3-4 9:05", "2025-03-04T09:05:00"),
        ("2025-03-4T09:05Z", "2025-03-04T09:05:00+00:00"), ("2025/3/4", "2025-03-04"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59+00:00"),
        ("2017-01-01T00:59:60+01:00", "2017-01-01T00:59:59+01:00"),
        ("2017-01-01T05:29:60+05:30", "2017-01-01T05:29:59+05:30"),
        ("2024-05-01T24:00", "2024-05-02T00:00:00"), ("2024-05-01T24:00:00Z", "2024-05-02T00:00:00+00:00"),
        ("20240501103000", "2024-05-01T10:30:00"), ("202405011030", "2024-05-01T10:30:00"),
        ("20240501T103000Z", "2024-05-01T10:30:00+00:00"),
        ("2024-05-01T10:00:00.123456789012Z", "2024-05-01T10:00:00.123456+00:00"),
        ("Wed May 01 2024 10:00:00 GMT+02:00", "2024-05-01T10:00:00+02:00"),
        ("Wed May 01 2024 10:00:00 UTC+2", "2024-05-01T10:00:00+02:00"),
        ("Wed May  1 10:00:00 2024", "2024-05-01T10:00:00"),
        ("Wed, 01 May 2024 10:00:00 GMT+1", "2024-05-01T10:00:00+01:00"),
        ("1 May 2024 10:00 UTC+2", "2024-05-01T10:00:00+02:00"),
        ("May 1, 2024 10:00 p. m.", "2024-05-01T22:00:00"),
        ("May 1, 2024 10:00 PM EST", "2024-05-01T22:00:00"),
        ("1. Mai 2024, 10:00 Uhr MESZ", "2024-05-01T10:00:00+02:00"),
        ("31.12.2023 10:00 UTC+1", "2023-12-31T10:00:00+01:00"),
        ("12/31/2023 10:00 PM", "2023-12-31T22:00:00"),
        ("2019年3月4日 下午 3:05", "2019-03-04T15:05:00"), ("2019年3月4日 3:05 PM", "2019-03-04T15:05:00"),
        ("2019年3月4日 上午 3:05", "2019-03-04T03:05:00"),
        ("2019년 3월 4일 오후 3:05", "2019-03-04T15:05:00"),
        ("2019年3月4日 15:05:30 GMT+8", "2019-03-04T15:05:30+08:00"),
        ("2024-05-01 10:00 下午", "2024-05-01"), ("May 1, 2024 10:00 μ.μ.", "2024-05-01"),
    ],
)  # fmt: skip
def test_common_notations_of_dates_are_parsed(text, iso):
    assert moment(text).isoformat() == iso


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T24:30", "2024-05-01T25:00", "2024-05-01T99:00", "2024-05-01 14:00 am",
        "2024-05-01 0:30 pm", "2016-12-31T22:10:60Z", "2016-12-31T10:10:60", "2024-05-01T10:00:61",
        "2024-034", "2024050110", "2025-3", "1-2-2025", "2025-13-4", "2025-2-30", "May 1, 0024",
    ],
)  # fmt: skip
def test_impossible_times_are_ignored(text):
    assert moment(text) is None


ZONES = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
PREFIXES = st.sampled_from(["", " ", " GMT", " UTC", "GMT"])


@given(st.datetimes(timezones=ZONES), st.integers(1971, 2198), PREFIXES)
def test_instant_round_trips_with_any_prefix_of_its_offset(when, year, prefix):
    when = when.replace(year=year, day=min(when.day, 28))
    text = when.isoformat()

    assert moment(f"{text[:-6]}{prefix}{text[-6:]}") == when
    assert moment(f"{text[:-6]}{prefix}{text[-6:].replace(':', '')}") == when


@given(st.text("0123456789-:TZ+. GMTUC年月日", max_size=30))
def test_time_with_another_offset_is_never_parsed_as_utc(text):
    when = moment(text)

    if isinstance(when, datetime) and when.tzinfo is UTC and not text.isdigit():
        assert any(mark in text for mark in ("Z", "UT", "GMT", "+0", "-0"))


def test_published_date_with_a_gmt_offset_is_not_hours_off():
    page = pin(ld({"@type": "Article", "headline": "A", "datePublished": f"{DAY} GMT+05:30"}))

    assert page.published_at == datetime(2024, 5, 1, 4, 30, tzinfo=UTC)
