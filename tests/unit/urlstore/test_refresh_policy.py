"""When a page is fetched again: what makes it sooner, later or never."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import interval_s, kind_of, ratio
from aragog.urlstore.refresh_policy import JITTER, RefreshState, Seen, decide
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S, usual_s

T0 = 1_700_000_000_000
SETTINGS = RefreshSettings()
PRICED = ("page.title", "product.price", "product.rating")


def fetched(at_ms, **values):
    return Seen(outcome="Fetched", fetched_at_ms=at_ms, **{"page_type": "product", **values})


def run(history, present=PRICED, settings=SETTINGS, **values):
    """The state after on-time fetches; each entry of `history` lists the changed fields."""
    state, due = decide(None, fetched(T0, **values), (), present, settings)
    for changed in history:
        state, due = decide(state, fetched(due, **values), changed, present, settings)
    return state


@pytest.mark.parametrize(
    ("page_type", "fields", "usual"),
    [
        ("product", ["product.price"], 6 * HOUR_S),
        ("product", ["product.brand"], 3 * DAY_S),
        ("recipe", ["recipe.ingredients", "page.title"], 14 * DAY_S),
        ("article", [], DAY_S),
        ("page", ["page.title"], 7 * DAY_S),
    ],
)
def test_new_page_is_refetched_after_the_usual_interval_of_its_fastest_field(
    page_type, fields, usual
):
    _, due = decide(None, fetched(T0, page_type=page_type), (), fields, SETTINGS)

    assert (due - T0) / 1000 == pytest.approx(usual, rel=0.01)


def test_changes_shorten_the_interval_and_their_absence_lengthens_it():
    quiet = [run([()] * n).interval_s for n in range(8)]
    lively = [run([["product.price"]] * n).interval_s for n in range(5)]

    assert quiet == sorted(quiet)
    assert lively == sorted(lively, reverse=True)
    assert quiet[-1] > 1.3 * quiet[0]
    assert lively[-1] < 0.4 * lively[0]


def test_interval_grows_again_when_changes_stop():
    lively = [["product.price"]] * 6

    assert run([*lively, *[()] * 30]).interval_s > 2 * run(lively).interval_s


def test_changes_of_a_slow_field_do_not_shorten_the_interval():
    ratings = run([["product.rating"]] * 6)

    assert ratings.interval_s > 0.8 * run([()] * 6).interval_s
    assert 0 < ratings.changes < 1


def test_new_extractor_version_is_not_a_change():
    assert run([["page.extractor_version"]]) == run([()])


def test_body_changes_only_count_for_pages_without_a_type():
    def twice(page_type):
        first = fetched(T0, page_type=page_type, body_hash="a" * 64)
        state, due = decide(None, first, (), (), SETTINGS)
        again = fetched(due, page_type=page_type, body_hash="b" * 64)
        return decide(state, again, (), (), SETTINGS)[0].changes

    assert twice("page") == 1
    assert twice("recipe") == 0


def test_not_modified_is_a_check_without_a_change():
    state, due = decide(None, fetched(T0), (), PRICED, SETTINGS)
    same = Seen(outcome="NotModified", fetched_at_ms=due)

    assert decide(state, same, (), (), SETTINGS) == decide(
        state, fetched(due), (), PRICED, SETTINGS
    )


def test_page_modified_long_ago_is_checked_later():
    old = run([], modified_at_ms=T0 - int(400 * DAY_S * 1000))
    dynamic = run([], modified_at_ms=T0 - 1000)

    assert old.interval_s > 1.5 * run([]).interval_s
    assert dynamic.interval_s == run([]).interval_s


def test_fresh_response_is_not_refetched_but_its_lifetime_is_capped():
    lively = [["product.price"]] * 5
    state = run(lively)
    at = state.due_at_ms

    def wait_s(fresh_s):
        _, due = decide(state, fetched(at, fresh_s=fresh_s), (), PRICED, SETTINGS)
        return (due - at) / 1000

    assert wait_s(None) == wait_s(60) < 5 * HOUR_S
    assert wait_s(5 * HOUR_S) == pytest.approx(5 * HOUR_S)
    assert wait_s(365 * DAY_S) == pytest.approx(6 * HOUR_S)


def test_page_is_given_up_after_three_spaced_404s():
    state, due = decide(None, fetched(T0), (), PRICED, SETTINGS)
    waits = []
    while due is not None:
        at = due
        state, due = decide(state, Seen(outcome="Gone", fetched_at_ms=at), (), (), SETTINGS)
        waits.append(due and round((due - at) / 1000 / DAY_S))

    assert waits == [1, 3, None]


def test_several_404s_within_a_minute_are_one_confirmation():
    state, _ = decide(None, fetched(T0), (), PRICED, SETTINGS)
    for n in range(1, 9):
        seen = Seen(outcome="Gone", fetched_at_ms=T0 + n * 60_000)
        state, due = decide(state, seen, (), (), SETTINGS)

    assert state.gone == 1
    assert due is not None


def test_short_intervals_bring_confirmations_sooner_but_still_spaced():
    frequent = RefreshSettings(min_interval_s=1, max_interval_s=60)
    state, _ = decide(None, fetched(T0), (), PRICED, frequent)
    counted = []
    for second in (10, 20, 50, 55, 90):
        seen = Seen(outcome="Gone", fetched_at_ms=T0 + second * 1000)
        state, _ = decide(state, seen, (), (), frequent)
        counted.append(state.gone)

    assert counted == [1, 1, 2, 2, 3]


def test_returned_page_is_refreshed_again():
    state, due = decide(None, fetched(T0), (), PRICED, SETTINGS)
    for n in (2, 4):
        seen = Seen(outcome="Gone", fetched_at_ms=T0 + int(n * DAY_S * 1000))
        state, due = decide(state, seen, (), (), SETTINGS)
    state, due = decide(state, fetched(due), (), PRICED, SETTINGS)

    assert state.gone == 0
    assert due is not None


@pytest.mark.parametrize(
    ("outcome", "days"),
    [
        ("Unauthorized", [30, 60, 90]),
        ("PaymentRequired", [30, 60, 90]),
        ("Forbidden", [7, 14, 28]),
        ("UnavailableLegally", [30, 60, 90]),
    ],
)
def test_withheld_page_has_its_own_intervals_and_is_never_given_up(outcome, days):
    state, due = decide(None, fetched(T0), (), PRICED, SETTINGS)
    waits = []
    for _ in days:
        at = due
        state, due = decide(state, Seen(outcome=outcome, fetched_at_ms=at), (), (), SETTINGS)
        waits.append(round((due - at) / 1000 / DAY_S))

    assert waits == days


def waits_d(*outcomes):
    """The waiting time after each of these fetches, in days."""
    state, due = decide(None, fetched(T0), (), PRICED, SETTINGS)
    waits = []
    for outcome in outcomes:
        at_ms = due
        state, due = decide(state, Seen(outcome=outcome, fetched_at_ms=at_ms), (), (), SETTINGS)
        waits.append(round((due - at_ms) / 1000 / DAY_S, 1))
    return waits


def test_refusals_and_failures_reset_the_backoff_of_each_other():
    """Regression: the first 403 after ten timeouts waited for 90 days."""
    assert waits_d(*["Unreachable"] * 10, "Forbidden")[-1] == 7
    assert waits_d("Forbidden", "Forbidden", "Unreachable", "Unreachable") == [7, 14, 1, 2]
    assert waits_d("Unreachable", "Forbidden", "Unreachable", "Forbidden") == [1, 7, 1, 7]
    assert waits_d("Forbidden", "UnavailableLegally") == [7, 60]


def test_a_403_between_404s_shows_that_the_page_exists():
    state = None
    for day, outcome in enumerate(("Gone", "Gone", "Forbidden", "Gone", "Gone")):
        seen = Seen(outcome=outcome, fetched_at_ms=T0 + int(day * DAY_S * 1000))
        state, due = decide(state, seen, (), (), SETTINGS)

    assert state.gone == 2
    assert due is not None


def test_setting_changes_the_interval_of_one_status():
    weekly = RefreshSettings(withheld_intervals={"402": "2d"})
    _, due = decide(None, Seen(outcome="PaymentRequired", fetched_at_ms=T0), (), (), weekly)
    _, other = decide(None, Seen(outcome="Unauthorized", fetched_at_ms=T0), (), (), weekly)

    assert ((due - T0) / DAY_S / 1000, (other - T0) / DAY_S / 1000) == (2, 30)


def test_robots_refusal_is_retried_when_the_rules_expire():
    expire = T0 + int(1.7 * DAY_S * 1000)
    seen = Seen(outcome="Refused", fetched_at_ms=T0, not_before_ms=expire)

    assert decide(None, seen, (), (), SETTINGS)[1] == expire


def test_failures_back_off_but_are_retried_forever():
    state, due, waits = None, T0, []
    for _ in range(9):
        at = due
        seen = Seen(outcome="Unreachable", fetched_at_ms=at)
        state, due = decide(state, seen, (), (), SETTINGS)
        waits.append((due - at) / 1000 / DAY_S)

    assert waits == pytest.approx([1, 2, 4, 8, 16, 30, 30, 30, 30])


def test_intervals_can_be_set_by_type_and_by_field():
    settings = RefreshSettings(intervals={"recipe": "30d", "product.price": "90m"})

    assert usual_s("recipe.ingredients", settings) == 30 * DAY_S
    assert run([], settings=settings).interval_s == pytest.approx(90 * 60, rel=0.01)


def test_planned_interval_is_within_its_bounds():
    # Regression: `aragog due` showed 30 minutes although the minimum was an hour.
    frequent = RefreshSettings(intervals={"product.price": "10m"}, min_interval_s=3600)
    rare = RefreshSettings(max_interval_s=7200)

    assert run([["product.price"]] * 6, settings=frequent).interval_s == 3600
    assert run([()] * 6, settings=rare).interval_s == 7200


def test_more_effort_shortens_intervals():
    twice = run([["product.price"], ()], settings=RefreshSettings(effort=2)).interval_s

    assert run([["product.price"], ()]).interval_s / twice == pytest.approx(2**0.5, rel=0.1)


def test_page_that_changes_too_fast_gets_four_times_the_usual_interval():
    kind = kind_of(6 * HOUR_S)

    assert interval_s(1 / 60, kind) == 4 * kind.usual_s
    assert interval_s(0, kind) == math.inf


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Fetched", "NotModified", "Gone", "Refused", "Unreachable", "Busy"]),
            st.integers(0, 10**11),
            st.sampled_from([(), ("product.price",), ("page.title", "x.y"), ("product.rating",)]),
            st.floats(0, 1),
            st.one_of(st.none(), st.floats(0, 1e12)),
            st.one_of(st.none(), st.integers(-(10**15), 10**15)),
        ),
        max_size=30,
    )
)
def test_next_fetch_is_within_bounds_for_any_history(history):
    state, at = None, T0
    for outcome, passed_ms, changed, spread, fresh_s, modified in history:
        at += passed_ms
        seen = Seen(
            outcome=outcome,
            fetched_at_ms=at,
            page_type="product",
            fresh_s=fresh_s,
            modified_at_ms=modified,
        )
        state, due = decide(state, seen, changed, PRICED, SETTINGS, spread=spread)
        assert decide(state, seen, changed, PRICED, SETTINGS, spread=spread) == (state, due)
        assert (
            due is None
            or passed_ms == 0
            or (SETTINGS.min_interval_s * 1000 <= due - at <= SETTINGS.max_interval_s * 1000)
        )
        assert state.a >= 0
        assert math.isfinite(state.rate_per_s)


@given(st.floats(0, 1))
def test_jitter_is_at_most_a_tenth(spread):
    _, due = decide(None, fetched(T0), (), PRICED, SETTINGS, spread=spread)

    assert abs((due - T0) / 1000 / (6 * HOUR_S) - 1) <= JITTER + 0.001


@given(st.floats(1e-9, 0.99))
def test_ratio_solves_its_equation(gain):
    r = ratio(gain)

    assert 1 - (1 + r) * math.exp(-r) == pytest.approx(gain, rel=1e-3)


@given(st.floats(60, 1e8), st.floats(1e-10, 1e-3))
def test_interval_of_a_kind_is_usual_at_its_prior_and_never_below_its_floor(usual, rate):
    kind = kind_of(usual)

    assert interval_s(kind.prior_rate, kind) == pytest.approx(usual, rel=1e-3)
    assert interval_s(rate, kind) >= kind.floor_s * 0.999


def test_state_consists_of_plain_values():
    assert RefreshState(*RefreshState()) == RefreshState()
