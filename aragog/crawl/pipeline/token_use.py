"""
What the crawls of a token use, beside its quota (`serving.quotas`).

Nothing is counted for it alone: the use of a token is the sum over the crawls that it started. What
it enqueues without a name belongs to a crawl of its own. A quota is checked in the script that
counts a URL as enqueued; what other crawls of the token, and other servers, have counted is read
just before, so that callers at the same moment may pass the bound by what they enqueue in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aragog.errors import QuotaExceeded
from aragog.settings.token_quotas import TokenQuota

OWN_PREFIX = "token."
"""Begins the names of the crawls of what tokens enqueue without a name."""
DAY_MS = 86_400_000
WAITING_AGAIN_S = 60.0
_MOST_NAME = 64


def own_name(token: str) -> str:
    """The crawl of what a token enqueues without a name. Pure."""
    name = f"{OWN_PREFIX}{token}"
    if name.isascii() and len(name) <= _MOST_NAME:
        return name
    return f"{OWN_PREFIX}{hashlib.sha256(token.encode()).hexdigest()[:32]}"


class CrawlUse(NamedTuple):
    """The resources that a crawl has used, by the counts of one server."""

    waiting: int
    urls: int
    """Enqueued on that day."""
    bytes: int
    """Stored on that day."""


class UsedBy(Protocol):
    """Reads the use of crawls (`aragog.crawl.pipeline.crawl_counts.CrawlCounters`)."""

    def use(self, numbers: Sequence[int], day: int) -> list[dict[int, CrawlUse]]:
        """By server, then by number of a crawl."""


@dataclass(frozen=True, slots=True)
class TokenState:
    """The resources that a token has used, at one moment."""

    token: str
    quota: TokenQuota
    urls: int
    waiting: int
    bytes: int
    here: tuple[CrawlUse, ...]
    """The use of the crawl that enqueues now, by server."""
    now_ms: int

    @property
    def is_out_of_bytes(self) -> bool:
        """Whether its pages of today have as many bytes as they may."""
        return self.quota.bytes_a_day is not None and self.bytes >= self.quota.bytes_a_day

    def bounds(self, server: int) -> tuple[int, int]:
        """
        Bounds of that crawl's own counts on a server; -1: none.

        The first is the most URLs of today, the second the most that wait.
        """
        own, quota = self.here[server], self.quota
        if self.is_out_of_bytes:
            return 0, 0
        return (
            _bound(quota.urls_a_day, self.urls, own.urls),
            _bound(quota.waiting_urls, self.waiting, own.waiting),
        )

    def refusal(self, count: int) -> QuotaExceeded:
        """Why `count` URLs were refused: the limit of which the least is left."""
        name, most, used = self._tightest()
        is_waiting = name == "waiting_urls"
        when = "until some are done" if is_waiting else "until midnight (UTC)"
        until_day_s = (DAY_MS - self.now_ms % DAY_MS) / 1000
        return QuotaExceeded(
            f"token {self.token}",
            f"{name}: {used:,} of {most:,} are used; {count:,} more URLs do not fit {when}",
            limit=name,
            most=most,
            used=used,
            retry_after_s=WAITING_AGAIN_S if is_waiting else until_day_s,
        )

    def _tightest(self) -> tuple[str, int, int]:
        """The limit that refuses URLs, its bound, and what is used."""
        if self.quota.bytes_a_day is not None and self.is_out_of_bytes:
            return "bytes_a_day", self.quota.bytes_a_day, self.bytes
        limits = [
            ("urls_a_day", self.quota.urls_a_day, self.urls),
            ("waiting_urls", self.quota.waiting_urls, self.waiting),
        ]
        known = [(name, most, used) for name, most, used in limits if most is not None]
        return min(known, key=lambda limit: limit[1] - limit[2])


def _bound(most: int | None, used: int, own: int) -> int:
    return -1 if most is None else max(0, most - (used - own))


@dataclass(frozen=True, slots=True)
class TokenQuotas:
    """
    The quotas of all tokens.

    Args:
        quotas: by a token's name.
        counts: of crawls.
    """

    quotas: Mapping[str, TokenQuota]
    counts: UsedBy

    def state(
        self, token: str, crawl: int, numbers: Sequence[int], ended: frozenset[int], now_ms: int
    ) -> TokenState | None:
        """
        What a token has used; None: it has no bounds. One round trip a server.

        Args:
            token: its name.
            crawl: the number of the crawl that enqueues.
            numbers: those of all crawls of the token.
            ended: numbers whose URLs do not wait anymore.
            now_ms: by the clock of `redis.url`.
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
            here=tuple(server.get(crawl, CrawlUse(0, 0, 0)) for server in servers),
            now_ms=now_ms,
        )
