"""One tick of refreshing takes each URL once, evenly, within the rates of its domain."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT, PRIORITY_REFRESH
from aragog.crawl.stages.refresh import CLAIM_S, TICK_S, horizon_ms
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis
TICK_MS = int(TICK_S * 1000)
DAY_MS = 86_400_000


def due(harness, urls, at_ms=NOW_MS):
    pages = [page(url, NOW_MS - 10**6, fields={"t": b"1"}, due_at_ms=at_ms) for url in urls]
    harness.store.write_pages(pages)


def refreshed(url, at_ms, price):
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    return page(url, at_ms, seen=seen, fields={"product.price": b"%d" % price})


def hosts(number):
    return [f"http://site{n}.example/" for n in range(number)]


def test_due_urls_are_fetched_after_new_ones(pipeline_harness):
    due(pipeline_harness, hosts(3))

    assert pipeline_harness.refresh().enqueued == 3
    assert sorted(pipeline_harness.sent.urls()) == hosts(3)
    assert {send.priority for send in pipeline_harness.sent.messages} == {PRIORITY_REFRESH}
    assert PRIORITY_REFRESH > PRIORITY_DEFAULT


def test_pages_not_due_are_left_alone(pipeline_harness):
    due(pipeline_harness, hosts(3), at_ms=NOW_MS + 1)

    assert pipeline_harness.refresh().enqueued == 0


def test_two_beats_do_the_work_of_one(pipeline_harness):
    due(pipeline_harness, hosts(40))
    for _ in range(12):
        pipeline_harness.refresh()
        pipeline_harness.refresh()
        pipeline_harness.clock.advance_ms(TICK_MS)

    assert sorted(pipeline_harness.sent.urls()) == sorted(hosts(40))


def test_second_beat_in_a_tick_takes_nothing(pipeline_harness):
    due(pipeline_harness, hosts(3))
    pipeline_harness.refresh()
    due(pipeline_harness, ["http://late.example/"])

    assert pipeline_harness.refresh().enqueued == 0
    pipeline_harness.clock.advance_ms(TICK_MS)
    assert pipeline_harness.refresh().enqueued == 1


def test_claim_of_a_killed_tick_expires(pipeline_harness):
    due(pipeline_harness, hosts(2))
    now_ms = pipeline_harness.clock.now_ms()
    assert len(pipeline_harness.store.schedule.claim_due(now_ms, 9, CLAIM_S)) == 2

    assert pipeline_harness.refresh().enqueued == 0
    pipeline_harness.clock.advance_ms(CLAIM_S * 1000 + 1)
    assert pipeline_harness.refresh().enqueued == 2


def test_backlog_after_an_outage_is_caught_up_evenly(pipeline_harness):
    """One URL per second was due for an hour while no tick ran."""
    for n, url in enumerate(hosts(3600)):
        due(pipeline_harness, [url], at_ms=NOW_MS + n * 1000)
    pipeline_harness.clock.advance_ms(3_600_000)
    taken = []
    while sum(taken) < 3600 and len(taken) < 2000:
        taken.append(pipeline_harness.refresh().enqueued)
        pipeline_harness.clock.advance_ms(TICK_MS)

    assert sum(taken) == 3600
    assert max(taken) < 3600 / 60
    assert len(taken) * TICK_S < 6 * pipeline_harness.settings.refresh.smooth_s


def test_one_domain_gets_its_share_and_the_rest_is_spread(pipeline_harness):
    urls = [f"http://big.example/{n}" for n in range(400)]
    due(pipeline_harness, [*urls, *hosts(5)])
    report = pipeline_harness.refresh()

    at_once = 10 * 0.5 * report_tick_s(pipeline_harness)
    assert report.enqueued == at_once + 5
    assert report.postponed == 400 - at_once
    planned = sorted(pipeline_harness.store.get(url).due_at_ms for url in urls)[int(at_once) :]
    steps = {b - a for a, b in itertools.pairwise(planned)}
    assert steps == {200}


def report_tick_s(harness):
    return TICK_S * 0.8


def test_postponed_urls_come_at_their_rate_and_once_each(pipeline_harness):
    urls = [f"http://big.example/{n}" for n in range(300)]
    due(pipeline_harness, urls)
    taken = []
    while sum(taken) < 300 and len(taken) < 100:
        taken.append(pipeline_harness.refresh().enqueued)
        pipeline_harness.clock.advance_ms(TICK_MS)

    assert sorted(pipeline_harness.sent.urls()) == sorted(urls)
    assert max(taken) <= 10 * 0.5 * TICK_S
    assert len(taken) < 20


def test_domain_with_booked_slots_is_refreshed_slowly(pipeline_harness):
    pipeline_harness.rates.busy["big.example"] = 60_000
    due(pipeline_harness, [f"http://big.example/{n}" for n in range(50)])

    assert pipeline_harness.refresh().enqueued == 2


def test_crawl_delay_limits_the_rate(pipeline_harness):
    pipeline_harness.rates.crawl_delay_s = 10
    due(pipeline_harness, [f"http://slow.example/{n}" for n in range(50)])
    for _ in range(40):
        pipeline_harness.refresh()
        pipeline_harness.clock.advance_ms(TICK_MS)

    assert len(pipeline_harness.sent.urls()) == 40 * TICK_S / 10 * 0.5


def test_scarce_fetches_go_to_pages_that_can_be_kept_fresh(pipeline_harness):
    """
    Two pages change between any two fetches and one changes occasionally; only one can be fetched.
    """
    urls = [f"http://slow.example/{n}" for n in range(3)]
    for n in range(12):
        at_ms = NOW_MS - (12 - n) * 9 * DAY_MS
        prices = [n, n, n // 4]
        pipeline_harness.store.write_pages(
            [refreshed(url, at_ms, price) for url, price in zip(urls, prices, strict=True)]
        )
    for url in urls:
        pipeline_harness.store.schedule.plan(url, NOW_MS)
    pipeline_harness.rates.qps = 0.1
    pipeline_harness.refresh()

    assert pipeline_harness.sent.urls() == [urls[2]]
    assert pipeline_harness.store.get(urls[0]).due_at_ms > pipeline_harness.clock.now_ms()


def test_budget_of_a_domain_slows_no_other(pipeline_harness):
    due(pipeline_harness, [f"http://big.example/{n}" for n in range(400)])
    pipeline_harness.refresh()
    due(pipeline_harness, ["http://other.example/"])
    pipeline_harness.clock.advance_ms(TICK_MS)

    budgets = pipeline_harness.store.schedule.budgets(["big.example", "other.example"])
    assert budgets["big.example"].booked_ms > NOW_MS + 60_000
    assert budgets["other.example"].booked_ms == 0
    pipeline_harness.refresh()
    assert "http://other.example/" in pipeline_harness.sent.urls()


def test_batch_size_does_not_limit_a_tick(pipeline_harness):
    settings = pipeline_harness.settings
    small = dataclasses.replace(settings.refresh, batch=16)
    pipeline_harness.settings = dataclasses.replace(settings, refresh=small)
    due(pipeline_harness, hosts(60))

    assert pipeline_harness.refresh().enqueued == 60


@given(st.integers(0, 10**12), st.floats(1, 60), st.floats(1, 10**5))
def test_tick_never_passes_now_and_always_advances(lag_ms, tick_s, smooth_s):
    upto_ms = horizon_ms(NOW_MS - lag_ms, NOW_MS, tick_s=tick_s, smooth_s=smooth_s)

    assert upto_ms <= NOW_MS
    assert upto_ms == NOW_MS or upto_ms - (NOW_MS - lag_ms) >= int(tick_s * 1000)
