"""Crawl reports: time left, what holds domains back, and failures."""

from collections import Counter

import pytest

from aragog.crawl.pipeline.crawl_counts import CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.stages.crawl_reports import CrawlReport, FailedUrls, Pace, failures, open_domains
from aragog.crawl.stages.crawl_status import CrawlStatus

RECORD = CrawlRecord(name="docs", number=2)
PACES = {
    "fast.example": Pace(10.0, "its rate"),
    "slow.example": Pace(0.5, "Crawl-delay of 2 s in robots.txt"),
    "stopped.example": Pace(0.0, "stopped by an operator"),
    "silent.example": Pace(10.0, "robots.txt is unreachable", robots_unreachable=True),
    "shared.example": Pace(10.0, waiting=5_000),
}


def report(record=RECORD, **waiting):
    named = {f"{name}.example": count for name, count in waiting.items()}
    status = CrawlStatus(record, CrawlCounts(sum(waiting.values()), sum(waiting.values())))
    return CrawlReport(
        status, {}, {}, open=tuple(open_domains(record, named, PACES)), open_domains=len(named)
    )


def test_time_left_depends_on_the_slowest_active_domain():
    found = report(fast=100, slow=100, stopped=7, silent=3)

    assert [(one.domain, one.seconds_left) for one in found.open] == [
        ("silent.example", None),
        ("stopped.example", None),
        ("slow.example", 200.0),
        ("fast.example", 10.0),
    ]
    assert found.seconds_left == 200.0
    assert found.stuck == 10


def test_urls_of_other_crawls_in_the_same_line_come_first():
    assert report(shared=10).seconds_left == 500.0


def test_crawl_rate_limits_a_faster_domain():
    slow = CrawlRecord(name="docs", number=2, rate=2.0)

    fast, slower = sorted(report(slow, fast=10, slow=10).open, key=lambda one: one.domain)

    assert (fast.rate, fast.seconds_left, fast.held_by) == (2.0, 5.0, "the rate of the crawl, 2/s")
    assert (slower.rate, slower.held_by) == (0.5, "Crawl-delay of 2 s in robots.txt")


def test_crawl_without_open_domains_has_no_time_left():
    assert report().seconds_left is None
    assert report(unknown=5).seconds_left is None
    assert report(unknown=5).stuck == 5


def test_sitemap_that_was_read_is_no_failure():
    domains = {"a.example": Counter({"stored": 50, "sitemap": 2})}

    assert failures(domains, {}, 21) == []


def test_failures_come_before_refusals_and_have_the_counts_of_two_days():
    domains = {
        "a.example": Counter({"stored": 50, "gone: 404": 3, "refused: robots": 9, "cancelled": 4}),
        "b.example": Counter({"unreachable: dns": 7}),
    }
    days = {
        20: Counter({("b.example", "unreachable: dns"): 2}),
        21: Counter({("b.example", "unreachable: dns"): 5, ("a.example", "gone: 404"): 3}),
        22: Counter({("a.example", "gone: 404"): 99}),
    }

    assert failures(domains, days, 21) == [
        FailedUrls("b.example", "unreachable: dns", 7, 5, 2),
        FailedUrls("a.example", "gone: 404", 3, 3, 0),
        FailedUrls("a.example", "refused: robots", 9, 0, 0),
    ]


@pytest.mark.parametrize("notes", [{}, {"trap": 3}])
def test_traps_are_counted_from_the_notes(notes):
    status = CrawlStatus(RECORD, CrawlCounts(9, notes=notes))

    assert CrawlReport(status, {}, {}).traps == notes.get("trap", 0)
