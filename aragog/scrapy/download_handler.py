"""
`DOWNLOAD_HANDLERS`: aragog's fetcher for `http` and `https`.

Every request obeys robots.txt, waits for a slot of its domain, and has a permit right before its
bytes leave, whichever scheduler it comes from. The SSRF filter and the limits of `fetch` apply.
Redirects are left to Scrapy, so that each of them is a request of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotSupported
from scrapy.http import Response

from aragog.clock import SystemClock
from aragog.errors import InvalidUrl
from aragog.fetcher.outcome import Outcome
from aragog.politeness.slots import Slot
from aragog.scrapy.crawl import SpiderCrawl, crawl_of
from aragog.scrapy.responses import response_of
from aragog.stages.single_fetch import SingleRequest

METHODS = ("GET", "HEAD", "POST")
UNLIMITED = 64
_OWN = frozenset({
    "user-agent", "accept-encoding", "host", "connection", "content-length", "transfer-encoding",
    "te", "upgrade", "expect", "proxy-authorization",
})  # fmt: skip
"""Headers that the fetcher sends by itself: who asks, and how bytes are framed and encoded."""


class PoliteDownloadHandler:
    """
    Downloads in threads, `CONCURRENT_REQUESTS` at once.

    Args:
        crawl: what fetches.
        threads: how many requests may be under way.
        wait_s: how long a request may wait for robots.txt and a slot (`DOWNLOAD_TIMEOUT`).
    """

    lazy = False

    def __init__(
        self, crawler: Crawler, crawl: SpiderCrawl, *, threads: int, wait_s: float
    ) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._wait_s = wait_s
        self._clock = SystemClock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="aragog-fetch")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect as aragog's settings say."""
        return cls(
            crawler,
            crawl_of(crawler),
            threads=crawler.settings.getint("CONCURRENT_REQUESTS") or UNLIMITED,
            wait_s=crawler.settings.getfloat("DOWNLOAD_TIMEOUT"),
        )

    async def download_request(self, request: Request) -> Response:
        """
        The response.

        Raises:
            NotSupported: a method other than GET, HEAD and POST, or a body of another than POST.
            IgnoreRequest: the URL may not be fetched.
            AragogError: Redis did not answer. Others are those of `response_of`.
        """
        slot = self._crawl.slots.pop(request, None)
        if request.method not in METHODS or (request.body and request.method != "POST"):
            if slot is not None:
                self._crawl.fetches.fetch.unused(slot)
            raise NotSupported(
                f"aragog sends GET, HEAD and POST, not {request.method} with this body"
            )
        loop = asyncio.get_running_loop()
        outcome = await loop.run_in_executor(self._threads, self._fetch, request, slot)
        if outcome.first_byte_ms is not None:
            request.meta["download_latency"] = outcome.first_byte_ms / 1000
        self._crawler.stats.inc_value(f"aragog_outcome/{outcome.outcome.value}")
        return response_of(request, outcome)

    def _fetch(self, request: Request, slot: Slot | None) -> Outcome:
        until_s = self._clock.monotonic_s() + self._wait_s

        def left_s() -> float:
            # After ctrl-C, what has not been sent returns to the queue.
            return until_s - self._clock.monotonic_s() if self._is_running() else 0.0

        try:
            return self._crawl.fetches.fetch.fetch(
                SingleRequest(
                    url=request.url,
                    headers=dict(_headers(request)),
                    method=request.method,
                    body=request.body,
                ),
                left_s=left_s,
                slot=slot,
            )
        except InvalidUrl as error:
            raise IgnoreRequest(str(error)) from error

    def _is_running(self) -> bool:
        return bool(getattr(self._crawler.engine, "running", True))

    async def close(self) -> None:
        """Wait for the requests that are under way."""
        self._threads.shutdown()


def _headers(request: Request) -> Iterator[tuple[str, str]]:
    for name, values in request.headers.items():
        shown = name.decode("latin-1")
        if shown.lower() not in _OWN and values:
            yield shown, ", ".join(value.decode("latin-1") for value in values)
