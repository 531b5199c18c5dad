"""Values of single requests that the download handler does not use."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler

log = logging.getLogger(__name__)
ORDER = 890
"""Its place among the downloader middlewares: after those that set the header and `meta`."""
_META = {
    "bindaddress": "the system chooses the address",
    "dont_obey_robotstxt": "robots.txt is always obeyed; `aragog robots test` explains a refusal",
    "download_maxsize": "set fetch.max_body_bytes",
    "download_warnsize": "set fetch.max_body_bytes",
}


class UnusedValues:
    """
    A downloader middleware that warns about each kind of value once a process.

    Args:
        user_agent: the header that Scrapy's own middleware sets.
        timeout_s: `meta["download_timeout"]` as Scrapy's own middleware sets it.
    """

    def __init__(self, user_agent: str, timeout_s: float) -> None:
        self._user_agent = user_agent.encode()
        self._timeout_s = timeout_s
        self._reported: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect; what Scrapy's own middlewares set is not warned about."""
        settings = crawler.settings
        return cls(settings.get("USER_AGENT") or "", settings.getfloat("DOWNLOAD_TIMEOUT"))

    def process_request(self, request: Request) -> None:
        """Warn about what the request has and the download handler does not use."""
        for name, remedy in self._unused(request):
            if name not in self._reported:
                self._reported.add(name)
                log.warning(
                    "%s of %s, and of others like it, has no effect with aragog: %s",
                    name, request, remedy,
                )  # fmt: skip

    def _unused(self, request: Request) -> Iterator[tuple[str, str]]:
        if request.headers.get("User-Agent", self._user_agent) != self._user_agent:
            yield "the header User-Agent", "set fetch.user_agent, with a contact"
        if request.meta.get("download_timeout", self._timeout_s) != self._timeout_s:
            remedy = "DOWNLOAD_TIMEOUT bounds the wait for a slot, fetch.deadline_s the fetch"
            yield "meta['download_timeout']", remedy
        for key, remedy in _META.items():
            if request.meta.get(key):
                yield f"meta[{key!r}]", remedy
