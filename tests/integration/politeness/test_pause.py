"""A 429 or 503 stops all requests at once, as seen by the origin."""

from __future__ import annotations

import threading

import pytest

from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch, UrlJob
from tests.support.crawl_harness import apart
from tests.support.origin import Request, Wire, answer, page

pytestmark = pytest.mark.redis

BUSY = answer(429, b"busy", headers={"Retry-After": "20"})
# Workers with an open connection when the 429 came may already have written their request.
ON_THE_WIRE = 2


def jobs(*urls: str) -> FetchBatch:
    return FetchBatch(tuple(UrlJob(url=url) for url in urls))


def test_no_request_follows_a_429_while_a_page_of_another_domain_is_slow(crawl_harness):
    over = threading.Event()

    def slow(_: Request, wire: Wire) -> bytes:
        wire.pause(2.0)
        over.set()
        return page(b"slow")

    harness = crawl_harness({"//slow.test/": slow, "//busy.test/*": BUSY}, qps=10)
    harness.know_rules("slow.test", "busy.test")
    urls = [f"http://busy.test/{n}" for n in range(20)]

    sends = harness.pipeline.fetch.run(jobs("http://slow.test/", *urls))

    assert over.is_set()
    assert 1 <= len(harness.origin.of(host="busy.test")) <= ON_THE_WIRE
    # Twenty seconds from the 429, minus the two that the slow page took.
    assert max(send.delay_ms or 0 for send in apart(sends)) > 15_000


def test_429_counts_as_soon_as_its_headers_arrive(crawl_harness):
    def dripping(_: Request, wire: Wire) -> None:
        wire.send(answer(429, headers={"Retry-After": "20", "Content-Length": "9"}, length=False))
        wire.pause(2.0)

    harness = crawl_harness({"//busy.test/*": dripping}, qps=50)
    harness.know_rules("busy.test")

    harness.pipeline.fetch.run(jobs(*(f"http://busy.test/{n}" for n in range(25))))

    assert len(harness.origin.of(host="busy.test")) <= ON_THE_WIRE + 1


def test_429_for_robots_txt_pauses_the_domain(crawl_harness):
    harness = crawl_harness({"//a.busy.test/robots.txt": BUSY})

    harness.pipeline.robots.run(RobotsBatch(("http://a.busy.test",)))

    limiter = harness.limiter
    report = limiter.describe([limiter.key_for("http://b.busy.test/")])
    assert all(state.backlog_ms > 15_000 for state in report.values())


def test_redirect_to_a_busy_domain_pauses_only_that_domain(crawl_harness):
    harness = crawl_harness(
        {
            "//calm.test/": answer(302, headers=(("Location", "http://busy.test/"),)),
            "//busy.test/": BUSY,
        }
    )
    harness.know_rules("calm.test", "busy.test")

    harness.pipeline.fetch.run(jobs("http://calm.test/"))

    paused = harness.limiter.describe(["calm.test", "busy.test"])
    assert paused["calm.test"].backlog_ms < 1000
    assert paused["busy.test"].backlog_ms > 15_000


def test_fast_domains_without_permits_are_paused_too(crawl_harness):
    harness = crawl_harness({"//busy.test/*": BUSY}, qps=600)
    harness.know_rules("busy.test")

    for batch in range(4):
        urls = (f"http://busy.test/{batch}/{n}" for n in range(25))
        harness.pipeline.fetch.run(jobs(*urls))

    assert len(harness.origin.of(host="busy.test")) <= 50
