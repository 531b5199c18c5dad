"""
How fast a crawl gets through its URLs, from the counts of their outcomes.

Only URLs that are requested count: not those that robots.txt excludes, that were cancelled, or that
had been stored before. Redirects and robots.txt itself are not counted, so a site sees slightly
more requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from aragog.crawl.pipeline.crawl_counts import CANCELLED, REPEATED
from aragog.crawl.pipeline.crawl_records import CrawlRecord

HOUR_MS = 3_600_000
_NOT_REQUESTED = frozenset({CANCELLED, REPEATED, "taken down", "deleted", "lost"})
_REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AchievedRates:
    """A crawl's URLs per second."""

    total: float = 0.0
    """Since the crawl was started, or since it was first used if it is built in. For a crawl with
    nothing to do, until the end of the hour of its last URL."""
    recent: float = 0.0
    """Since the beginning of the previous hour (UTC), or since the start if that was later."""
    by_domain: Mapping[str, float] = field(default_factory=dict)
    """Like `total`, by registered domain."""

    @classmethod
    def of(
        cls,
        record: CrawlRecord,
        hours: Mapping[int, Counter[str]],
        domains: Mapping[str, Counter[str]],
        *,
        is_open: bool,
        now_ms: int,
    ) -> Self:
        """
        Return the rates of a crawl.

        Args:
            record: the crawl's record.
            hours: outcomes by hour since the epoch.
            domains: outcomes by registered domain.
            is_open: True if URLs are waiting.
            now_ms: the time (ms since the epoch).
        """
        if not hours:
            return cls()
        started_ms = _started_ms(record, hours)
        ended_ms = now_ms if is_open else min(now_ms, (max(hours) + 1) * HOUR_MS)
        previous_hour = now_ms // HOUR_MS - 1
        recent = sum(_requested(n) for hour, n in hours.items() if hour >= previous_hour)
        recent_from_ms = max(started_ms, previous_hour * HOUR_MS)
        return cls(
            _per_second(sum(map(_requested, domains.values())), ended_ms - started_ms),
            _per_second(recent, now_ms - recent_from_ms),
            {
                domain: _per_second(_requested(outcomes), ended_ms - started_ms)
                for domain, outcomes in domains.items()
            },
        )


def _started_ms(record: CrawlRecord, hours: Mapping[int, Counter[str]]) -> int:
    return record.created_at_ms or min(hours) * HOUR_MS


def _requested(outcomes: Counter[str]) -> int:
    return sum(
        count
        for outcome, count in outcomes.items()
        if outcome not in _NOT_REQUESTED and not outcome.startswith(_REFUSED)
    )


def _per_second(count: int, duration_ms: int) -> float:
    return count * 1000 / max(1000, duration_ms)
