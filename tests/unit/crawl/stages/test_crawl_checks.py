"""Which jobs continue, wait or end, depending on their crawls."""

import pytest

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord
from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.pipeline.in_flight_values import NextCrawl, NextStep
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.crawl_checks import CrawlChecks, next_crawl_job

A, B = "http://a.example/", "http://b.example/"
RECORDS = {
    "docs": CrawlRecord(name="docs", number=2, state=CrawlPhase.CANCELLED),
    "news": CrawlRecord(name="news", number=3, state=CrawlPhase.PAUSED),
    "shop": CrawlRecord(name="shop", number=4, priority=1, purposes="search", depth=9),
}


class Registry:
    """A registry with fixed crawls."""

    def __init__(self, *cancellations):
        self._crawls = Crawls.from_records(RECORDS, frozenset({2}), cancellations, now_ms=0)

    def crawls(self):
        return self._crawls

    read = crawls


class InFlight:
    """Returns the given replies, and records the questions."""

    def __init__(self, *replies):
        self.replies, self.asked = replies, []

    def stop(self, questions, *, ended, paused):
        self.asked += questions
        return list(self.replies)


def test_job_of_a_running_crawl_is_not_checked():
    in_flight = InFlight()

    wanted = CrawlChecks(Registry(), in_flight).wanted([UrlJob(url=A, crawl=4), UrlJob(url=B)])

    assert [job.crawl for job in wanted.jobs] == [4, 0]
    assert in_flight.asked == []


@pytest.mark.parametrize(
    ("crawl", "reply", "going", "waiting"),
    [
        (2, NextStep.ENDS, [], []),
        (2, NextStep.CONTINUES, [2], []),
        (2, NextCrawl(4, 7), [4], []),
        (2, NextCrawl(3, 7), [], [3]),
        (3, NextStep.WAITS, [], [3]),
    ],
)
def test_job_continues_for_a_crawl_that_wants_it(crawl, reply, going, waiting):
    checks = CrawlChecks(Registry(), InFlight(reply))

    wanted = checks.wanted([UrlJob(url=A, crawl=crawl)])

    assert [job.crawl for job in wanted.jobs] == going
    assert [job.crawl for job in wanted.paused] == waiting
    assert [one.key for one in wanted.line_entries()] == [f"paused://{n}" for n in waiting]


def test_result_for_a_paused_crawl_is_stored():
    job = UrlJob(url=A, crawl=3)

    assert CrawlChecks(Registry(), InFlight()).wanted([job], pausing=False).jobs == [job]


def test_cancelled_host_is_checked_with_the_time_of_its_cancellation():
    in_flight = InFlight(NextStep.ENDS)
    checks = CrawlChecks(Registry(Cancellation("host", "a.example", 77)), in_flight)

    wanted = checks.wanted([UrlJob(url=A), UrlJob(url=B)])

    assert [job.url for job in wanted.jobs] == [B]
    assert [(q.url, q.cancelled_until_s) for q in in_flight.asked] == [(A, 77)]


def test_next_crawl_gets_a_job_with_its_own_options():
    job = UrlJob(url=A, crawl=2, attempt=3, refresh=True, request_id="r", url_filter="+x", target=B)

    after = next_crawl_job(job, NextCrawl(4, 7), Registry().crawls())

    assert after == UrlJob(
        url=A, crawl=4, depth=7, priority=1, purposes="search", request_id="crawl-4"
    )
