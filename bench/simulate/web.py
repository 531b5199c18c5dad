"""
A model of a web: sizes of domains, latencies, failures, robots.txt, and how often pages change.

The numbers are assumptions, not measurements of the web, except where a source is named. They are
fields, so that the sensitivity of each result to them can be printed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

SIZE_CLASSES = 400
"""Number of groups of domains of similar size. The 100 largest domains have separate groups."""
SEPARATE_DOMAINS = 100


class Kind(NamedTuple):
    """Domains that behave alike."""

    name: str
    share: float
    """Share of the domains, whatever their size."""
    failing: float
    """Share of the requests that fail temporarily (5xx, timeout)."""
    crawl_delay_s: float = 0.0
    """The crawl delay in robots.txt; 0 for none."""


KINDS = (
    Kind("well", 0.87, 0.005),
    Kind("unreliable", 0.06, 0.1),
    Kind("delay of 1 s", 0.04, 0.005, 1.0),
    Kind("delay of 10 s", 0.03, 0.005, 10.0),
)


class DomainClass(NamedTuple):
    """Domains of similar size and one kind."""

    count: float
    urls: float
    """URLs of each domain."""
    kind: Kind


@dataclass(frozen=True, slots=True)
class Web:
    """The web to crawl."""

    domains: int = 10_000_000
    urls: float = 1e9
    exponent: float = 1.0
    """The size of the n-th largest domain is proportional to 1 / n^exponent."""
    latency_s: float = 0.4
    """Median response time."""
    latency_sigma: float = 1.0
    """Standard deviation of its logarithm: one in a hundred takes ten times the median."""
    hanging: float = 0.005
    """Share of the requests that end with a read timeout."""
    hanging_s: float = 10.0
    body_bytes: float = 14_000
    """Compressed size of a page."""

    def sizes(self) -> list[tuple[float, float]]:
        """Return (number of domains, URLs of each), largest first. The URLs add up to `urls`."""
        edges = [*range(1, min(SEPARATE_DOMAINS, self.domains) + 1)]
        if self.domains > SEPARATE_DOMAINS:
            steps = math.log(self.domains / SEPARATE_DOMAINS)
            class_edges = (
                SEPARATE_DOMAINS * math.exp(steps * n / SIZE_CLASSES)
                for n in range(1, SIZE_CLASSES + 1)
            )
            edges += sorted({round(edge) for edge in class_edges} - set(edges))
        weights = []
        previous = 0
        for edge in edges:
            weights.append((edge - previous, self._weight(previous, edge)))
            previous = edge
        total = sum(weight for _, weight in weights)
        return [(count, self.urls * weight / total / count) for count, weight in weights]

    def _weight(self, above: int, last: int) -> float:
        """Return the sum of 1 / n^exponent for the ranks above `above` and up to `last`."""
        if last - above <= 1000:
            return sum(rank**-self.exponent for rank in range(above + 1, last + 1))
        low, high = above + 0.5, last + 0.5  # midpoint rule
        if self.exponent == 1:
            return math.log(high / low)
        return (high ** (1 - self.exponent) - low ** (1 - self.exponent)) / (1 - self.exponent)

    def classes(self) -> list[DomainClass]:
        """Return all domains. A group of one domain is of the first kind."""
        classes = []
        for count, urls in self.sizes():
            if count < len(KINDS):
                classes.append(DomainClass(count, urls, KINDS[0]))
            else:
                classes += [DomainClass(count * kind.share, urls, kind) for kind in KINDS]
        return classes

    def draw(self, rng: random.Random) -> Iterator[tuple[int, Kind]]:
        """Yield every domain: its URLs (at least one) and its kind."""
        shares = [kind.share for kind in KINDS]
        for count, urls in self.sizes():
            for _ in range(round(count)):
                size = int(urls) + (rng.random() < urls % 1)
                yield (
                    max(1, size),
                    (KINDS[0] if count < len(KINDS) else rng.choices(KINDS, shares)[0]),
                )

    def response_s(self, rng: random.Random) -> float:
        """Return a random response time."""
        if rng.random() < self.hanging:
            return self.hanging_s
        return min(self.latency_s * math.exp(rng.gauss(0, self.latency_sigma)), 30.0)
