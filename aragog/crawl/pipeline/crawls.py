"""A snapshot of all crawls, as read from the registry (`crawl_registry`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_records import (
    BUILT_IN_NAMES,
    CrawlPhase,
    CrawlRecord,
    built_in_record,
)


@dataclass(frozen=True, slots=True)
class Crawls:
    """All crawls at one point in time."""

    records: Mapping[str, CrawlRecord] = field(default_factory=dict)
    ended: frozenset[int] = frozenset()
    cancellations: tuple[Cancellation, ...] = ()
    now_ms: int = 0
    """When the records were read, by the Redis server's clock."""
    by_number: Mapping[int, CrawlRecord] = field(default_factory=dict)
    paused: frozenset[int] = frozenset()

    @classmethod
    def from_records(
        cls,
        records: Mapping[str, CrawlRecord],
        ended: frozenset[int],
        cancellations: tuple[Cancellation, ...],
        now_ms: int,
    ) -> Self:
        by_number = {number: record for record in records.values() for number in record.numbers}
        past_deadline = {
            record.number for record in records.values() if is_past_deadline(record, now_ms)
        }
        paused = {r.number for r in records.values() if r.state is CrawlPhase.PAUSED}
        return cls(
            records,
            ended | past_deadline,
            cancellations,
            now_ms,
            by_number,
            frozenset(paused - past_deadline),
        )

    @property
    def can_all_continue(self) -> bool:
        return not (self.ended or self.paused or self.cancellations)

    def is_known(self, number: int) -> bool:
        """Return True if a crawl has this number, or had it before it was deleted."""
        return number in BUILT_IN_NAMES or number in self.by_number or number in self.ended

    def get_record(self, number: int) -> CrawlRecord:
        """Return the crawl with this number, or a crawl without limits if it was deleted."""
        if number in BUILT_IN_NAMES:
            return built_in_record(number)
        return self.by_number.get(number) or CrawlRecord(name="", number=number)

    def cancelled_until_s(self, url: str) -> int:
        """
        Return when a normalized URL was last cancelled (s since the epoch); 0 if never. Jobs
        enqueued until then are cancelled.
        """
        return max((c.at_s for c in self.cancellations if c.matches(url)), default=0)


def is_past_deadline(record: CrawlRecord, now_ms: int) -> bool:
    """Return True if the crawl's deadline has passed."""
    return not record.has_ended and record.until_ms is not None and record.until_ms <= now_ms
