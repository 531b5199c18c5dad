"""
Give new URLs of a domain that already has a backlog a less urgent priority and a delay.

A domain takes one request per interval. Of 200,000 URLs of one domain, all but the first few are
therefore fetched hours later, no matter when a worker first claims them. Their messages get a
priority that is one step less urgent, so workers first claim URLs of other domains and URLs whose
slot has come. They are also delayed by a 25th of the time until the domain can serve them: first
visits, which put them in line, then come at a rate that leaves workers free for others. A URL is
behind those of the same or a more urgent priority of its crawl only: crawls share a line by weight.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.runtime.clock import Clock, SystemClock
from urlspelling.domain import registered_domain

# URLs that a domain cannot serve within this time are enqueued after the others.
AHEAD_S = 10.0
# Share of the estimated wait before the first visit. It is small because a rate that is raised
# 20-fold must find the URLs in line, URLs that are stored already need no slot, and a producer may
# know a lower rate than the workers.
DELAYED_BY = 0.04
LONGEST_DELAY_S = 3600.0
LEAST_URGENT = 9


class DelayedUrl(NamedTuple):
    """A URL that is enqueued after others."""

    url: str
    delay_ms: int
    """How long its first visit is delayed."""


class FirstVisitDelays:
    """
    Estimates how far ahead this process has enqueued URLs of each domain, from the rate limit.

    Every producer has its own estimate; a URL that is wrongly put in front costs a few
    milliseconds. Thread-safe.

    Args:
        qps: requests per second to one domain.
        clock: only its monotonic time is used.
        max_domains: bounds the memory (domains, priorities and crawls); above it, estimates are
            forgotten.
    """

    def __init__(
        self, qps: float, clock: Clock | None = None, *, max_domains: int = 100_000
    ) -> None:
        self._max_domains = max_domains
        self._interval_s = 1 / qps
        self._clock = clock or SystemClock()
        self._until_s: dict[tuple[str, int, int], float] = {}
        self._lock = threading.Lock()

    def split(
        self, urls: Iterable[str], priority: int = PRIORITY_DEFAULT, crawl: int = 0
    ) -> tuple[list[str], list[DelayedUrl]]:
        """Split normalized URLs into those without a delay and the delayed ones, soonest first."""
        front: list[str] = []
        delayed: list[DelayedUrl] = []
        with self._lock:
            now_s = self._clock.monotonic_s()
            if len(self._until_s) > self._max_domains:
                self._forget(now_s)
            for url in urls:
                domain = registered_domain(url)
                ahead = (self._until_s.get((domain, p, crawl), 0.0) for p in range(priority + 1))
                at_s = max(now_s, *ahead)
                self._until_s[domain, priority, crawl] = at_s + self._interval_s
                wait_s = at_s - now_s
                if wait_s > AHEAD_S:
                    delay_s = min(wait_s * DELAYED_BY, LONGEST_DELAY_S)
                    delayed.append(DelayedUrl(url, int(delay_s * 1000)))
                else:
                    front.append(url)
        delayed.sort(key=lambda job: job.delay_ms)
        return front, delayed

    def _forget(self, now_s: float) -> None:
        self._until_s = {k: at_s for k, at_s in self._until_s.items() if at_s > now_s}
        if len(self._until_s) > self._max_domains:
            self._until_s.clear()


def less_urgent(priority: int) -> int:
    """The priority of messages whose URLs are enqueued after others. Pure."""
    return min(priority + 1, LEAST_URGENT)
