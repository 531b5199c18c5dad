"""
Makes new URLs less urgent and delays them if their domain has a backlog.

A domain gets one request per interval. If it has 200,000 new URLs, most are fetched hours later,
whenever a worker claims them. Their messages get a priority one step less urgent, so workers first
claim URLs of other domains and URLs whose slot (reserved request time) is due. A first visit only
puts a URL in line (its domain's waiting queue). The messages are therefore also delayed by 1/25 of
the time until the domain can serve them, which keeps workers available. A URL only waits for URLs
of its own crawl that are at least as urgent, because each crawl has its own share of a line.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.runtime.clock import Clock, SystemClock
from urlspelling.domain import registered_domain

# URLs that the domain's rate does not allow within this time are delayed.
MAX_IMMEDIATE_WAIT_S = 10.0
# The delay, as a share of the estimated wait. It is small because the rate may rise 20-fold later,
# stored URLs need no slot, and a producer may assume a lower rate than the workers.
DELAY_SHARE = 0.04
MAX_DELAY_S = 3600.0
LEAST_URGENT_PRIORITY = 9


class DelayedUrl(NamedTuple):
    """A URL that is enqueued with a delay."""

    url: str
    delay_ms: int


class FirstVisitDelays:
    """
    Estimates each domain's backlog from its rate and the URLs that this process has enqueued.

    If a URL is wrongly not delayed, this costs a few milliseconds. Thread-safe.

    Args:
        qps: requests per second to one domain.
        clock: only its monotonic time is used.
        max_domains: how many combinations of domain, priority and crawl to keep estimates for.
    """

    def __init__(
        self, qps: float, clock: Clock | None = None, *, max_domains: int = 100_000
    ) -> None:
        self._max_domains = max_domains
        self._interval_s = 1 / qps
        self._clock = clock or SystemClock()
        self._busy_until_s: dict[tuple[str, int, int], float] = {}
        self._lock = threading.Lock()

    def split(
        self, urls: Iterable[str], priority: int = PRIORITY_DEFAULT, crawl: int = 0
    ) -> tuple[list[str], list[DelayedUrl]]:
        """
        Split normalized URLs into those without a delay and delayed ones, shortest
        delay first.
        """
        immediate: list[str] = []
        delayed: list[DelayedUrl] = []
        with self._lock:
            now_s = self._clock.monotonic_s()
            if len(self._busy_until_s) > self._max_domains:
                self._drop_past(now_s)
            for url in urls:
                domain = registered_domain(url)
                queue_ends_s = (
                    self._busy_until_s.get((domain, p, crawl), 0.0) for p in range(priority + 1)
                )
                at_s = max(now_s, *queue_ends_s)
                self._busy_until_s[domain, priority, crawl] = at_s + self._interval_s
                wait_s = at_s - now_s
                if wait_s > MAX_IMMEDIATE_WAIT_S:
                    delay_s = min(wait_s * DELAY_SHARE, MAX_DELAY_S)
                    delayed.append(DelayedUrl(url, int(delay_s * 1000)))
                else:
                    immediate.append(url)
        delayed.sort(key=lambda job: job.delay_ms)
        return immediate, delayed

    def _drop_past(self, now_s: float) -> None:
        self._busy_until_s = {k: at_s for k, at_s in self._busy_until_s.items() if at_s > now_s}
        if len(self._busy_until_s) > self._max_domains:
            self._busy_until_s.clear()


def less_urgent_priority(priority: int) -> int:
    """Return the priority for messages with delayed URLs."""
    return min(priority + 1, LEAST_URGENT_PRIORITY)
