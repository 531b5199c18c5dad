"""A crawl's status."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord

DONE = "done"


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """A crawl and the outcomes of its URLs."""

    record: CrawlRecord
    counts: CrawlCounts

    @property
    def display_state(self) -> str:
        """The state as one word. A running crawl is `done` when all enqueued URLs have ended."""
        is_done = self.record.state is CrawlPhase.RUNNING and not self.counts.open
        return DONE if is_done and self.counts.enqueued else self.record.state.value
