"""What a sitemap entry means for a stored page."""

import pytest

from aragog.settings import RefreshSettings
from aragog.urlstore.signal_marks import (
    PageMark,
    ReportedChange,
    expected_change,
    from_cell,
    has_mostly_response_dates,
    is_new_report,
    is_worth_a_fetch,
    to_cell,
)
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
MIDNIGHT_MS = 1_700_000_000_000 // DAY_MS * DAY_MS
NOON_MS = MIDNIGHT_MS + 12 * HOUR_MS
URL = "http://site.example/a"
SETTINGS = RefreshSettings()


def instant(at_ms):
    return ReportedChange(URL, at_ms, at_ms)


TODAY = ReportedChange(URL, MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS - 1)


def test_change_after_the_last_comparison_is_news():
    later = instant(NOON_MS + HOUR_MS)

    assert is_new_report(later, None, NOON_MS, NOON_MS + 2 * HOUR_MS)
    assert not is_new_report(instant(NOON_MS - 1), None, NOON_MS, NOON_MS + 2 * HOUR_MS)


def test_repeated_date_is_only_news_in_the_same_reading():
    read_ms = NOON_MS + 2 * HOUR_MS
    change = instant(NOON_MS + HOUR_MS)
    mark = PageMark(change.start_ms, read_ms)

    assert is_new_report(change, mark, NOON_MS, read_ms)
    assert not is_new_report(change, mark, NOON_MS, read_ms + HOUR_MS)


def test_page_fetched_after_the_file_is_up_to_date():
    assert not is_new_report(instant(NOON_MS + 1), None, NOON_MS + HOUR_MS, NOON_MS + HOUR_MS)


def test_future_date_is_not_a_change():
    assert not is_new_report(instant(NOON_MS + DAY_MS), None, NOON_MS, NOON_MS + HOUR_MS)


def test_day_of_a_change_is_news_once_even_after_a_comparison_that_day():
    before = PageMark(MIDNIGHT_MS - DAY_MS)
    read_ms = NOON_MS + HOUR_MS

    assert is_new_report(TODAY, before, NOON_MS, read_ms)
    assert not is_new_report(
        TODAY, PageMark(TODAY.start_ms, read_ms), read_ms + 1, read_ms + HOUR_MS
    )


@pytest.mark.parametrize(
    ("dates", "stamp"), [([0, 0, 0], True), ([0, 0, 5, 5], False), ([0], False)]
)
def test_file_dated_mostly_at_its_response_is_a_stamp(dates, stamp):
    entries = [instant(NOON_MS - hours * HOUR_MS) for hours in dates]

    assert has_mostly_response_dates(entries, NOON_MS + 900) is stamp


def test_page_that_changes_constantly_is_not_fetched_for_each_signal():
    assert is_worth_a_fetch(1 / (30 * DAY_S), 7 * DAY_S, 0.9, SETTINGS)
    assert not is_worth_a_fetch(1 / HOUR_S, 7 * DAY_S, 1.0, SETTINGS)
    assert not is_worth_a_fetch(1 / (30 * DAY_S), 7 * DAY_S, 0.0, SETTINGS)


def test_probability_of_a_change_follows_the_rate_of_the_page():
    assert expected_change(1 / DAY_S, DAY_S) == pytest.approx(0.632, abs=0.001)
    assert expected_change(0.0, DAY_S) == 0


@pytest.mark.parametrize("mark", [PageMark(), PageMark(1, 2, 0.5, covered=False, kind="feed")])
def test_mark_round_trips_through_its_cell(mark):
    assert from_cell(to_cell(mark)) == mark


@pytest.mark.parametrize("cell", [None, b"", b"[9, 1]", b"[1, 2]"])
def test_cell_of_another_version_is_ignored(cell):
    assert from_cell(cell) is None
