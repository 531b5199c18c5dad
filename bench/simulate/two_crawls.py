"""Simulate crawls of one domain in virtual time: how long each takes next to the others."""

from __future__ import annotations

from collections.abc import Mapping

from aragog.crawl.stages.first_visit_delays import FirstVisitDelays
from aragog.settings import Settings
from bench.simulate.parts import Machines, SmallResult
from bench.simulate.shares import SharedLine
from bench.simulate.small import SmallCrawl
from bench.simulate.web import Web


class CrawlsOfADomain(SmallCrawl):
    """
    Crawls that are enqueued one after another.

    Args:
        urls: the number of URLs, by the number of a crawl.
        costs: the cost of a request in the line, by crawl.
        are_apart: True if each has its share; otherwise all are one crawl, in the order of their
            URLs.
    """

    def __init__(
        self,
        urls: Mapping[int, int],
        settings: Settings,
        *,
        costs: Mapping[int, int] | None = None,
        are_apart: bool = True,
    ) -> None:
        web = Web(domains=1, urls=1)
        super().__init__(web, settings, Machines(processes=2, canonicalize_s=1e4))
        self.urls, self.are_apart = urls, are_apart
        for domain in self.domains:
            domain.line = SharedLine(costs) if are_apart else _OneShare()
            domain.kind = domain.kind._replace(failing=0.0)

    def _enqueue(self) -> None:
        delays = FirstVisitDelays(self.settings.politeness.qps, self.clock)
        for crawl, count in self.urls.items():
            if not self.are_apart:
                delays = _OneCrawl(delays)
            self._produce([0] * count, delays, crawl)

    def done_s(self) -> dict[int, float]:
        """Return when each crawl was done."""
        result: SmallResult = self.run()
        return {crawl: max(times) for crawl, times in result.crawls_done_s.items()}


class _OneShare(SharedLine):  # type: ignore[type-arg]
    """A line without shares: by priority, then by arrival."""

    def push(self, share: int, priority: int, request: object) -> None:
        super().push(0, priority, request)


class _OneCrawl(FirstVisitDelays):
    """Delays URLs after those of every crawl."""

    def __init__(self, delays: FirstVisitDelays) -> None:
        self._delays = delays

    def split(self, urls, priority=5, crawl=0):  # type: ignore[no-untyped-def]
        return self._delays.split(urls, priority)
