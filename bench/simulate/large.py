"""
A crawl of a large web, by classes of domains: exact in size, aggregated in time.

What `bench.simulate.small` shows URL by URL is here a flow in two phases:

1. The first visits. Of each domain `FirstVisitDelays` lets about as many URLs to the front as it can be requested in `AHEAD_S`.
   Messages are claimed in the order in which they became due, so all of these are visited before anything that
   waits in a line. A domain is asked at most at its rate; what it cannot take joins its line.
2. The lines. Each gives its URLs at the domain's rate. If the machines cannot fetch as much, every domain is slowed
   down by the same factor.

Left out are retries' delays (minutes), slots that pass unused (less than 2 %), and the enqueueing itself: all URLs
are there at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from aragog.crawl.stages.first_visit_delays import AHEAD_S
from aragog.settings import PolitenessSettings
from bench.simulate.web import DomainClass, Web


class Flow(NamedTuple):
    """What becomes of a class in time."""

    count: float
    urls: float
    """Of each domain, with the repeated requests of those that fail."""
    rate_s: float
    """Requests a second that a domain may get."""


@dataclass(frozen=True, slots=True)
class LargeResult:
    """What a crawl came to; seconds of virtual time."""

    curve: Sequence[tuple[float, float]]
    """(When, share of all requests done), in order."""
    machines_s: float
    """Until this instant the machines were the limit."""
    first_visits_s: float
    """Until this instant the front messages took all threads."""
    mean_waiting: float
    """URLs that wait, in the mean over the time in which 99 % are done."""

    def share_done_s(self, share: float) -> float:
        """When a share of the requests was done."""
        before = (0.0, 0.0)
        for at_s, done in self.curve:
            if done >= share:
                gained = done - before[1]
                part = (share - before[1]) / gained if gained else 1.0
                return before[0] + (at_s - before[0]) * part
            before = (at_s, done)
        return self.curve[-1][0]


def flows(classes: Sequence[DomainClass], politeness: PolitenessSettings) -> list[Flow]:
    """The classes with their rates."""
    found = []
    for each in classes:
        delay_s = min(each.kind.crawl_delay_s, politeness.crawl_delay_cap_s)
        rate_s = 1 / max(1 / politeness.qps, delay_s)
        found.append(Flow(each.count, each.urls / (1 - each.kind.failing), rate_s))
    return found


def crawl(web: Web, politeness: PolitenessSettings, capacity_s: float) -> LargeResult:
    """
    Crawl the whole web.

    Args:
        web: what is crawled.
        politeness: rates of the domains.
        capacity_s: fetches a second that the machines can do.
    """
    parts = flows(web.classes(), politeness)
    total = sum(part.count * part.urls for part in parts)
    front_urls = AHEAD_S * politeness.qps + 1
    first_s = _first_visits_s(parts, front_urls, capacity_s)
    curve, rest, done = [(0.0, 0.0)], [], 0.0
    for part in parts:
        fetched = min(part.urls, front_urls, part.rate_s * first_s)
        done += part.count * fetched
        left = part.urls - fetched
        if left > 1e-9:
            rest.append((left / part.rate_s, part))
    curve.append((first_s, done / total))
    machines_s, now_s, worked_s = first_s, first_s, 0.0
    rest.sort(key=lambda pair: pair[0])
    wanted = sum(part.count * part.rate_s for _, part in rest)
    for work_s, part in rest:
        slower = max(1.0, wanted / capacity_s)
        step_s = (work_s - worked_s) * slower
        if step_s > 0:
            done += min(wanted, capacity_s) * step_s
            now_s, worked_s = now_s + step_s, work_s
            machines_s = now_s if slower > 1 else machines_s
            curve.append((now_s, min(1.0, done / total)))
        wanted = max(0.0, wanted - part.count * part.rate_s)
    return LargeResult(curve, machines_s, first_s, _mean_waiting(curve, total))


def _first_visits_s(parts: Sequence[Flow], front_urls: float, capacity_s: float) -> float:
    """How long the front messages take: the machines' time, or that of what the rates allow."""
    low, high = 0.0, sum(part.count * min(part.urls, front_urls) for part in parts) / capacity_s
    for _ in range(60):
        middle = (low + high) / 2
        fetched = sum(
            part.count * min(part.urls, front_urls, part.rate_s * middle) for part in parts
        )
        low, high = (middle, high) if fetched > capacity_s * middle else (low, middle)
    return high


def _mean_waiting(curve: Sequence[tuple[float, float]], total: float) -> float:
    area, last_s = 0.0, 0.0
    for (from_s, done), (to_s, then) in pairwise(curve):
        area += (to_s - from_s) * (1 - (done + then) / 2)
        last_s = to_s
        if then >= 0.99:
            break
    return total * area / last_s if last_s else 0.0
