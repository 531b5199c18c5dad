"""Crawls share a domain's slots, and a crawl with limited open hosts opens them in turn."""

from collections import Counter

import pytest

from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.politeness.open_hosts import OpenHosts
from aragog.crawl.stages.waiting_line import WaitingJob, WaitingLine
from tests.support.origin import answer
from tests.support.waiting import wait_until


@pytest.fixture
def harness(crawl_harness):
    return crawl_harness({"*": answer(200, b"hello", content_type="text/html")}, qps=10)


@pytest.fixture
def registry(redis_client):
    return CrawlRegistry(redis_client, prefix="aragog:")


def wait_in_line(harness, crawl, count, domain="busy.test", **facts):
    line = WaitingLine(harness.pipeline.release.lines, 1000)
    jobs = [UrlJob(url=f"http://{domain}/{crawl}/{n}", crawl=crawl, **facts) for n in range(count)]
    line.park([WaitingJob(job, domain, None, 0) for job in jobs])


def released(harness):
    """The jobs that one check releases."""
    before = len(harness.sent.messages)
    harness.pipeline.release.run()
    return [job for sent in harness.sent.messages[before:] for job in sent.message.jobs]


def test_small_crawl_does_not_wait_behind_a_bulk_crawl(harness, registry):
    bulk = registry.start("bulk", {}).number
    small = registry.start("small", {}).number
    wait_in_line(harness, bulk, 500)
    wait_in_line(harness, small, 50)

    crawls = Counter(job.crawl for job in released(harness))

    assert abs(crawls[bulk] - crawls[small]) <= 1
    assert crawls.total() >= 10


def test_quadruple_weight_gets_quadruple_the_slots(harness, registry):
    light = registry.start("light", {}).number
    heavy = registry.start("heavy", {"weight": 4.0}).number
    wait_in_line(harness, light, 200)
    wait_in_line(harness, heavy, 200)

    crawls = Counter(job.crawl for job in released(harness))

    assert abs(crawls[heavy] - 4 * crawls[light]) <= 5


def test_token_with_many_crawls_gets_no_more_than_another(harness, registry):
    many = [registry.start(f"m{n}", {}, token="ana").number for n in range(5)]
    one = registry.start("one", {}, token="bob").number
    for crawl in (*many, one):
        wait_in_line(harness, crawl, 50)

    crawls = Counter(job.crawl for job in released(harness))

    assert abs(crawls[one] - sum(crawls[m] for m in many)) <= 2


def test_crawl_with_two_open_hosts_opens_a_third_when_one_is_done(harness, registry):
    lines = harness.pipeline.release.lines
    lines.open_hosts = OpenHosts(lines._nodes, prefix="aragog:", tail_ms=0)
    crawl = registry.start("broad", {"max_open_hosts": 2}).number
    for n in range(5):
        wait_in_line(harness, crawl, 3, f"h{n}.test")

    seen: Counter[str] = Counter()
    looks = []

    def look():
        hosts = Counter(job.url.split("/")[2] for job in released(harness))
        looks.append(set(hosts))
        seen.update(hosts)
        return sum(seen.values()) == 15

    wait_until(look)
    assert max(len(hosts) for hosts in looks) <= 4  # two, plus the hosts that take their places
    assert len(looks[0]) == 2
    assert set(seen.values()) == {3}


def test_other_crawls_may_use_hosts_that_are_not_open_for_one(harness, registry):
    broad = registry.start("broad", {"max_open_hosts": 1}).number
    other = registry.start("other", {}).number
    for domain in ("h0.test", "h1.test"):
        wait_in_line(harness, broad, 50, domain)
    wait_in_line(harness, other, 3, "h1.test")

    jobs = released(harness)

    assert Counter(job.crawl for job in jobs if "h1.test" in job.url) == {other: 3}
    assert {job.url.split("/")[2] for job in jobs if job.crawl == broad} == {"h0.test"}


def test_urls_of_a_crawl_with_limited_open_hosts_do_not_skip_the_line(harness, registry):
    crawl = registry.start("broad", {"max_open_hosts": 1}).number
    harness.know_rules("h0.test")
    harness.know_rules("h1.test")
    jobs = tuple(UrlJob(url=f"http://h{n}.test/", crawl=crawl) for n in range(2))

    harness.pipeline.fetch.run(FetchBatch(jobs))

    assert harness.origin.seen == []
    assert harness.limiter.lines.waiting(["h0.test", "h1.test"]) == {"h0.test": 1, "h1.test": 1}


def test_removing_the_limit_opens_all_hosts_of_a_crawl(harness, registry):
    crawl = registry.start("broad", {"max_open_hosts": 1}).number
    for n in range(3):
        wait_in_line(harness, crawl, 3, f"h{n}.test")
    assert {job.url.split("/")[2] for job in released(harness)} == {"h0.test"}

    registry.start("broad", {"max_open_hosts": 0})

    found: set[str] = set()

    def other_hosts_are_released():
        # Repeatedly: a check with the crawl's old record, read up to a second ago, is followed by
        # the next one only after a minute.
        harness.pipeline.release.lines.check([f"h{n}.test" for n in range(3)], 0)
        found.update(job.url.split("/")[2] for job in released(harness))
        return found >= {"h1.test", "h2.test"}

    wait_until(other_hosts_are_released)
