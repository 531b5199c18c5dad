"""The Scrapy scheduler, driven as Scrapy's engine drives it."""

import asyncio
import json
import logging
from collections import Counter
from contextlib import asynccontextmanager
from types import MethodType, SimpleNamespace

import pytest
import scrapy
from scrapy import Request
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import RequestFingerprinter

from aragog.addons.scrapy.addon import AragogAddon
from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.addons.scrapy.spider_arguments import remember_arguments
from aragog.crawl.stages.single_fetch import SlotSearch
from aragog.errors import BrokerUnavailable, ConfigError
from aragog.settings import load_settings
from pinlater.admin import Admin
from pinlater.models import NewJob
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis
URL = "http://a.test/"


class QuoteSpider(scrapy.Spider):
    name = "quotes"

    def parse_quote(self, response):
        """A callback."""


class Crawler(SimpleNamespace):
    """The parts of Scrapy's crawler that the components use."""

    __hash__ = object.__hash__

    def __init__(self, **settings):
        given = Settings(settings)
        AragogAddon().update_settings(given)
        slot = SimpleNamespace(
            inprogress=set(), closing=None, nextcall=SimpleNamespace(schedule=lambda: None)
        )
        super().__init__(
            settings=given,
            spidercls=QuoteSpider,
            request_fingerprinter=RequestFingerprinter(),
            engine=SimpleNamespace(_slot=slot, running=True),
        )
        self.stats = MemoryStatsCollector(SimpleNamespace(settings=given))
        self.spider = QuoteSpider()
        self.spider.crawler = self

    @property
    def under_way(self):
        return self.engine._slot.inprogress


@asynccontextmanager
async def opened(arguments=None, **settings):
    """A scheduler as in its own process; domains always have a slot."""
    crawler = Crawler(**settings)
    remember_arguments(crawler, arguments or {})
    fetch = SimpleNamespace(
        find_slots=lambda urls: [SlotSearch(None, 0)] * len(urls),
        access=SimpleNamespace(limiter=SimpleNamespace(key_for=lambda url: "a.test")),
    )
    spider_crawl(crawler).fetches = SimpleNamespace(fetch=fetch, close=lambda: None)
    scheduler = SpiderScheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    try:
        yield scheduler, crawler
    finally:
        crawler.under_way.clear()
        scheduler.close("finished")


async def next_of(*processes):
    """The next request, and the crawler of the process that got it."""
    got = []

    def ask():
        for scheduler, crawler in processes:
            if not got and (request := scheduler.next_request()):
                crawler.under_way.add(request)
                got.append((request, crawler))
        return got

    await asyncio.to_thread(wait_until, ask)
    return got[0]


async def assert_becomes_idle(*schedulers):
    """Poll as engines do until all are idle."""

    def idle():
        return sum(scheduler.has_pending_requests() for scheduler in schedulers) == 0

    await asyncio.to_thread(wait_until, idle)


async def assert_opens(arguments, **settings):
    async with opened(arguments, **settings) as (scheduler, _):
        assert scheduler


class Refusing:
    """A queue that accepts nothing."""

    def __init__(self, queue):
        self._queue = queue

    def put(self, _job):
        raise BrokerUnavailable("broker", "gone")

    def __getattr__(self, name):
        return getattr(self._queue, name)


@pytest.fixture
def run(cli_environ):
    return asyncio.run


def test_request_goes_to_one_process_and_ends_when_processed(run):
    async def main():
        async with opened() as (one, a), opened() as (other, b):
            assert one.enqueue_request(Request(URL, a.spider.parse_quote, meta={"n": (1,)}))
            assert other.has_pending_requests()
            request, crawler = await next_of((one, a), (other, b))
            assert request.callback == crawler.spider.parse_quote
            assert request.meta["n"] == (1,)
            assert one.has_pending_requests()
            assert other.has_pending_requests()

            crawler.under_way.clear()

            await assert_becomes_idle(one, other)

    run(main())


def test_duplicates_are_refused_in_all_processes(run):
    async def main():
        async with opened() as (one, _), opened() as (other, b):
            assert one.enqueue_request(Request(URL))
            assert not other.enqueue_request(Request(URL))
            assert other.enqueue_request(Request(URL, dont_filter=True))
            assert b.stats.get_value("dupefilter/filtered") == 1
            assert not one.enqueue_request(Request(URL))

    run(main())


def test_start_requests_are_accepted_once_and_their_retries_always(run):
    start = {"meta": {"is_start_request": True}, "dont_filter": True}

    async def main():
        async with opened() as (one, a), opened() as (other, b):
            assert one.enqueue_request(Request(URL, **start))
            assert not other.enqueue_request(Request(URL, **start))
            request, _ = await next_of((one, a), (other, b))
            retry = request.replace(dont_filter=True)
            assert one.enqueue_request(retry)

    run(main())


def test_finished_crawl_starts_again_unless_named(run):
    async def accepted(**settings):
        async with opened(**settings) as (scheduler, crawler):
            accepted = scheduler.enqueue_request(Request(URL))
            if accepted:
                await next_of((scheduler, crawler))
                crawler.under_way.clear()
            return accepted

    async def main():
        assert [await accepted() for _ in range(2)] == [True, True]
        named = {"ARAGOG_CRAWL": "november"}
        assert [await accepted(**named) for _ in range(2)] == [True, False]

    run(main())


def test_previously_finished_crawl_is_reported_and_can_be_restarted(run, caplog):
    named = {"ARAGOG_CRAWL": "november"}
    caplog.set_level(logging.INFO)

    async def accepted(*, crawls=True, **settings):
        caplog.clear()
        async with opened(**named, **settings) as (scheduler, crawler):
            accepted = scheduler.enqueue_request(Request(URL))
            if accepted and crawls:
                await next_of((scheduler, crawler))
            return accepted

    async def main():
        assert await accepted()
        assert "has run before" not in caplog.text
        assert not await accepted()
        assert "november has run before: its 1 known requests are done" in caplog.text
        assert await accepted(ARAGOG_CRAWL_RESTART="1", crawls=False)
        assert not await accepted()
        assert "resuming crawl november: 1 requests are queued" in caplog.text
        assert await accepted(ARAGOG_CRAWL_RESTART="1")
        assert "november restarts; 1 requests were deleted" in caplog.text

    run(main())


def test_crawl_cannot_be_restarted_while_another_process_runs_it(run):
    async def main():
        async with opened() as (scheduler, _):
            scheduler.enqueue_request(Request(URL))
            crawler = Crawler(ARAGOG_CRAWL_RESTART="1")
            with pytest.raises(ConfigError, match="runs in 1 other processes; stop them first"):
                SpiderScheduler.from_crawler(crawler).open(crawler.spider)
            assert scheduler.has_pending_requests()

    run(main())


def test_spiders_with_different_arguments_do_not_share_requests(run):
    lamps, chairs = {"cat": "lamps", "deep": "1"}, {"cat": "arm chairs"}

    async def main():
        async with opened(lamps) as (scheduler, _):
            scheduler.enqueue_request(Request(URL))
            async with opened({"deep": "1", "cat": "lamps"}) as (same, _):
                assert same.has_pending_requests()
            with pytest.raises(ConfigError, match="ARAGOG_CRAWL=quotes-arm-chairs") as refused:
                await assert_opens(chairs)
            assert "(cat=lamps, deep=1)" in str(refused.value)
            await assert_opens(chairs, ARAGOG_CRAWL="quotes-arm-chairs")
        with pytest.raises(ConfigError, match="1 of its requests are unfinished"):
            await assert_opens(chairs)

    run(main())


def test_unstarted_requests_wait_for_the_next_process(run):
    async def main():
        async with opened() as (scheduler, _):
            scheduler.enqueue_request(Request(URL, priority=3))
        async with opened() as (scheduler, crawler):
            assert (await next_of((scheduler, crawler)))[0].priority == 3
            assert not scheduler.enqueue_request(Request(URL))

    run(main())


def test_page_runs_again_if_its_results_cannot_be_enqueued(run):
    async def main():
        async with opened() as (scheduler, crawler):
            scheduler.enqueue_request(Request(URL))
            await next_of((scheduler, crawler))

            queue, scheduler._queue = scheduler._queue, Refusing(scheduler._queue)
            with pytest.raises(BrokerUnavailable):
                scheduler.enqueue_request(Request(URL + "next"))
            scheduler._queue = queue
            crawler.under_way.clear()
            assert scheduler.has_pending_requests()
            scheduler._end_finished_jobs()
            scheduler._queue.flush()
            assert scheduler._queue.count_unfinished() == 1  # it waits for its next attempt
            assert scheduler.enqueue_request(Request(URL + "next"))

    run(main())


def test_unanswered_request_runs_again_without_its_errback(run):
    async def main():
        async with opened() as (scheduler, crawler):
            errback = crawler.spider.parse_quote
            scheduler.enqueue_request(Request(URL, errback=errback))
            request, _ = await next_of((scheduler, crawler))

            assert scheduler.run_again(request, "the limiter did not answer")
            assert request.errback is None
            crawler.under_way.clear()
            assert scheduler.has_pending_requests()

    run(main())


def test_unsent_request_returns_to_the_queue_without_using_an_attempt(run):
    async def main():
        async with opened() as (scheduler, crawler):
            scheduler.enqueue_request(Request(URL))
            for _ in range(2):
                request, _ = await next_of((scheduler, crawler))
                assert scheduler.run_again(request, None)
                crawler.under_way.clear()
            # At once, although the retry policy would make it wait.
            await next_of((scheduler, crawler))
            (claim,) = scheduler._queue._claims._claims.values()
            assert claim.job.attempt == 1

    run(main())


def test_only_queued_requests_can_run_again(run):
    async def main():
        async with opened() as (scheduler, crawler):
            local = Request(URL, callback=lambda response: None)
            scheduler.enqueue_request(local)
            await next_of((scheduler, crawler))

            assert not scheduler.run_again(local, "the limiter did not answer")
            assert not scheduler.run_again(Request(URL), "the limiter did not answer")

    run(main())


@pytest.mark.parametrize(
    "carried", [
        {"callback": lambda response: None},
        {"meta": {"views": Counter({1: 2})}},
        {"meta": {"number": 2**70}},
        {"cb_kwargs": {"price": float("inf")}},
    ]
)  # fmt: skip
def test_unserializable_request_stays_in_its_process(run, caplog, carried):
    given = Request(URL, **carried)

    async def main():
        async with opened() as (one, a), opened() as (other, _):
            with caplog.at_level(logging.WARNING):
                assert one.enqueue_request(given)
            assert not other.has_pending_requests()
            assert one.has_pending_requests()
            request, _ = await next_of((one, a))
            assert request is given  # others may wait for this very object
            assert a.stats.get_value("scheduler/unserializable") == 1

    run(main())
    assert "stay in this process" in caplog.text


def test_unknown_callback_is_left_to_processes_that_have_it(run):
    async def main():
        async with opened() as (new, a), opened() as (old, b):
            old._queue.decline_delay_ms = 100
            a.spider.parse_page = MethodType(lambda spider, response: None, a.spider)
            for number in range(5):
                new.enqueue_request(Request(f"{URL}{number}", a.spider.parse_page))
            for _ in range(5):
                request, crawler = await next_of((old, b), (new, a))
                assert (crawler, request.callback) == (a, a.spider.parse_page)
            a.under_way.clear()
            await assert_becomes_idle(new, old)
            assert new._queue.count_failed() == 0

    run(main())


def test_request_that_no_process_can_run_is_reported_and_can_run_again(run, caplog):
    async def main():
        async with opened() as (scheduler, crawler):
            assert scheduler.enqueue_request(Request(URL))
            scheduler._queue.put(NewJob(b'{"v": 9}', max_attempts=1))
            await next_of((scheduler, crawler))
            await asyncio.to_thread(wait_until, scheduler._queue.count_failed)

    run(main())
    assert "1 requests of crawl quotes are FAILED" in caplog.text
    assert "aragog queue retry scrapy.quotes --all" in caplog.text

    async def retried():
        Admin.connect(load_settings().broker.url).retry("scrapy.quotes")
        async with opened() as (scheduler, _):
            assert not scheduler.enqueue_request(Request(URL))  # it is the same crawl

    run(retried())


def test_addon_keeps_the_settings_of_a_project(cli_environ):
    given = Settings({"SCHEDULER": "my.Scheduler", "CONCURRENT_REQUESTS": 3})

    AragogAddon().update_settings(given)

    assert given["SCHEDULER"] == "my.Scheduler"
    assert given.getint("CONCURRENT_REQUESTS_PER_DOMAIN") == 3
    assert set(given.getdict("DOWNLOAD_HANDLERS")) == {"http", "https"}
    assert json.dumps(given["DOWNLOADER_MIDDLEWARES"].copy_to_dict()).count("null") == 1
