"""Unchanged Scrapy spiders in several processes, on one Redis and a loopback site."""

import json
import os
import signal
import threading
from contextlib import closing
from itertools import pairwise

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.settings import load_settings
from tests.support import quotes_site
from tests.support.documented import blocks
from tests.support.origin import Origin, answer, page
from tests.support.punctual_origin import PunctualOrigin
from tests.support.spiders import AUTHORS, LISTED, QUOTESBOT, spiders_in, spiders_of, way_to
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGE = "docs/coming-from.md#scrapy"
QPS, PROCESSES = 20, 3
NOISE_MS = 2.0


@pytest.fixture(scope="module")
def given():
    """The settings of a project, as documented."""
    settings = {}
    for start in ("ADDONS", "ITEM_PIPELINES"):
        (block,) = blocks(PAGE, "python", start)
        exec(block, {}, settings)
    assert {*settings} == {"ADDONS", "ITEM_PIPELINES"}
    return settings


@pytest.fixture
def origin():
    origin = PunctualOrigin(quotes_site.site())
    yield origin
    origin.stop()


def paths_of(origin):
    return [path for _, _, path in origin.arrivals()]


def assert_interval_kept(origin):
    """No two requests to the domain, from any spider and process, were closer than its rate."""
    arrived = [at for at, _, _ in origin.arrivals()]
    assert min(b - a for a, b in pairwise(arrived)) >= 1000 / QPS - NOISE_MS


def test_two_spiders_on_three_processes_share_pages_and_the_rate(
    origin, redis_url, tmp_path, given
):
    # On a busy machine, a process may start when the others are done; because the crawl has a name,
    # it then ends at once.
    named = {**given, "ARAGOG_CRAWL": "november"}
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS=str(QPS)) as spiders:
        for _ in range(PROCESSES):
            spiders.start("runspider", str(AUTHORS), settings=named)
        spiders.start("crawl", "toscrape-css", settings=given, cwd=QUOTESBOT)
        spiders.finish()
        items = spiders.items()
        with closing(url_store(load_settings(environ=spiders.environ))) as store:
            urls = [f"http://{quotes_site.HOST}/author/{name}" for name in quotes_site.authors()]
            stored = {record.fields["authors.name"] for record in store.get_many(urls)}

    names = [item["name"] for item in items if "name" in item]
    texts = [item["text"] for item in items if "text" in item]
    assert (sorted(names), set(texts)) == (sorted(quotes_site.authors()), quotes_site.quotes())
    assert stored == {json.dumps(name).encode() for name in quotes_site.authors()}
    assert_interval_kept(origin)
    # Once for each spider, in whichever process, although all processes start with the same URL.
    paths = paths_of(origin)
    assert paths.count("/author/Author-7") == 1
    assert paths.count("/page/5/") == 2
    assert "/robots.txt" in paths


def test_spider_and_aragogs_own_crawl_share_the_rate_of_a_domain(origin, tmp_path, given):
    urls = [f"http://{quotes_site.HOST}/author/{name}" for name in quotes_site.authors()]
    with (
        standalone({**way_to(origin), "ARAGOG_POLITENESS__QPS": str(QPS)}, frontends=()) as system,
        spiders_in(tmp_path, system.environ) as spiders,
        Aragog(system.settings) as client,
    ):
        spiders.start("runspider", str(AUTHORS), settings={"ADDONS": given["ADDONS"]})
        wait_until(lambda: "/page/2/" in paths_of(origin))
        client.enqueue(urls)
        spiders.finish()
        system.finish(client)
        stored = client.counters()["stored"]

    assert {item["name"] for item in spiders.items()} == quotes_site.authors()
    assert stored == len(urls)
    assert paths_of(origin).count("/author/Author-7") == 2
    assert_interval_kept(origin)


def test_page_is_scraped_although_its_process_is_killed(origin, redis_url, tmp_path, given):
    written = tmp_path / "written.jl"
    settings = {
        "ADDONS": given["ADDONS"],
        "ITEM_PIPELINES": {"tests.support.spider_items.WriteThrough": 1},
        "WRITE_THROUGH": str(written),
    }
    with spiders_of(
        tmp_path, redis_url, origin, POLITENESS__QPS=str(QPS), BROKER__CLAIM_TIMEOUT_S="3"
    ) as spiders:
        victim = spiders.start("runspider", str(AUTHORS), settings=settings)
        wait_until(lambda: len(paths_of(origin)) > 15)
        for _ in range(PROCESSES - 1):
            spiders.start("runspider", str(AUTHORS), settings=settings)
        os.kill(victim.pid, signal.SIGKILL)
        spiders.finish(expected=(0, -signal.SIGKILL))

    items = [json.loads(line) for line in written.read_text().splitlines()]
    assert {item["name"] for item in items} == quotes_site.authors()
    assert {path for path in paths_of(origin) if "/page/" in path} == {
        f"/page/{number}/" for number in range(2, quotes_site.PAGES + 1)
    }
    assert_interval_kept(origin)


def test_run_with_different_arguments_is_refused(origin, redis_url, tmp_path, given):
    settings = {"ADDONS": given["ADDONS"]}
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS=str(QPS)) as spiders:
        first = spiders.start("runspider", str(AUTHORS), "-a", "shelf=left", settings=settings)
        wait_until(lambda: "/page/2/" in paths_of(origin))
        first.send_signal(signal.SIGSTOP)  # so that it still runs, however long the other one takes
        other = spiders.start("runspider", str(AUTHORS), "-a", "shelf=right", settings=settings)
        assert other.wait(60) == 1
        first.send_signal(signal.SIGCONT)
        spiders.finish(expected=(0, 1))

    assert first.returncode == 0
    assert {item["name"] for item in spiders.items()} == quotes_site.authors()
    assert "use a separate crawl, -s ARAGOG_CRAWL=authors-right" in spiders.logs()
    assert spiders.logs().count("CRITICAL") == 1
    assert "Traceback" not in spiders.logs()


@pytest.mark.parametrize(
    "command",
    [("shell", "-c", "response.status"), ("parse", "--spider", "toscrape-css", "-c", "parse")],
)
def test_single_page_command_leaves_the_requests_of_a_crawl(
    origin, redis_url, tmp_path, given, command
):
    addon = {"ADDONS": given["ADDONS"]}
    url = f"http://{quotes_site.HOST}/page/7/"
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS="2") as spiders:
        stopped = spiders.start("crawl", "toscrape-css", settings=addon, cwd=QUOTESBOT)
        wait_until(lambda: "/page/2/" in paths_of(origin))
        stopped.send_signal(signal.SIGINT)
        assert stopped.wait(60) == 0
        before = len(paths_of(origin))
        one = spiders.start(*command, url, settings=addon, cwd=QUOTESBOT)
        assert one.wait(60) == 0, spiders.logs()
        assert paths_of(origin)[before:] == ["/page/7/"]
        spiders.environ["ARAGOG_POLITENESS__QPS"] = str(QPS)
        spiders.start("crawl", "toscrape-css", settings=addon, cwd=QUOTESBOT)
        spiders.finish()

    assert {item["text"] for item in spiders.items() if "text" in item} == quotes_site.quotes()
    assert paths_of(origin).count("/page/2/") <= 2


def test_error_without_a_system_names_the_command_that_starts_it(
    origin, redis_url, tmp_path, given
):
    with spiders_of(tmp_path, redis_url, origin, REDIS__URL="", BROKER__URL="") as spiders:
        spiders.start("runspider", str(AUTHORS), settings={"ADDONS": given["ADDONS"]})
        spiders.finish(expected=(1,))
        log = spiders.logs()

    assert log.count("CRITICAL") == 1
    assert "Traceback" not in log
    assert "start it with `aragog up -d`" in log.splitlines()[-1]


def test_finished_named_crawl_restarts_on_request(origin, redis_url, tmp_path, given):
    named = {"ADDONS": given["ADDONS"], "ARAGOG_CRAWL": "november"}
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS="100") as spiders:
        for extra in ({}, {}, {"ARAGOG_CRAWL_RESTART": "1"}):
            spiders.start("runspider", str(AUTHORS), settings={**named, **extra})
            spiders.finish()

    assert paths_of(origin).count("/author/Author-7") == 2
    assert spiders.logs().count("crawl november has run before") == 1


@pytest.mark.parametrize(("timeout_s", "effect"), [(180, "waiting:"), (2, "will run again:")])
def test_pause_of_redis_loses_no_request(origin, own_redis, tmp_path, given, timeout_s, effect):
    settings = {"ADDONS": given["ADDONS"], "PAGES": "40", "DOWNLOAD_TIMEOUT": str(timeout_s)}
    with spiders_of(tmp_path, own_redis.url, origin, POLITENESS__QPS="10") as spiders:
        spiders.start("runspider", str(LISTED), settings=settings)
        wait_until(lambda: len(paths_of(origin)) > 10)
        own_redis.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: effect in spiders.logs())
        finally:
            own_redis.process.send_signal(signal.SIGCONT)
        spiders.finish()

    items = spiders.items()
    assert [item for item in items if "failed" in item] == []
    assert len({item["url"] for item in items}) == 40


def test_ctrl_c_returns_requests_that_wait_for_robots_txt(tmp_path, redis_url, given):
    late, released = threading.Event(), threading.Event()

    def robots(_, wire):
        # In the meantime, other requests of the spider wait for it, one more every half second.
        wire.pause(2)
        late.set()
        released.wait(60)
        wire.pause(2)  # the others notice within a second that the process ends
        return answer(200, b"User-agent: *", content_type="text/plain")

    pages = {f"/author/Author-{number}": page(b"<title>author</title>") for number in range(15)}
    settings = {"ADDONS": given["ADDONS"], "PAGES": "15", "RETRY_ENABLED": "0"}
    with (
        Origin({**pages, "/robots.txt": robots}) as origin,
        spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS=str(QPS)) as spiders,
    ):
        first = spiders.start("runspider", str(LISTED), settings=settings)
        wait_until(late.is_set)
        first.send_signal(signal.SIGINT)
        wait_until(lambda: "Closing spider (shutdown)" in spiders.logs())
        released.set()
        first.wait(60)
        assert len(spiders.items()) < 3  # the request that fetched robots.txt is answered
        spiders.start("runspider", str(LISTED), settings=settings)
        spiders.finish()

    items = spiders.items()
    assert [item for item in items if "failed" in item] == []
    assert len({item["url"] for item in items}) == 15
