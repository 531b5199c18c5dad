"""
Upkeep of crawls: records passed deadlines, and deletes old records.

Each step can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import DAYS_KEPT, HOURS_KEPT, CrawlCounters
from aragog.crawl.pipeline.crawl_records import OWN_NAMES, CrawlPhase
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry, is_over

UNTIL = "its time is over (until)"


@dataclass(frozen=True, slots=True)
class CrawlUpkeep:
    """
    Maintains the records of all crawls.

    Every process treats a crawl as ended once its deadline has passed; this updates its record.
    """

    registry: CrawlRegistry
    counts: CrawlCounters

    def run(self) -> None:
        """Run all steps once."""
        crawls = self.registry.read()
        for record in crawls.records.values():
            if is_over(record, crawls.now_ms):
                self.registry.set_state(record.name, CrawlPhase.ENDED, UNTIL)
        self.registry.forget_old()
        # Late messages may have counted URLs for crawls that were deleted.
        self.counts.delete(sorted(crawls.ended - crawls.by_number.keys()))
        hour = crawls.now_ms // 3_600_000 - HOURS_KEPT
        numbers = [*OWN_NAMES, *crawls.by_number]
        self.counts.forget_before(numbers, "hours", hour)
        for table in ("days", "use"):
            self.counts.forget_before(numbers, table, crawls.now_ms // 86_400_000 - DAYS_KEPT + 1)
