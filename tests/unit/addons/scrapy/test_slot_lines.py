"""Claimed requests waiting for a slot of their domain."""

import logging

import pytest
from scrapy import Request

from aragog.addons.scrapy.slot_lines import (
    MAX_DELAY_S,
    MAX_PER_DOMAIN,
    MIN_PER_DOMAIN,
    HeldRequest,
    SlotLines,
)
from aragog.crawl.politeness.slots import Slot
from aragog.crawl.stages.single_fetch import SlotSearch
from aragog.errors import LimiterUnavailable
from aragog.runtime.clock import ManualClock
from urlspelling.domain import host

SLOT = Slot("a.test", 0.0, 0, 1e5, 1)
GO, REFUSED = SlotSearch(SLOT, 0, 0.1), SlotSearch(None, 0)


class Limiter:
    """Replies by host; `GO` for all others."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def __call__(self, urls):
        self.asked += urls
        return [self.answers.get(host(url)[0], GO) for url in urls]


@pytest.fixture
def clock():
    return ManualClock()


def lines_of(clock, find, *urls):
    lines = SlotLines(find, host, clock)
    for number, url in enumerate(urls):
        lines.add(HeldRequest(Request(url), f"tag-{number}"))
    return lines


def urls_of(ready):
    return [one.held.request.url for one in ready]


def many(count):
    return [f"http://a.test/{number}" for number in range(count)]


def test_domains_take_turns(clock):
    lines = lines_of(clock, Limiter(), *many(3), "http://b.test/")

    assert urls_of(lines.take_ready(2)) == ["http://a.test/0", "http://b.test/"]
    assert urls_of(lines.take_ready(9)) == ["http://a.test/1", "http://a.test/2"]
    assert len(lines) == 0


def test_domain_without_a_slot_is_asked_again_when_one_may_be_free(clock):
    find = Limiter(a=SlotSearch(None, 400, 1.0))
    lines = lines_of(clock, find, *many(2), "http://b.test/")

    assert urls_of(lines.take_ready(9)) == ["http://b.test/"]
    assert lines.next_retry_s == clock.monotonic_s() + 0.4
    assert lines.take_ready(9) == []
    assert len(find.asked) == 3
    clock.advance_ms(400)
    find.answers.clear()
    assert len(lines.take_ready(9)) == 2


def test_one_request_per_domain_fetches_its_robots_txt(clock):
    find = Limiter(a=SlotSearch(None, 0, rules_first=True))
    lines = lines_of(clock, find, *many(3))

    assert urls_of(lines.take_ready(9)) == ["http://a.test/0"]
    assert lines.take_ready(9) == []
    find.answers.clear()
    clock.advance_ms(500)
    assert len(lines.take_ready(9)) == 2


def test_refused_urls_and_non_urls_need_no_slot(clock):
    lines = lines_of(clock, Limiter(a=REFUSED), *many(2), "data:,x")

    ready = lines.take_ready(9)
    assert [(one.held.request.url, one.slot) for one in ready] == [
        ("data:,x", None), ("http://a.test/0", None), ("http://a.test/1", None)
    ]  # fmt: skip


def test_nothing_is_taken_while_the_limiter_is_unavailable(clock):
    def fail(_urls):
        raise LimiterUnavailable("limiter", "gone")

    lines = lines_of(clock, fail, *many(2), "data:,x")

    with pytest.raises(LimiterUnavailable):
        lines.take_ready(9)
    assert len(lines) == 3


def test_surplus_of_a_domain_is_returned_until_its_turn(clock):
    lines = lines_of(clock, Limiter(), *many(MIN_PER_DOMAIN + 3))

    delays = [delay_ms for _, delay_ms in lines.take_surplus(2)]

    # First come 8 requests of this process and 8 of the other, 0.1 s apart.
    assert delays == pytest.approx([1800, 2000, 2200], abs=1)
    assert len(lines) == MIN_PER_DOMAIN


def test_more_requests_are_held_for_a_fast_domain(clock):
    lines = lines_of(clock, Limiter(a=SlotSearch(None, 1, 0.01)), *many(MAX_PER_DOMAIN + 1))
    lines.take_ready(1)

    assert len(lines.take_surplus(1)) == 1


def test_delay_is_capped_for_turns_hours_ahead(clock):
    lines = lines_of(clock, Limiter(), *many(10_000))

    delays = [delay_ms for _, delay_ms in lines.take_surplus(1)]

    assert max(delays) == MAX_DELAY_S * 1000


def test_paused_domain_holds_nothing(clock):
    lines = lines_of(clock, Limiter(a=SlotSearch(None, 120_000, 1.0)), *many(2))

    lines.take_ready(9)

    assert [delay_ms for _, delay_ms in lines.take_surplus(1)] == [121_000, 122_000]
    assert len(lines) == 0


def test_wait_longer_than_the_interval_is_logged_once_until_a_slot_is_free(clock, caplog):
    caplog.set_level(logging.INFO)
    paused = SlotSearch(None, 30_000, 1.0)
    find = Limiter(a=paused)
    lines = lines_of(clock, find, *many(3))

    for _ in range(2):
        lines.take_ready(9)
        clock.advance_ms(30_000)
    assert caplog.messages == [
        "a.test has no slot for 30 s; run aragog explain http://a.test/0 to see why"
    ]

    find.answers.clear()
    assert len(lines.take_ready(1)) == 1
    find.answers["a"] = paused
    lines.take_ready(9)
    assert len(caplog.messages) == 2


def test_interval_of_a_slow_domain_is_not_logged(clock, caplog):
    caplog.set_level(logging.INFO)
    lines = lines_of(clock, Limiter(a=SlotSearch(None, 10_000, 9.0)), *many(2))

    lines.take_ready(9)

    assert caplog.messages == []


def test_request_that_cannot_leave_the_process_is_kept(clock):
    lines = lines_of(clock, Limiter(a=SlotSearch(None, 120_000, 1.0)))
    lines.add(HeldRequest(Request("http://a.test/")))
    lines.take_ready(1)

    assert lines.take_surplus(1) == []
    assert len(lines.take_all()) == 1
