"""A crawl together with what became of its URLs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord

DONE = "done"


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """A crawl and what became of its URLs."""

    record: CrawlRecord
    counts: CrawlCounts

    @property
    def shown_state(self) -> str:
        """Its state in a word: `done` is a running crawl that has nothing left to do."""
        is_done = self.record.state is CrawlPhase.RUNNING and not self.counts.open
        return DONE if is_done and self.counts.enqueued else self.record.state.value
