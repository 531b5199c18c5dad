"""
Which URLs go behind others at their first visit: those of a domain that has a backlog anyway.

A domain takes one request per interval, so of 200,000 URLs of one domain all but the first few are
fetched hours later, whenever they are looked at first. Their messages get a priority one step less
urgent. URLs of other domains and URLs whose slot has come are claimed before them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from aragog.clock import Clock, SystemClock
from aragog.urls.domain import registered_domain

# What a domain cannot be asked within this long may wait behind others.
AHEAD_S = 10.0
MOST_DOMAINS = 100_000
LEAST_URGENT = 9


class Lanes:
    """
    How far ahead this process has enqueued URLs of each domain, by the rate that domains have.

    Every producer has its own estimate: one too many in front costs a few milliseconds. Safe for
    threads.

    Args:
        qps: requests a second to one domain.
        clock: only its stopwatch is used.
    """

    def __init__(self, qps: float, clock: Clock | None = None) -> None:
        self._interval_s = 1 / qps
        self._clock = clock or SystemClock()
        self._until_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def split(self, urls: Iterable[str]) -> tuple[list[str], list[str]]:
        """The normalized URLs that go in front, and those that go behind, each in order."""
        front: list[str] = []
        behind: list[str] = []
        with self._lock:
            now_s = self._clock.monotonic_s()
            if len(self._until_s) > MOST_DOMAINS:
                self._forget(now_s)
            for url in urls:
                domain = registered_domain(url)
                at_s = max(now_s, self._until_s.get(domain, 0.0))
                self._until_s[domain] = at_s + self._interval_s
                (behind if at_s - now_s > AHEAD_S else front).append(url)
        return front, behind

    def _forget(self, now_s: float) -> None:
        self._until_s = {k: at_s for k, at_s in self._until_s.items() if at_s > now_s}
        if len(self._until_s) > MOST_DOMAINS:
            self._until_s.clear()


def behind(priority: int) -> int:
    """The priority of messages whose URLs go behind. Pure."""
    return min(priority + 1, LEAST_URGENT)
