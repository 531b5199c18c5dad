"""A domain's backlog is delayed, and other domains go in front of it."""

from collections import Counter

from aragog.crawl.stages import first_visit_delays
from aragog.crawl.stages.first_visit_delays import FirstVisitDelays, less_urgent_priority
from aragog.runtime.clock import ManualClock


def urls_of(domain, count):
    return [f"http://{domain}/{n}" for n in range(count)]


def test_only_urls_of_a_domain_that_are_soon_due_go_in_front():
    front, back = FirstVisitDelays(10.0, ManualClock()).split(urls_of("big.example", 1000))

    assert front == urls_of("big.example", 1000)[: len(front)]
    assert 100 <= len(front) <= 101
    assert len(front) + len(back) == 1000


def test_backlog_is_spread_out_but_due_long_before_its_slots():
    _, back = FirstVisitDelays(10.0, ManualClock()).split(urls_of("big.example", 200_000))

    # 20,000 s of work at ten per second.
    due_s = [job.delay_ms / 1000 for job in back]
    assert due_s == sorted(due_s)
    assert max(Counter(int(due) for due in due_s if due < 60).values()) <= 251
    served_s = [(200_000 - len(back) + n) / 10 for n in range(len(back))]
    assert all(due <= at_s / 20 for due, at_s in zip(due_s, served_s, strict=True))
    assert due_s[-1] <= first_visit_delays.MAX_DELAY_S


def test_backlog_of_one_domain_delays_no_other():
    front, back = FirstVisitDelays(10.0).split(
        [*urls_of("big.example", 500), *urls_of("small.example", 50)]
    )

    assert set(urls_of("small.example", 50)) <= set(front)
    assert {job.url for job in back} < set(urls_of("big.example", 500))


def test_other_domains_go_in_front_of_any_backlog():
    delays = FirstVisitDelays(10.0)
    delays.split(urls_of("big.example", 100_000))

    front, back = delays.split([*urls_of("big.example", 5), *urls_of("small.example", 5)])

    assert front == urls_of("small.example", 5)
    assert [job.url for job in back] == urls_of("big.example", 5)


def test_urgent_urls_are_not_delayed_by_a_less_urgent_backlog():
    delays = FirstVisitDelays(10.0)
    delays.split(urls_of("big.example", 100_000), priority=9)

    assert delays.split(urls_of("big.example", 5), priority=2) == (urls_of("big.example", 5), [])
    assert delays.split(urls_of("big.example", 5), priority=9)[0] == []


def test_backlog_shrinks_with_time():
    clock = ManualClock()
    delays = FirstVisitDelays(10.0, clock)
    delays.split(urls_of("a.example", 150))
    clock.advance_ms(20_000)

    assert delays.split(urls_of("a.example", 5)) == (urls_of("a.example", 5), [])


def test_memory_is_bounded_for_any_number_of_domains():
    delays = FirstVisitDelays(10.0, max_domains=100)
    for n in range(1000):
        delays.split([f"http://d{n}.example/"])

    assert len(delays._busy_until_s) <= 101


def test_least_urgent_priority_stays_unchanged():
    assert [less_urgent_priority(0), less_urgent_priority(5), less_urgent_priority(9)] == [1, 6, 9]
