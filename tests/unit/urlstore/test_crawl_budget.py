"""Which pages are fetched when more are due than the domain's rate allows."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.settings import RefreshSettings
from aragog.urlstore.crawl_budget import (
    HOPELESS_AGES,
    MAX_PRICE_S,
    MAX_WAIT_S,
    Budget,
    marginal_freshness_s,
    optimistic_rate,
    ration,
)
from aragog.urlstore.records import Due
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S
from bench.refresh import Domain, replay_scarce
from bench.refresh import fixed_freshness as fixed_interval

T0 = 1_700_000_000_000


def known(every_s, age_s, *, sure=50.0, **values):
    """A page with an estimated rate of change and the time since its last comparison."""
    looked = T0 - int(age_s * 1000)
    reported = {"checks": 9, "changes": 4.0, "compared_at_ms": looked, **values}
    return RefreshState(a=sure, b_s=sure * every_s, **reported)


def due(*states):
    return [Due(f"http://a.example/{n}", T0, state) for n, state in enumerate(states)]


def numbers(urls):
    return [int(due.url.rpartition("/")[2]) for due in urls]


def test_pages_within_the_rate_go_and_nothing_is_booked():
    budget = Budget()
    done = ration(due(None, None), budget, rate_per_s=5, now_ms=T0, tick_s=4)

    assert numbers(done.go) == [0, 1]
    assert done.later == []
    assert done.budget is budget


def test_remaining_pages_are_postponed_one_after_another():
    first = ration(due(*[None] * 30), Budget(), rate_per_s=5, now_ms=T0, tick_s=4)
    again = ration(due(*[None] * 30), first.budget, rate_per_s=5, now_ms=T0 + 4000, tick_s=4)

    assert len(first.go) == len(again.go) == 20
    instants = [at_ms for _, at_ms in (*first.later, *again.later)]
    assert instants == [T0 + n * 4000 + 200 * m for n in (1, 2) for m in range(10)]


def test_domain_slower_than_the_ticks_gets_only_its_rate():
    budget, gone = Budget(), []
    for now_ms in range(T0, T0 + 200_000, 5000):
        done = ration(due(None, None), budget, rate_per_s=0.05, now_ms=now_ms, tick_s=5)
        budget = done.budget
        gone += [now_ms] * len(done.go)

    assert len(gone) == 10
    assert min(b - a for a, b in itertools.pairwise(gone)) >= 20_000


def test_most_valuable_page_goes_first():
    too_fast, quiet, worthwhile = (
        known(HOUR_S, 9 * DAY_S),
        known(900 * DAY_S, 9 * DAY_S),
        known(6 * DAY_S, 9 * DAY_S),
    )
    done = ration(due(too_fast, quiet, worthwhile), Budget(), rate_per_s=0.2, now_ms=T0, tick_s=5)

    assert numbers(done.go) == [2]


def test_page_below_the_price_is_checked_when_it_is_worth_it():
    price = Budget(price_s=2 * DAY_S, age_s=30 * DAY_S)
    states = (known(900 * DAY_S, 40 * DAY_S), known(HOUR_S, DAY_S), known(6 * DAY_S, 9 * DAY_S))
    done = ration(due(*states), price, rate_per_s=0.2, now_ms=T0, tick_s=5)
    wait_s = {int(page.url[-1]): (at_ms - T0) / 1000 for page, at_ms in done.later}

    assert marginal_freshness_s(states[0], Budget(), T0 + int(wait_s[0] * 1000)) == pytest.approx(
        2 * DAY_S, rel=0.01
    )
    assert wait_s[1] == DAY_S, "its age has doubled by then"


def test_page_that_changes_too_fast_goes_eventually():
    price = Budget(price_s=DAY_S, age_s=30 * DAY_S)
    old, other = known(HOUR_S, HOPELESS_AGES * 30 * DAY_S), known(HOUR_S, 20 * DAY_S)

    assert marginal_freshness_s(old, price, T0) >= DAY_S > marginal_freshness_s(other, price, T0)
    done = ration(due(other, old), price, rate_per_s=0.2, now_ms=T0, tick_s=5)
    assert numbers(done.go) == [1]
    assert done.later[0][1] - T0 == 20 * DAY_S * 1000


def test_failing_and_never_compared_pages_are_worth_a_fetch():
    for state in (None, RefreshState(), known(HOUR_S, 9, failures=2), known(HOUR_S, 9, gone=1)):
        assert marginal_freshness_s(state, Budget(price_s=DAY_S), T0) > DAY_S


def test_estimated_rate_is_low_until_a_page_changed_at_many_checks():
    unsure, sure = known(DAY_S, 9, sure=0.5), known(DAY_S, 9, sure=9)
    restless = known(DAY_S, 9, sure=9, checks=9, changes=9.0)

    assert (
        optimistic_rate(unsure)
        < optimistic_rate(sure)
        < sure.rate_per_s
        < optimistic_rate(restless)
    )


def test_short_rush_hardly_raises_the_price_but_a_long_one_does():
    def price_after(ticks):
        budget = Budget()
        for n in range(ticks):
            now_ms = T0 + n * 60_000
            some = due(*[known(DAY_S, DAY_S, compared_at_ms=now_ms - 86_400_000)] * 40)
            budget = ration(some, budget, rate_per_s=0.1, now_ms=now_ms, tick_s=60).budget
        return budget.price_s

    assert price_after(60) < 90
    assert price_after(60 * 24 * 4) > HOUR_S


def test_price_falls_when_the_domain_has_capacity_again():
    budget = Budget(price_s=DAY_S, age_s=DAY_S, at_ms=T0 - 5000)
    for n in range(400):
        now_ms = T0 + n * 600_000
        state = known(DAY_S, DAY_S, compared_at_ms=now_ms - 86_400_000)
        done = ration(due(state), budget, rate_per_s=5, now_ms=now_ms, tick_s=5)
        budget = done.budget
        assert numbers(done.go) == [0], "available capacity is always used"

    assert budget.price_s == 0


states = st.none() | st.builds(
    RefreshState,
    a=st.floats(0.3, 500),
    b_s=st.floats(1, 1e9),
    checks=st.integers(0, 99),
    changes=st.floats(0, 99),
    compared_at_ms=st.integers(T0 - 10**11, T0 + 10**6),
    failures=st.integers(0, 1),
)
budgets = st.builds(
    Budget,
    booked_ms=st.integers(0, T0 * 2),
    free_ms=st.integers(0, T0 * 2),
    price_s=st.just(0.0) | st.floats(60, MAX_PRICE_S),
    age_s=st.just(0.0) | st.floats(1, 1e8),
    at_ms=st.integers(0, T0 + 10**6),
)


@given(st.lists(states, max_size=40), budgets, st.floats(1e-4, 100), st.floats(1, 60))
def test_each_page_goes_or_is_postponed_within_the_rate(some, budget, rate, tick_s):
    pages = due(*some)
    done = ration(pages, budget, rate_per_s=rate, now_ms=T0, tick_s=tick_s)

    assert sorted(numbers([*done.go, *(page for page, _ in done.later)])) == list(range(len(some)))
    assert len(done.go) <= rate * tick_s + 1
    assert 0 <= done.budget.price_s <= MAX_PRICE_S
    for page, at_ms in done.later:
        assert at_ms > T0
        behind = done.budget.booked_ms
        assert at_ms <= max(behind, T0 + max(MAX_WAIT_S, tick_s) * 1000 + 1), page


def test_overloaded_domain_is_fresher_than_with_equal_turns():
    part, _ = replay_scarce("products alone", 300, 120, 10, 1.0, seed=1)
    window_s = 5 * 120 * DAY_S
    by_turns = fixed_interval(part.rates, window_s * 300 / part.fetches)

    assert part.fetches == pytest.approx(5 * 300, rel=0.02), "the whole share is used"
    assert part.fresh_s / window_s / 300 > 1.1 * by_turns


def test_noisiest_pages_of_an_overloaded_domain_are_still_fetched():
    domain = Domain("with noise", 200, 120, RefreshSettings(), seed=2)
    domain.run(12)
    noisy = [page for page in domain.pages if page.every_s == 60]
    since_s = [12 * 120 * DAY_S - page.fetched_ms / 1000 for page in noisy]

    assert max(since_s) < 9 * 120 * DAY_S
