"""
`SCHEDULER`: keeps a spider's requests in pinlater, for all processes that run the spider.

Each request is a job. A process claims it, and hands it to Scrapy's engine at the request's slot
(the time at which its domain may be requested). The job ends once the callback's new requests have
been enqueued and its items have passed the pipelines. If a process is killed before that, its
claims expire and other processes run those requests again. Delivery is at least once.

Running a request twice is safe. The dupefilter drops the requests that its callback yields again.
Items reach the pipelines again, so pipelines must be idempotent, as `StoreItems` is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.misc import build_from_crawler, load_object

from aragog.addons.scrapy import engine
from aragog.addons.scrapy.arrivals import incoming_check
from aragog.addons.scrapy.crawl import SpiderCrawl, spider_crawl
from aragog.addons.scrapy.dupefilter import SharedDupeFilter
from aragog.addons.scrapy.feeder import Feeder
from aragog.addons.scrapy.membership import join_crawl, leave_crawl
from aragog.addons.scrapy.prerequisites import check_fetching
from aragog.addons.scrapy.request_codec import to_json
from aragog.addons.scrapy.request_queue import RequestQueue
from aragog.addons.scrapy.slot_lines import HeldRequest, SlotLines
from aragog.errors import BrokerUnavailable
from aragog.runtime.clock import SystemClock
from pinlater.models import NewJob

log = logging.getLogger(__name__)
START = "is_start_request"
"""The key in `meta` that Scrapy sets on requests from `Spider.start`, and on their copies."""
SCHEDULED = "aragog_scheduled"
"""The key in `meta` that this scheduler sets on requests that it accepts, and on their copies."""
UNLIMITED = 64
"""Maximum number of concurrent requests if `CONCURRENT_REQUESTS` is 0."""
MAX_KEY_CHARS = 200


class SpiderScheduler(BaseScheduler):
    """
    Schedules a crawl's requests. Its methods are called in the event loop's thread.

    Args:
        crawler: Scrapy's crawler.
        crawl: the state shared by its components.
        dupefilter: filters duplicates. Unless it is a `SharedDupeFilter`, it only covers this
            process.
    """

    def __init__(self, crawler: Crawler, crawl: SpiderCrawl, dupefilter: BaseDupeFilter) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._dupefilter = dupefilter
        self._concurrency = crawler.settings.getint("CONCURRENT_REQUESTS") or UNLIMITED
        self._handed_out: dict[Request, str | None] = {}
        """The engine's requests, each with its claim's tag."""
        self._to_rerun: dict[Request, str | None] = {}
        """
        Requests in `_handed_out` that must run again, with the reason, or None if the request was
        not sent.
        """
        self._local_count = 0
        """Number of queued requests that cannot leave this process."""
        self._has_warned_unserializable = False
        self._is_open = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Create the scheduler with the dupefilter in `DUPEFILTER_CLASS`."""
        dupefilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        return cls(crawler, spider_crawl(crawler), dupefilter)

    def open(self, spider: Spider) -> None:
        """
        Join the crawl and start claiming its requests.

        Raises:
            ConfigError: Redis does not respond, the broker is not pinlater, the crawl belongs to
                another spider, or Scrapy does not use asyncio.
            BrokerUnavailable: a server of the broker does not respond.
        """
        crawl = self._crawl
        check_fetching(self._crawler.settings, crawl)
        self._spider = spider
        self._queue = RequestQueue(crawl.settings, crawl.name)
        try:
            loop = asyncio.get_running_loop()
            join_crawl(self._crawler, crawl, self._queue)
        except BaseException:
            self._queue.close()
            raise
        if self._crawler.settings.getfloat("DOWNLOAD_DELAY"):
            log.warning(
                "DOWNLOAD_DELAY is added to the delays of the limiter; use politeness.qps instead"
            )
        access = crawl.fetches.fetch.access
        self._feeder = Feeder(
            queue=self._queue,
            lines=SlotLines(crawl.fetches.fetch.find_slots, access.limiter.key_for, SystemClock()),
            state=crawl.state,
            spider=spider,
            check=incoming_check(self._crawler.settings, crawl.settings.fetch),
            max_held=4 * self._concurrency,
            free_count=lambda: self._concurrency - len(self._handed_out),
            wake_engine=lambda: _call_in_loop(loop, self._wake_engine),
        )
        self._dupefilter.open()
        self._feeder.start()
        self._is_open = True

    def close(self, reason: str) -> None:
        """
        Return unstarted requests to the queue and leave the crawl.

        Does nothing if `open` failed.
        """
        if not self._is_open:
            return
        self._end_finished_jobs()
        held = self._feeder.stop()
        lost_requests = [request for request in held if request.tag is None]
        if lost_requests:
            log.warning(
                "%d requests that could not be sent to the queue are lost", len(lost_requests)
            )
        for request in held:
            if request.tag is not None:
                self._queue.put_back(request.tag, 0)
        self._queue.flush()
        leave_crawl(self._crawl, self._queue)
        self._queue.close()
        self._dupefilter.close(reason)
        self._crawl.fetches.close()

    def has_pending_requests(self) -> bool:
        """True if requests are queued or running, in any process."""
        self._end_finished_jobs()
        if self._handed_out or self._local_count or len(self._feeder):
            return True
        try:
            return self._queue.count_unfinished() > 0
        except BrokerUnavailable as error:
            log.warning("the spider stays open: %s", error)
            return True

    def enqueue_request(self, request: Request) -> bool:
        """
        Enqueue the request for all processes; returns False for a duplicate.

        The requests of `Spider.start` are accepted once per crawl, even with `dont_filter`, because
        every process yields them. A request that cannot be serialized stays in this process.

        Raises:
            BrokerUnavailable: the request may or may not have been enqueued. All requests in
                progress in this process will run again, so it will be yielded again.
        """
        try:
            accepted = self._enqueue(request)
        except BrokerUnavailable as error:
            self.rerun_in_progress(f"a request was not enqueued: {error}")
            raise
        if accepted:
            self._count("scheduler/enqueued")
        else:
            self._dupefilter.log(request, self._spider)
        return accepted

    def next_request(self) -> Request | None:
        """Return the next request whose domain has a slot, or None."""
        self._end_finished_jobs()
        try:
            held, slot = self._feeder.ready.popleft()
        except IndexError:
            return None
        if slot is not None:
            self._crawl.slots[held.request] = slot
        if held.tag is None:
            self._local_count -= 1
        self._handed_out[held.request] = held.tag
        self._count("scheduler/dequeued")
        return held.request

    def rerun_in_progress(self, problem: str) -> None:
        """Rerun every request that is in progress in this process."""
        self._to_rerun |= dict.fromkeys(self._handed_out, problem)

    def run_again(self, request: Request, problem: str | None) -> bool:
        """
        Run one request again, in any process.

        Its errback is not called for this run.

        Args:
            request: a request that `next_request` returned.
            problem: why this attempt failed; the queue's retry policy applies. None if the request
                was not sent; the attempt then does not count.

        Returns:
            False if the engine did not get the request from the queue; nothing changes then.
        """
        if self._handed_out.get(request) is None:
            return False
        self._to_rerun[request] = problem
        request.errback = None
        self._count("scheduler/run_again")
        return True

    def _wake_engine(self) -> None:
        engine.wake_engine(self._crawler)

    def _end_finished_jobs(self) -> None:
        in_progress = engine.in_progress(self._crawler)
        for request in [request for request in self._handed_out if request not in in_progress]:
            tag = self._handed_out.pop(request)
            if (slot := self._crawl.slots.pop(request, None)) is not None:
                # A middleware answered the request.
                self._crawl.fetches.fetch.release_unused(slot)
            if tag is not None:
                self._end(request, tag)
            self._to_rerun.pop(request, None)
            self._queue.wake()

    def _end(self, request: Request, tag: str) -> None:
        if request not in self._to_rerun:
            self._queue.done(tag)
        elif (problem := self._to_rerun[request]) is None:
            self._queue.put_back(tag, 0)
        else:
            self._queue.retry(tag, problem)

    def _enqueue(self, request: Request) -> bool:
        shared_filter = self._dupefilter if isinstance(self._dupefilter, SharedDupeFilter) else None
        is_start = bool(request.meta.get(START)) and SCHEDULED not in request.meta
        is_filtered = is_start or not request.dont_filter
        if not is_filtered:
            return self._put(request, "")
        if shared_filter is None:
            if not request.dont_filter and self._dupefilter.request_seen(request):
                return False
            return self._put(request, "")
        if shared_filter.has_seen(request):
            return False
        accepted = self._put(request, shared_filter.fingerprint(request).hex())
        shared_filter.remember(request)
        return accepted

    def _put(self, request: Request, unique_key: str) -> bool:
        try:
            body = to_json(request, self._spider, {SCHEDULED: True})
        except ValueError as error:
            self._keep_local(request, error)
            return True
        return self._queue.put(
            NewJob(
                body,
                priority=job_priority(request),
                unique_key=unique_key,
                name=f"scrapy:{self._spider.name}",
                key=request.url[:MAX_KEY_CHARS],
            )
        )

    def _keep_local(self, request: Request, error: ValueError) -> None:
        if not self._has_warned_unserializable:
            self._has_warned_unserializable = True
            log.warning("%s and similar requests stay in this process: %s", request, error)
        self._count("scheduler/unserializable")
        # Keep the same object, because `scrapy shell` and others wait for it.
        request.meta[SCHEDULED] = True
        self._local_count += 1
        self._feeder.inbox.append(HeldRequest(request))
        self._queue.wake()

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)


def job_priority(request: Request) -> int:
    """
    Convert a Scrapy priority to a job's priority, from 0 (first) to 9.

    Scrapy's priority 0 becomes 5, and 5 or more becomes 0.
    """
    return min(9, max(0, 5 - request.priority))


def _call_in_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)
