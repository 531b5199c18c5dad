"""
`DOWNLOAD_HANDLERS`: aragog's fetcher for `http` and `https`.

Every request, with any scheduler, obeys robots.txt and waits for a slot, which is its domain's turn
for a request. The SSRF filter and the limits in `fetch` apply. Each redirect is a separate request.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadFailedError, IgnoreRequest, NotSupported
from scrapy.http import Response

from aragog.addons.scrapy import engine
from aragog.addons.scrapy.crawl import SpiderCrawl, spider_crawl
from aragog.addons.scrapy.responses import build_response
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.addons.scrapy.unsupported import NamedRoutes, unsupported_reason
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.politeness.slots import Slot
from aragog.crawl.stages.single_fetch import SingleRequest
from aragog.errors import TRANSIENT, InvalidUrl
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Blocked, Deferred, Outcome, Refused
from aragog.runtime.clock import SystemClock
from aragog.runtime.secret import reveal
from aragog.settings import FetchSettings

log = logging.getLogger(__name__)
UNLIMITED = 64
RETRY_DELAY_S = 1.0
"""Pause before retrying a request that failed because Redis did not respond."""
_FETCHER_HEADERS = frozenset({
    "user-agent", "accept-encoding", "host", "connection", "content-length", "transfer-encoding",
    "te", "upgrade", "expect", "proxy-authorization",
})  # fmt: skip
"""Headers that the fetcher sets itself: client identity, framing and encoding."""


class PoliteDownloadHandler:
    """
    Downloads in threads, `CONCURRENT_REQUESTS` at once.

    Args:
        crawl: provides the fetcher.
        threads: maximum number of concurrent requests.
        wait_s: how long a request may wait for robots.txt, a slot, or Redis (`DOWNLOAD_TIMEOUT`).
    """

    lazy = False

    def __init__(
        self, crawler: Crawler, crawl: SpiderCrawl, *, threads: int, wait_s: float
    ) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._wait_s = wait_s
        settings = crawl.settings
        self._routes = NamedRoutes(settings.egress, reveal(settings.fetch.proxy))
        self._clock = SystemClock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="aragog-fetch")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect according to aragog's settings."""
        return cls(
            crawler,
            spider_crawl(crawler),
            threads=crawler.settings.getint("CONCURRENT_REQUESTS") or UNLIMITED,
            wait_s=crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
        )

    async def download_request(self, request: Request) -> Response:
        """
        Download a request.

        Raises:
            NotSupported: a method other than GET, HEAD and POST, a body with a method other than
                POST, or a proxy that is not one of the egress routes in the settings.
            IgnoreRequest: the URL may not be fetched. Or the request will run again from the queue,
                because Redis did not respond in time or the process is stopping.
            DownloadFailedError: Redis did not respond in time, and the request is not from the
                shared queue, so Scrapy may retry it. `build_response` may raise other errors.
        """
        slot = self._crawl.slots.pop(request, None)
        if reason := unsupported_reason(request, self._routes):
            if slot is not None:
                self._crawl.fetches.fetch.release_unused(slot)
            raise NotSupported(reason)
        outcome = await self._outcome(request, slot)
        if outcome.first_byte_ms is not None:
            request.meta["download_latency"] = outcome.first_byte_ms / 1000
        self._crawler.stats.inc_value(f"aragog_outcome/{outcome.outcome.value}")
        log_refusal(request, outcome, self._crawl.settings.fetch)
        return build_response(request, outcome)

    async def _outcome(self, request: Request, slot: Slot | None) -> Outcome:
        loop = asyncio.get_running_loop()
        try:
            outcome = await loop.run_in_executor(self._threads, self._fetch, request, slot)
        except TRANSIENT as error:
            raise self._postponed_error(request, str(error)) from error
        is_deferred = isinstance(outcome, Deferred)
        if is_deferred and not self._is_running() and self._runs_again(request, None):
            raise IgnoreRequest("the process is stopping; the request is queued again")
        return outcome

    def _fetch(self, request: Request, slot: Slot | None) -> Outcome:
        deadline_s = self._clock.monotonic_s() + self._wait_s

        def remaining_s() -> float:
            # After Ctrl-C, unsent requests return to the queue.
            return deadline_s - self._clock.monotonic_s() if self._is_running() else 0.0

        single_request = _single_request(request, self._routes.route_for(request))
        while True:
            try:
                return self._crawl.fetches.fetch.fetch(
                    single_request, remaining_s=remaining_s, slot=slot
                )
            except InvalidUrl as error:
                log.warning("%s was not sent: %s", request, error)
                raise IgnoreRequest(str(error)) from error
            except TRANSIENT as error:
                # A POST may have been sent before Redis stopped responding.
                if request.method == "POST" or remaining_s() <= RETRY_DELAY_S:
                    raise
                log.debug("%s is waiting: %s", request, error)
                slot = None
                self._clock.sleep_s(RETRY_DELAY_S)

    def _postponed_error(self, request: Request, problem: str) -> Exception:
        if self._runs_again(request, problem):
            log.warning("%s will run again: %s", request, problem)
            return IgnoreRequest(f"the request will run again: {problem}")
        return DownloadFailedError(problem)

    def _runs_again(self, request: Request, problem: str | None) -> bool:
        """True if the request will run again from the queue; see `SpiderScheduler.run_again`."""
        scheduler = engine.current_scheduler(self._crawler)
        return isinstance(scheduler, SpiderScheduler) and scheduler.run_again(request, problem)

    def _is_running(self) -> bool:
        return bool(getattr(self._crawler.engine, "running", True))

    async def close(self) -> None:
        """Wait for the running requests."""
        self._threads.shutdown()


def _single_request(request: Request, route: str) -> SingleRequest:
    return SingleRequest(
        url=request.url,
        headers=dict(_headers(request)),
        method=request.method,
        body=request.body,
        way=route,
    )


def _headers(request: Request) -> Iterator[tuple[str, str]]:
    for name, values in request.headers.items():
        header_name = name.decode("latin-1")
        if header_name.lower() not in _FETCHER_HEADERS and values:
            yield header_name, ", ".join(value.decode("latin-1") for value in values)


_ALL_NETWORKS = ("0.0.0.0/0", "::/0")


def log_refusal(request: Request, outcome: Outcome, settings: FetchSettings) -> None:
    """Log why a request was refused, with the setting that would allow it."""
    match outcome:
        case Refused():
            log.info("%s was not sent: %s", request, outcome.reason)
        case Blocked():
            remedy = _remedy(outcome, settings)
            log.warning("%s was not sent: %s%s", request, outcome.reason, remedy)


def _remedy(outcome: Blocked, settings: FetchSettings) -> str:
    """Return the network setting that would help. For other causes, the reason names a setting."""
    if outcome.cause not in (RefusalCause.URL, RefusalCause.ADDRESS):
        return ""
    port = urlsplit(outcome.url).port
    ports = (*settings.allowed_ports, *([port] if port else []))
    any_port = dataclasses.replace(settings, allowed_ports=ports)
    if outcome.cause is RefusalCause.URL and SsrfFilter(any_port).vet_url(outcome.url) is None:
        return ""  # the reason names the setting for ports
    open_to_all = dataclasses.replace(any_port, allowed_networks=_ALL_NETWORKS)
    # URLs with a password and cloud metadata services stay blocked.
    if SsrfFilter(open_to_all).vet_url(outcome.url) is not None:
        return ""
    return "; add its network to fetch.allowed_networks to allow it"
