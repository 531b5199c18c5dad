"""A site that serves only HTTP/2 is crawled: a real nginx, the stages and the limiter."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

from aragog.crawl.fetcher.fetcher import fetch
from aragog.crawl.fetcher.http1.tls import tls_context
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.page_analysis import read_page
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import FetchSettings
from bench.crawl import origin
from tests.support.crawl_harness import AGENT
from tests.support.missing_parts import NGINX, skip_without

pytestmark = pytest.mark.redis

SITE = "https://shop.test"
ONLY_HTTP2 = """
        if ($server_protocol != "HTTP/2.0") {{ return 505; }}
        access_log {log} asked;
"""
PAGES = {
    "index.html": '<title>Shop</title><a href="/lamp.html">Lamp</a><a href="/private/x.html">no</a>',
    "lamp.html": f"<title>Lamp</title><p>{'A lamp of brass. ' * 10_000}",
    "private/x.html": "<title>Private</title>",
}


@pytest.fixture
def nginx(tmp_path):
    """Serves `PAGES` over HTTP/2 and 505 to everything else; yields the address and the log."""
    with _serving(tmp_path, ONLY_HTTP2.format(log=tmp_path / "asked.log")) as address:
        yield address, tmp_path / "asked.log"


@pytest.fixture
def both_versions(tmp_path):
    """Serves `PAGES` over HTTP/2 and HTTP/1.1, compressed; yields the address."""
    with _serving(tmp_path, "gzip on; gzip_types text/html;") as address:
        yield address


@contextmanager
def _serving(tmp_path, server):
    if not shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin"):
        skip_without(NGINX)
    tmp_path.chmod(0o755)
    for name, text in PAGES.items():
        path = tmp_path / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with origin.certificates(["shop.test"]) as certificates:
        tls_context.cache_clear()  # it still trusts the previous SSL_CERT_FILE
        with origin.serve(tmp_path / "pages", server, certificates, http2=True) as port:
            yield f"127.0.0.1:{port}"
    tls_context.cache_clear()


def test_http2_only_site_is_crawled_with_its_links_and_rules(crawl_harness, nginx):
    address, log = nginx
    over_http2 = {"host_map": {"*.test": address}, "http2_hosts": ("shop.test",)}
    harness = crawl_harness({}, fetch=over_http2, qps=20)

    harness.crawl([f"{SITE}/index.html"], EnqueueOptions(depth=1))

    found = {url: harness.urls.pages.fetch_report(url) for url in _urls()}
    assert {url: report and report.outcome for url, report in found.items()} == {
        f"{SITE}/index.html": "Fetched",
        f"{SITE}/lamp.html": "Fetched",
        f"{SITE}/private/x.html": "Refused",
    }
    lamp = found[f"{SITE}/lamp.html"]
    assert (lamp.http_version, lamp.body_bytes) == ("2", len(PAGES["lamp.html"]))
    paths = [line.split()[2] for line in log.read_text().splitlines()]
    assert sorted(paths) == [
        f"shop.test{path}" for path in ("/index.html", "/lamp.html", "/robots.txt")
    ]


def test_without_the_setting_the_site_is_requested_over_http11_and_refuses(nginx):
    settings = FetchSettings(user_agent=AGENT, host_map={"*.test": nginx[0]})

    outcome = fetch(f"{SITE}/index.html", settings=settings)

    assert (outcome.outcome, outcome.status, outcome.http_version) == ("Unreachable", 505, "1.1")


@pytest.mark.parametrize("name", PAGES)
def test_page_is_the_same_over_http2_and_http11(both_versions, name):
    readings = {}
    for version, hosts in (("1.1", ()), ("2", ("shop.test",))):
        settings = FetchSettings(
            user_agent=AGENT, host_map={"*.test": both_versions}, http2_hosts=hosts
        )
        outcome = fetch(f"{SITE}/{name}", settings=settings)
        assert (outcome.outcome, outcome.http_version) == ("Fetched", version)
        readings[version] = (outcome.body, _analysis(outcome, name))

    assert readings["1.1"] == readings["2"]
    assert readings["2"][0] == PAGES[name].encode()


def _analysis(outcome, name):
    record = FetchRecord(
        url=f"{SITE}/{name}",
        outcome=OutcomeKind.FETCHED,
        status=outcome.status,
        final_url=outcome.final_url,
        content_type=outcome.content_type,
    )
    result = FetchResult(job=UrlJob(url=f"{SITE}/{name}"), fetch=record)
    return read_page(result, outcome.body, agent=AGENT, max_links=100)


def _urls():
    return [f"{SITE}/{name}" for name in PAGES]
