"""
Simulate a crawl of a large web by classes of domains: exact in size, aggregated in time.

What `bench.simulate.small` simulates URL by URL is here a flow in two phases:

1. The first visits. For each domain, `FirstVisitDelays` moves about as many URLs to the front as
   the domain allows in `MAX_IMMEDIATE_WAIT_S`. Messages are claimed in the order in which they became due, so
   all of these are visited before anything that waits in a line. A domain is requested at most at
   its rate; the rest joins its line.
2. The lines. Each line releases its URLs at the domain's rate. If the machines cannot fetch that
   many, every domain is slowed down by the same factor.

Left out are the delays of retries (minutes), unused slots (less than 2%), and the enqueueing
itself: all URLs are there at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from aragog.crawl.stages.first_visit_delays import MAX_IMMEDIATE_WAIT_S
from aragog.settings import PolitenessSettings
from bench.simulate.web import DomainClass, Web


class Flow(NamedTuple):
    """The course of a class over time."""

    count: float
    urls: float
    """URLs of each domain, including repeated requests after failures."""
    rate_s: float
    """Requests per second that a domain allows."""


@dataclass(frozen=True, slots=True)
class LargeResult:
    """The results of a crawl, in seconds of virtual time."""

    curve: Sequence[tuple[float, float]]
    """(time, share of all requests done), in order."""
    machines_s: float
    """Until this time the machines were the limit."""
    first_visits_s: float
    """Until this time the front messages used all threads."""
    mean_waiting: float
    """Mean number of waiting URLs over the time in which 99% are done."""

    def share_done_s(self, share: float) -> float:
        """Return when a share of the requests was done."""
        previous = (0.0, 0.0)
        for at_s, done in self.curve:
            if done >= share:
                progress = done - previous[1]
                fraction = (share - previous[1]) / progress if progress else 1.0
                return previous[0] + (at_s - previous[0]) * fraction
            previous = (at_s, done)
        return self.curve[-1][0]


def flows(classes: Sequence[DomainClass], politeness: PolitenessSettings) -> list[Flow]:
    """Return the classes with their rates."""
    class_flows = []
    for class_ in classes:
        delay_s = min(class_.kind.crawl_delay_s, politeness.crawl_delay_cap_s)
        rate_s = 1 / max(1 / politeness.qps, delay_s)
        class_flows.append(Flow(class_.count, class_.urls / (1 - class_.kind.failing), rate_s))
    return class_flows


def crawl(web: Web, politeness: PolitenessSettings, capacity_s: float) -> LargeResult:
    """
    Crawl the whole web.

    Args:
        web: the web to crawl.
        politeness: the rates of the domains.
        capacity_s: fetches per second that the machines can do.
    """
    parts = flows(web.classes(), politeness)
    total = sum(part.count * part.urls for part in parts)
    front_urls = MAX_IMMEDIATE_WAIT_S * politeness.qps + 1
    first_s = _first_visits_s(parts, front_urls, capacity_s)
    curve, lines, done = [(0.0, 0.0)], [], 0.0
    for part in parts:
        fetched = min(part.urls, front_urls, part.rate_s * first_s)
        done += part.count * fetched
        left = part.urls - fetched
        if left > 1e-9:
            lines.append((left / part.rate_s, part))
    curve.append((first_s, done / total))
    machines_s, now_s, line_work_s = first_s, first_s, 0.0
    lines.sort(key=lambda pair: pair[0])
    demand_s = sum(part.count * part.rate_s for _, part in lines)
    for work_s, part in lines:
        slowdown = max(1.0, demand_s / capacity_s)
        step_s = (work_s - line_work_s) * slowdown
        if step_s > 0:
            done += min(demand_s, capacity_s) * step_s
            now_s, line_work_s = now_s + step_s, work_s
            machines_s = now_s if slowdown > 1 else machines_s
            curve.append((now_s, min(1.0, done / total)))
        demand_s = max(0.0, demand_s - part.count * part.rate_s)
    return LargeResult(curve, machines_s, first_s, _mean_waiting(curve, total))


def _first_visits_s(parts: Sequence[Flow], front_urls: float, capacity_s: float) -> float:
    """Return how long the front messages take, limited by the machines or by the allowed rates."""
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
    for (from_s, done), (to_s, next_done) in pairwise(curve):
        area += (to_s - from_s) * (1 - (done + next_done) / 2)
        last_s = to_s
        if next_done >= 0.99:
            break
    return total * area / last_s if last_s else 0.0
