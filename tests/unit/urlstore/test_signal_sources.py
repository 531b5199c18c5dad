"""When a sitemap or feed is read again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.settings import RefreshSettings
from aragog.urlstore.refresh_policy import RefreshState, Seen, decide
from aragog.urlstore.signal_sources import (
    first_belief,
    min_gain_s,
    read_belief,
    reading_gain_s,
    reading_interval_s,
)
from aragog.urlstore.usual_intervals import DAY_S, FEED, HOUR_S, SITEMAP

SETTINGS = RefreshSettings()
T0 = 1_700_000_000_000


def read(at_ms, signals=0.0, outcome="Fetched", kind=SITEMAP):
    return Seen(outcome=outcome, fetched_at_ms=at_ms, source=kind, signal_count=signals)


def after(*brought, kind=SITEMAP, outcome="Fetched"):
    """The state after on-time readings, with the number of signals from each."""
    state, due = decide(None, read(T0, kind=kind), (), (), SETTINGS)
    for number in brought:
        state, due = decide(state, read(due, number, outcome, kind), (), (), SETTINGS)
    return state


@pytest.mark.parametrize(("kind", "usual_s"), [(SITEMAP, DAY_S), (FEED, 6 * HOUR_S)])
def test_new_file_is_reread_after_its_usual_interval(kind, usual_s):
    a, b_s = first_belief(kind, SETTINGS)

    assert reading_interval_s(a / b_s, SETTINGS) == pytest.approx(usual_s)
    assert after(kind=kind).interval_s == pytest.approx(usual_s)


def test_file_with_many_signals_is_read_often_and_one_without_any_rarely():
    lively, quiet = after(20, 20, 20, 20), after(0, 0, 0, 0)

    assert lively.interval_s < DAY_S / 3
    assert quiet.interval_s > 1.5 * DAY_S


def test_a_304_gives_no_signals():
    assert after(0, 0, outcome="NotModified").interval_s == after(0, 0).interval_s


def test_file_that_becomes_active_is_read_more_often():
    asleep = after(*[0] * 20)
    awake = after(*[0] * 20, 30, 30)

    assert awake.interval_s < asleep.interval_s / 4


def test_missing_file_is_given_up():
    state, due = None, T0
    for _ in range(SETTINGS.gone_confirmations):
        state, due = decide(state, read(due, outcome="Gone"), (), (), SETTINGS)

    assert (due, state.page_type) == (None, SITEMAP)


def test_no_file_is_reread_with_signals_disabled():
    off = RefreshSettings(signals=False)

    assert decide(None, read(T0), (), (), off)[1] is None


def test_page_newly_read_as_a_sitemap_starts_over():
    page = RefreshState(a=3, b_s=1000, compared_at_ms=T0, checked_at_ms=T0, page_type="product")

    state, _ = decide(page, read(T0 + 1000), (), (), SETTINGS)

    assert (state.page_type, state.checks) == (SITEMAP, 0)


@given(st.floats(1e-9, 1), st.floats(1.0, 1e7))
def test_due_reading_gains_as_much_as_any_other_fetch(rate, age_s):
    every_s = reading_interval_s(rate, SETTINGS)

    assert math.isclose(reading_gain_s(rate, every_s), min_gain_s(SETTINGS), rel_tol=1e-6)
    assert (reading_gain_s(rate, age_s) >= min_gain_s(SETTINGS)) == (age_s >= every_s) or (
        math.isclose(age_s, every_s, rel_tol=1e-9)
    )


@given(st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 1e4)), max_size=30))
def test_belief_stays_positive(readings):
    a, b_s = first_belief(SITEMAP, SETTINGS)
    for passed_s, brought in readings:
        a, b_s = read_belief(a, b_s, passed_s, brought)

    assert a > 0
    assert b_s > 0
