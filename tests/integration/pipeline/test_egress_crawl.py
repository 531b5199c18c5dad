"""Egress routes in a crawl: by crawl and host, after a 403, with robots.txt, and in reports."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import pytest

from aragog.bootstrap.dashboard import components
from aragog.crawl.egress.failing_routes import FailingRoutes
from aragog.crawl.egress.health import RouteFailure
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.dashboard.explanation import explain_url
from aragog.fetch_record.outcome import OutcomeKind
from aragog.observability.instruments import EGRESS_FAILURES, EGRESS_REQUESTS
from aragog.runtime.clock import SystemClock
from aragog.settings import (
    EgressRule,
    EgressSettings,
    RedisSettings,
    Settings,
    StoreSettings,
    WaySettings,
)
from tests.integration.pipeline.test_metric_totals import text_of
from tests.support.crawl_harness import HarnessCrawls, apart
from tests.support.origin import answer, page
from tests.support.proxies import HttpProxy, SocksProxy, free_port

pytestmark = pytest.mark.redis


def sent_by(way):
    return EGRESS_REQUESTS.labels(way).read().get("", 0)


@pytest.fixture
def office():
    with HttpProxy() as proxy:
        yield proxy


def test_crawl_uses_its_route_for_pages_and_robots_txt(crawl_harness, office):
    rules = (EgressRule(ways=("office",), crawls=("prices",)),)
    egress = EgressSettings({"office": WaySettings(proxy=office.url)}, rules)
    harness = crawl_harness({"*": page(b"<title>x</title>")}, egress=egress)
    before = sent_by("office")

    crawls = HarnessCrawls(harness)
    for name in ("prices", "other"):
        crawls.start(name)
    harness.crawl(["http://one.test/"], EnqueueOptions(crawl="prices"))
    assert len(office.asked) >= 1
    assert sent_by("office") - before == len(harness.origin.seen) == 2  # with robots.txt

    harness.crawl(["http://two.test/"], EnqueueOptions(crawl="other"))
    harness.crawl(["http://three.test/"], EnqueueOptions())
    assert sent_by("office") - before == 2
    ways = [harness.urls.pages.fetch_report(f"http://{n}.test/").way for n in ("one", "two")]
    assert ways == ["office", None]


def test_retry_by_another_route_after_a_403_waits_for_a_slot(crawl_harness, office):
    """More egress routes never mean more requests to a domain."""
    times_ms = []

    def seen(request, _):
        times_ms.append(request.monotonic_ms)
        return answer(403, b"no")

    rules = (EgressRule(ways=("office",), after=(403,)),)
    egress = EgressSettings({"office": WaySettings(proxy=office.url)}, rules)
    harness = crawl_harness({"*": seen}, egress=egress, retry_first_s=0.01, qps=10)
    harness.know_rules("a.test", "www.a.test")
    urls = [f"http://{host}a.test/{n}" for n in range(1) for host in ("", "www.")]

    harness.crawl(urls, EnqueueOptions())

    assert len(times_ms) == 2 * len(urls)
    assert min(b - a for a, b in pairwise(sorted(times_ms))) >= 98
    assert len(office.asked) >= 1
    report = harness.urls.pages.fetch_report(urls[0])
    assert (report.outcome, report.way) == (OutcomeKind.FORBIDDEN, "office")


def test_no_route_bypasses_robots_txt_or_a_451(crawl_harness, office):
    rules = (EgressRule(ways=("office",), after=(403, 429)),)
    egress = EgressSettings({"office": WaySettings(proxy=office.url)}, rules)
    harness = crawl_harness(
        {"/legal": answer(451, b"no"), "*": page(b"x")}, egress=egress, retry_first_s=0.01
    )
    harness.know_rules("a.test", body=b"User-agent: *\nDisallow: /private\n")

    harness.crawl(["http://a.test/legal", "http://a.test/private"], EnqueueOptions())

    assert [request.path for request in harness.origin.seen] == ["/legal"]
    assert office.asked == []


def test_url_waits_without_losing_an_attempt_while_no_route_works(crawl_harness, redis_client):
    port = free_port()
    ways = {"office": WaySettings(proxy=f"socks5://127.0.0.1:{port}")}
    egress = EgressSettings(ways, (EgressRule(ways=("office",)),))
    harness = crawl_harness({"*": page(b"<title>x</title>")}, egress=egress)
    harness.know_rules("a.test")
    failures = EGRESS_FAILURES.labels("office").read().get("", 0)
    harness.enqueue(["http://a.test/"], EnqueueOptions())
    (message,) = harness.taken()

    (later,) = apart(harness.step(message))

    board = FailingRoutes(redis_client, harness.clock, prefix="aragog:")
    (failing,) = board.read()
    assert (failing.way, failing.failures) == ("office", 1)
    assert "refused" in failing.reason
    assert EGRESS_FAILURES.labels("office").read()[""] == failures + 1
    assert [job.attempt for job in later.message.jobs] == [0]
    assert harness.origin.seen == []

    with SocksProxy(port=port) as proxy:
        harness.sent.messages.append(later)
        harness.crawl([], EnqueueOptions())
        assert proxy.asked

    report = harness.urls.pages.fetch_report("http://a.test/")
    assert (report.attempts, report.way) == (1, "office")
    assert board.read() == []


def test_robots_txt_waits_for_a_route_like_its_pages(crawl_harness):
    port = free_port()
    ways = {"office": WaySettings(proxy=f"http://127.0.0.1:{port}")}
    egress = EgressSettings(ways, (EgressRule(ways=("office",), domains=("a.test",)),))
    harness = crawl_harness({"*": page(b"<title>x</title>")}, egress=egress)
    harness.enqueue(["http://a.test/"], EnqueueOptions())
    (message,) = harness.taken()
    (to_robots,) = harness.step(message)

    later = harness.step(to_robots)

    assert harness.origin.seen == []
    with HttpProxy(port=port):
        harness.sent.messages += later
        harness.crawl([], EnqueueOptions())
    assert harness.urls.pages.fetch_report("http://a.test/").status == 200
    assert [request.path for request in harness.origin.seen] == ["/robots.txt", "/"]


def test_metrics_and_explain_name_failing_routes(redis_client, redis_url, tmp_path):
    rules = (EgressRule(ways=("office", "far")),)
    ways = {name: WaySettings(proxy="http://p.test:1") for name in ("office", "far")}
    settings = Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=redis_url),
        store=StoreSettings(engine="memory"),
        egress=EgressSettings(ways, rules),
    )
    clock = SystemClock()
    now_s = clock.monotonic_s()
    board = FailingRoutes(redis_client, clock, prefix="aragog:")
    board.record("office", RouteFailure(3, "no answer", now_s - 60, now_s + 20))
    # A process that ended while its route failed does not report that it works again.
    board.record("far", RouteFailure(9, "long ago", now_s - 10_000, now_s - 2_000))

    text = text_of(settings)
    with closing(components(settings)) as system:
        explained = explain_url("http://a.test/", system)

    assert 'aragog_egress_failing{way="office"} 1.0' in text
    assert 'aragog_egress_failing{way="far"} 0.0' in text
    assert 'aragog_egress_failing{way="direct"} 0.0' in text
    (section,) = [each for each in explained.sections if each.title == "egress"]
    assert [line.name for line in section.lines] == ["egress route", "office fails"]
    assert "no answer" in section.lines[1].text

    board.record("office", None)
    assert board.read() == []
