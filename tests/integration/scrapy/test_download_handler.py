"""The Scrapy download handler, on a real Redis and a loopback origin."""

import asyncio
import logging
from contextlib import asynccontextmanager, closing
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy import FormRequest, Request
from scrapy import exceptions as scrapy_errors
from scrapy.http import HtmlResponse

from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.download_handler import PoliteDownloadHandler
from aragog.bootstrap.redis_services import connect_overrides, limiter, robots_cache
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.politeness.robots_records import RobotsResult
from aragog.crawl.stages.single_fetch import ERROR_BODY_BYTES
from aragog.errors import LimiterUnavailable
from aragog.fetch_record.outcome import Gone
from aragog.runtime.clock import SystemClock
from aragog.settings import load_settings
from tests.integration.scrapy.test_scheduler import Crawler
from tests.support.cli import AGENT
from tests.support.origin import Origin, answer, page, redirect
from tests.support.proxies import HttpProxy
from tests.support.standalone import free_port

pytestmark = pytest.mark.redis
DAMAGED = b"\x1f\x8b" + bytes(20)
"""Begins like gzip, but is not."""
ROBOTS = b"User-agent: *\nDisallow: /private\nAllow: /\n"


@pytest.fixture
def site():
    with Origin(
        {
            "/": page(b"<title>hello</title>"),
            "/json": answer(200, b"{}", content_type="application/json"),
            "/robots.txt": answer(200, ROBOTS, content_type="text/plain"),
            "/moved": redirect("/"),
            "/missing": answer(404, b"not here"),
        }
    ) as origin:
        yield origin


@pytest.fixture
def run(cli_environ, monkeypatch, site):
    """Runs a coroutine with a handler; requests to `*.test` go to the site."""
    monkeypatch.setenv("ARAGOG_FETCH__HOST_MAP", f"*.test={site.address}")
    monkeypatch.setenv("ARAGOG_POLITENESS__QPS", "50")

    def run(*requests, **settings):
        async def main():
            async with opened(**settings) as handler:
                return [await outcome(handler, request) for request in requests]

        return asyncio.run(main())

    return run


@asynccontextmanager
async def opened(*, fetches=None, **settings):
    crawler = Crawler(**settings)
    if fetches is not None:
        spider_crawl(crawler).fetches = fetches
    handler = PoliteDownloadHandler.from_crawler(crawler)
    try:
        yield handler
    finally:
        await handler.close()
        spider_crawl(crawler).fetches.close()


async def outcome(handler, request):
    try:
        return await handler.download_request(request)
    except Exception as error:
        return error


def test_page_is_fetched_with_aragogs_user_agent_after_robots_txt(run, site):
    request = Request("http://a.test/", headers={"User-Agent": "other", "X-Own": "yes"})

    (response,) = run(request)

    assert isinstance(response, HtmlResponse)
    assert response.css("title::text").get() == "hello"
    assert [seen.path for seen in site.seen] == ["/robots.txt", "/"]
    assert {seen.header("User-Agent") for seen in site.seen} == {AGENT}
    assert site.seen[-1].header("X-Own") == "yes"
    assert "download_latency" in request.meta


def test_request_can_name_its_egress_route(cli_environ, monkeypatch, tmp_path, run, site):
    with HttpProxy() as office:
        file = tmp_path / "ways.toml"
        file.write_text(f'[egress.ways.office]\nproxy = "{office.url}"\n')
        monkeypatch.setenv("ARAGOG_SETTINGS", str(file))

        by_name, by_url, without = run(
            Request("http://a.test/", meta={"proxy": "office"}),
            Request("http://b.test/", meta={"proxy": office.url}),
            Request("http://c.test/"),
        )

        assert [each.status for each in (by_name, by_url, without)] == [200] * 3
        assert len(office.asked) == 2
        assert len([seen for seen in site.seen if seen.path == "/"]) == 3


def test_robots_txt_and_private_addresses_are_obeyed(run, site):
    refused, blocked = run(Request("http://a.test/private/x"), Request("http://127.0.0.1:1/"))

    assert isinstance(refused, scrapy_errors.IgnoreRequest)
    assert "robots.txt" in str(refused)
    assert isinstance(blocked, scrapy_errors.IgnoreRequest)
    assert [seen.path for seen in site.seen] == ["/robots.txt"]


def test_unsent_request_is_logged_with_the_setting_that_allows_it(run, caplog):
    caplog.set_level(logging.INFO)

    run(
        Request("http://a.test/private/x"),
        Request("http://127.0.0.1/local"),
        Request("http://a.test:8081/"),
        Request("http://169.254.169.254/latest/"),
        Request("http://1.2.3.999/"),
    )

    lines = [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if "was not sent" in record.getMessage()
    ]
    refused, local, port, metadata, invalid = lines
    assert refused[0] == "INFO"
    assert "robots.txt" in refused[1]
    assert local[0] == "WARNING"
    assert local[1].endswith("; add its network to fetch.allowed_networks to allow it")
    assert port == (
        "WARNING",
        "<GET http://a.test:8081/> was not sent: port 8081 is not in fetch.allowed_ports",
    )
    assert "fetch." not in metadata[1]
    assert "1.2.3.999" in invalid[1]


def test_taken_down_page_is_not_requested(run, site):
    settings = load_settings()
    SharedState.from_settings(settings).blocks.replace([("host", "a.test")])

    (refused,) = run(Request("http://a.test/"))

    assert isinstance(refused, scrapy_errors.IgnoreRequest)
    assert site.seen == []


def test_redirects_and_errors_are_responses(run, site):
    moved, missing, plain = run(
        Request("http://a.test/moved"),
        Request("http://a.test/missing"),
        Request("http://a.test/json"),
    )

    assert (moved.status, moved.headers["Location"]) == (302, b"/")
    assert (missing.status, missing.body) == (404, b"not here")
    assert plain.json() == {}
    assert "/" not in [seen.path for seen in site.seen]


@pytest.mark.parametrize("status", [401, 404, 408, 422, 429, 500, 503])
def test_error_has_its_body(run, site, status):
    site.handlers["/error"] = answer(status, b'{"error": "email"}', content_type="application/json")

    (response,) = run(Request("http://a.test/error"))

    assert response.status == status
    assert response.json() == {"error": "email"}
    assert response.flags == []


def test_body_of_an_error_is_limited(run, site):
    site.handlers["/error"] = answer(500, b"x" * (ERROR_BODY_BYTES + 1))

    (response,) = run(Request("http://a.test/error"))

    assert (response.status, len(response.body)) == (500, ERROR_BODY_BYTES)
    assert response.flags == ["truncated"]


def test_error_with_an_unreadable_body_is_a_response(run, site):
    site.handlers["/error"] = answer(500, DAMAGED, headers=(("Content-Encoding", "gzip"),))

    (response,) = run(Request("http://a.test/error"))

    assert (response.status, response.body) == (500, b"")
    assert response.flags == ["truncated"]


def test_requests_keep_the_interval_of_the_domain(run, punctual_origin, monkeypatch):
    monkeypatch.setenv("ARAGOG_FETCH__HOST_MAP", f"*.test=127.0.0.1:{punctual_origin.port}")

    run(*[Request(f"http://www{n % 2}.a.test/?{n}") for n in range(10)])

    arrived = [at for at, _, _ in punctual_origin.arrivals()]
    assert len(arrived) == 10 + 2  # with each host's robots.txt
    assert min(b - a for a, b in pairwise(arrived)) >= 1000 / 50 - 2


def test_form_is_posted_once_and_its_redirect_is_a_response(run, site):
    site.handlers["/login"] = redirect("/")
    form = FormRequest("http://a.test/login", formdata={"user": "ada"})

    (response,) = run(form)

    assert (response.status, response.headers["Location"]) == (302, b"/")
    assert [(seen.method, seen.path) for seen in site.seen] == [
        ("GET", "/robots.txt"), ("POST", "/login")
    ]  # fmt: skip
    assert site.seen[-1].header("Content-Type") == "application/x-www-form-urlencoded"
    assert site.seen[-1].header("Content-Length") == str(len(b"user=ada"))


def test_head_has_no_body(run, site):
    (response,) = run(Request("http://a.test/", method="HEAD"))

    assert (response.status, response.body) == (200, b"")


@pytest.mark.parametrize(
    "request_",
    [
        Request("http://a.test/", method="PUT"),
        Request("http://a.test/", body=b"x"),
        Request("http://a.test/", meta={"proxy": "http://127.0.0.1:9"}),
    ],
)
def test_unsupported_request_is_not_sent(run, site, request_):
    (error,) = run(request_)

    assert isinstance(error, scrapy_errors.NotSupported)
    assert site.seen == []


@pytest.mark.parametrize(
    ("failure", "error", "text"),
    [
        ("dns", scrapy_errors.CannotResolveHostError, "its host name does not resolve"),
        ("timeout", scrapy_errors.DownloadTimeoutError, "no answer in time"),
        (None, scrapy_errors.DownloadFailedError, "no answer"),
    ],
)
def test_host_without_robots_txt_fails_like_its_robots_txt(run, site, failure, error, text):
    clock = SystemClock()
    with closing(robots_cache(load_settings().resolved(), clock)) as cache:
        cache.put_many([RobotsResult("http://a.test", None, b"", clock.now_ms(), failure=failure)])

    (raised,) = run(Request("http://a.test/"))

    assert type(raised) is error
    assert str(raised) == f"robots.txt could not be fetched ({text})"
    assert site.seen == []


def test_refused_connection_for_robots_txt_is_reported_as_such(run, monkeypatch):
    monkeypatch.setenv("ARAGOG_FETCH__HOST_MAP", f"*.test=127.0.0.1:{free_port()}")

    (error,) = run(Request("http://a.test/"))

    assert isinstance(error, scrapy_errors.DownloadConnectionRefusedError)


def test_domain_without_a_slot_in_time_is_a_timeout(run, site):
    settings = load_settings().resolved()
    with closing(limiter(settings, connect_overrides(settings))) as limits:
        limits.pause("a.test", 60)

    (error,) = run(Request("http://a.test/"), DOWNLOAD_TIMEOUT=0.5)

    assert isinstance(error, scrapy_errors.DownloadTimeoutError)
    assert site.seen == []


def fails(count):
    """Fetches of which the first `count` fail, as they do while Redis is down."""
    errors = [LimiterUnavailable("limiter", "timeout")] * count

    def fetch(request, **_):
        if errors:
            raise errors.pop()
        return Gone(url=request.url, status=404)

    return SimpleNamespace(fetch=SimpleNamespace(fetch=fetch), close=lambda: None)


def test_request_waits_for_an_unresponsive_redis(run):
    (response,) = run(Request("http://a.test/"), fetches=fails(1))

    assert response.status == 404


def test_redis_that_does_not_respond_in_time_is_a_failure_that_scrapy_retries(run):
    (error,) = run(Request("http://a.test/"), fetches=fails(1), DOWNLOAD_TIMEOUT=0.3)

    assert isinstance(error, scrapy_errors.DownloadFailedError)


def test_post_is_not_repeated_by_the_handler(run):
    (error,) = run(FormRequest("http://a.test/", formdata={"user": "ada"}), fetches=fails(1))

    assert isinstance(error, scrapy_errors.DownloadFailedError)
