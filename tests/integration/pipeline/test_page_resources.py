"""Requests of a rendered page, without a browser: permission, slots and headers."""

from __future__ import annotations

import pytest

from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.crawl.politeness.slots import SlotRequest
from aragog.crawl.rendering.models import Resource, ResourceRequest
from aragog.crawl.stages.page_resources import NO_RULES_REASON, TOO_LATE_REASON
from tests.support.origin import answer, redirect

pytestmark = pytest.mark.redis

DATA = "http://api.test/data"


def fetch(harness, url=DATA, *, within_s=5.0, origin=None):
    until_s = harness.clock.monotonic_s() + within_s
    return harness.pipeline.render.fetch_resource(
        ResourceRequest(url, "application/json", origin, until_s)
    )


def test_request_names_the_type_and_the_origin_of_the_page(crawl_harness):
    harness = crawl_harness({"/data": answer(404)})

    assert fetch(harness, origin="http://shop.test") == Resource(
        DATA,
        404,
        (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", "0"),
            ("Connection", "close"),
        ),
    )
    (seen,) = harness.origin.of("/data")
    assert (seen.header("Accept"), seen.header("Origin")) == (
        "application/json",
        "http://shop.test",
    )
    assert seen.header("User-Agent").startswith("aragog/1.0")


def test_redirect_is_followed_if_its_target_may_be_fetched(crawl_harness):
    harness = crawl_harness(
        {"/data": redirect("//cdn.test/data"), "//cdn.test/data": answer(200, b"x")}
    )
    assert fetch(harness) == "robots.txt of the redirect target is not known yet"
    harness.know_rules("cdn.test")

    assert fetch(harness).url == "http://cdn.test/data"


def test_taken_down_and_blocked_hosts_get_no_request(crawl_harness):
    harness = crawl_harness({"*": answer(200)}, blocked_hosts=("blocked.test",))
    harness.urls.takedowns.take_down(host="api.test")

    assert fetch(harness) == "was taken down"
    assert "blocked" in fetch(harness, "http://blocked.test/")
    assert "private" in fetch(harness, "http://10.0.0.1/")
    assert fetch(harness, "http://[/") != ""
    assert harness.origin.seen == []


def test_rules_fetched_by_another_process_are_waited_for(crawl_harness):
    harness = crawl_harness({"*": answer(200)})
    harness.robots.refreshes.claim(["http://api.test"])

    assert fetch(harness, within_s=0.6) == NO_RULES_REASON
    assert harness.origin.seen == []


def test_stopped_domain_gets_no_request(crawl_harness, redis_url):
    LiveOverrides(redis_url).set_stopped("api.test", True, who="ann")
    harness = crawl_harness({"*": answer(200)})
    harness.know_rules("api.test")

    assert fetch(harness) == TOO_LATE_REASON
    assert harness.origin.seen == []


def test_page_with_less_time_than_the_interval_does_not_skip_the_backlog(crawl_harness):
    harness = crawl_harness({"*": answer(200)}, qps=0.5)
    harness.know_rules("api.test")
    harness.limiter.reserve([SlotRequest("api.test")] * 100)

    assert fetch(harness, within_s=1.0) == TOO_LATE_REASON
    assert harness.origin.seen == []
