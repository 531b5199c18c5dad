"""
Computes how much of its quota (`serving.quotas`) an API token has used, summed across its crawls.

A token's use is the total use of the crawls that it started. URLs that it enqueues without naming a
crawl belong to a separate crawl (`implicit_crawl_name`). The script that counts a URL as enqueued
also checks the quota. The counts of the token's other crawls, and those on other servers, are read
just before. So concurrent callers may together exceed the limit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aragog.errors import QuotaExceeded
from aragog.settings.token_quotas import TokenQuota

IMPLICIT_CRAWL_PREFIX = "token."
"""Prefix of the names of crawls for URLs that a token enqueues without naming a crawl."""
DAY_MS = 86_400_000
WAITING_RETRY_S = 60.0
_MAX_NAME_CHARS = 64


def implicit_crawl_name(token: str) -> str:
    """Return the name of the crawl for URLs that a token enqueues without naming a crawl."""
    name = f"{IMPLICIT_CRAWL_PREFIX}{token}"
    if name.isascii() and len(name) <= _MAX_NAME_CHARS:
        return name
    return f"{IMPLICIT_CRAWL_PREFIX}{hashlib.sha256(token.encode()).hexdigest()[:32]}"


class CrawlUse(NamedTuple):
    """What a crawl has used, as counted by one server."""

    waiting: int
    urls: int
    """URLs enqueued on that day."""
    bytes: int
    """Bytes stored on that day."""


class CrawlUseReader(Protocol):
    """Reads the use of crawls (`aragog.crawl.pipeline.crawl_counts.CrawlCounters`)."""

    def use(self, numbers: Sequence[int], day: int) -> list[dict[int, CrawlUse]]:
        """Return the use of each crawl by its number, one mapping per server."""


@dataclass(frozen=True, slots=True)
class TokenState:
    """What a token had used when the counts were read."""

    token: str
    quota: TokenQuota
    urls: int
    waiting: int
    bytes: int
    by_server: tuple[CrawlUse, ...]
    """The enqueuing crawl's use, by server."""
    now_ms: int

    @property
    def is_out_of_bytes(self) -> bool:
        return self.quota.bytes_a_day is not None and self.bytes >= self.quota.bytes_a_day

    def bounds(self, server: int) -> tuple[int, int]:
        """
        Return the enqueuing crawl's limits on a server: URLs enqueued today, and waiting URLs.

        -1 means no limit.
        """
        use, quota = self.by_server[server], self.quota
        if self.is_out_of_bytes:
            return 0, 0
        return (
            _crawl_limit(quota.urls_a_day, self.urls, use.urls),
            _crawl_limit(quota.waiting_urls, self.waiting, use.waiting),
        )

    def refusal(self, count: int) -> QuotaExceeded:
        """Return the error for `count` refused URLs, with the limit closest to being reached."""
        name, limit, used = self._tightest_limit()
        is_waiting = name == "waiting_urls"
        when = "until some are done" if is_waiting else "until midnight (UTC)"
        until_day_s = (DAY_MS - self.now_ms % DAY_MS) / 1000
        return QuotaExceeded(
            f"token {self.token}",
            f"{name}: {used:,} of {limit:,} are used; {count:,} more URLs must wait {when}",
            limit=name,
            most=limit,
            used=used,
            retry_after_s=WAITING_RETRY_S if is_waiting else until_day_s,
        )

    def _tightest_limit(self) -> tuple[str, int, int]:
        if self.quota.bytes_a_day is not None and self.is_out_of_bytes:
            return "bytes_a_day", self.quota.bytes_a_day, self.bytes
        limits = [
            ("urls_a_day", self.quota.urls_a_day, self.urls),
            ("waiting_urls", self.quota.waiting_urls, self.waiting),
        ]
        limited = [(name, limit, used) for name, limit, used in limits if limit is not None]
        return min(limited, key=lambda limit: limit[1] - limit[2])


def _crawl_limit(limit: int | None, used: int, crawl_use: int) -> int:
    return -1 if limit is None else max(0, limit - (used - crawl_use))


@dataclass(frozen=True, slots=True)
class TokenQuotas:
    """
    All tokens' quotas.

    Args:
        quotas: quotas by token name.
        counts: reads the counters of crawls.
    """

    quotas: Mapping[str, TokenQuota]
    counts: CrawlUseReader

    def state(
        self, token: str, crawl: int, numbers: Sequence[int], ended: frozenset[int], now_ms: int
    ) -> TokenState | None:
        """
        Return what a token has used, or None if it has no limits. Takes one round trip per server.

        Args:
            token: the token's name.
            crawl: the number of the enqueuing crawl.
            numbers: the numbers of all the token's crawls.
            ended: numbers of crawls that have ended. Their URLs do not count as waiting.
            now_ms: the time by the Redis server's clock.
        """
        quota = self.quotas.get(token)
        if quota is None or not quota.is_bounded:
            return None
        servers = self.counts.use(numbers, now_ms // DAY_MS)
        uses = [(number, use) for server in servers for number, use in server.items()]
        return TokenState(
            token,
            quota,
            urls=sum(use.urls for _, use in uses),
            waiting=sum(use.waiting for number, use in uses if number not in ended),
            bytes=sum(use.bytes for _, use in uses),
            by_server=tuple(server.get(crawl, CrawlUse(0, 0, 0)) for server in servers),
            now_ms=now_ms,
        )
