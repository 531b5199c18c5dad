"""Ends crawls whose deadline has passed, and deletes old records. Each step is safe to repeat."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import RETAINED_DAYS, RETAINED_HOURS, CrawlCounters
from aragog.crawl.pipeline.crawl_records import BUILT_IN_NAMES, CrawlPhase
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.crawls import is_past_deadline

DEADLINE_REASON = "its time is over (until)"


@dataclass(frozen=True, slots=True)
class CrawlUpkeep:
    """
    Maintains the records of all crawls.

    Every process treats a crawl as ended once its deadline has passed. `run` also updates its
    record.
    """

    registry: CrawlRegistry
    counts: CrawlCounters

    def run(self) -> None:
        crawls = self.registry.read()
        for record in crawls.records.values():
            if is_past_deadline(record, crawls.now_ms):
                self.registry.set_state(record.name, CrawlPhase.ENDED, DEADLINE_REASON)
        self.registry.delete_expired()
        # Late messages may have counted URLs for deleted crawls.
        self.counts.delete(sorted(crawls.ended - crawls.by_number.keys()))
        hour = crawls.now_ms // 3_600_000 - RETAINED_HOURS
        numbers = [*BUILT_IN_NAMES, *crawls.by_number]
        self.counts.delete_before(numbers, "hours", hour)
        for table in ("days", "use"):
            self.counts.delete_before(
                numbers, table, crawls.now_ms // 86_400_000 - RETAINED_DAYS + 1
            )
