"""
What a crawl came to and how long it still takes, from counts and the rates of its domains. Pure.

The time left is that of the domains which are still open: each takes its waiting URLs by its rate,
all of them at once. That is a lower bound where machines are the limit, and it knows nothing of
links that are found on the way. `python -m bench.crawls estimate` compares it with a simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import CANCELLED, REPEATED, STORED, is_failure
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.crawl.traps.trap_store import ClosedTemplate

MOST_OPEN = 1_000
MOST_FAILURES = 1_000
OTHERS = "*"
"""Instead of a domain: those after the first 50,000 of a server."""
_NONE_REFUSED = ("refused", "reserved")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a domain gets requests now."""

    rate: float
    """Requests a second, with Crawl-delay and backoff; 0: it is stopped."""
    held_by: str = ""
    """The reason why it waits, in words."""
    robots_unreachable: bool = False
    """Its robots.txt does not answer, so nothing is requested."""
    waiting: int = 0
    """URLs of all crawls that wait for it."""


Paces = Callable[[Sequence[str]], Mapping[str, Pace]]
"""Returns the pace of each of these domains, by limiter key."""


@dataclass(frozen=True, slots=True)
class OpenDomain:
    """A domain of which URLs wait for the crawl."""

    domain: str
    waiting: int
    """About how many."""
    rate: float
    """Requests a second for this crawl."""
    seconds_left: float | None
    """Until they are asked at that rate, behind those of other crawls; None: nothing is asked."""
    held_by: str
    robots_unreachable: bool


@dataclass(frozen=True, slots=True)
class FailedUrls:
    """URLs of a domain that ended otherwise than stored."""

    domain: str
    outcome: str
    urls: int
    today: int
    """Of them, since midnight UTC."""
    yesterday: int
    """The day before."""


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """What a crawl came to."""

    status: CrawlStatus
    domains: Mapping[str, Counter[str]]
    """Outcomes by registered domain."""
    hours: Mapping[int, Counter[str]]
    """Outcomes by hour since the epoch, of the last 90 days."""
    failures: tuple[FailedUrls, ...] = ()
    """The most frequent first, up to `MOST_FAILURES`."""
    open: tuple[OpenDomain, ...] = ()
    """The slowest first, up to `MOST_OPEN`."""
    open_domains: int = 0
    """How many there are."""
    closed: Sequence[ClosedTemplate] = ()
    """Templates of hosts of its domains of which no link is followed: traps that were found."""

    @property
    def seconds_left(self) -> float | None:
        """Until the last open domain is done that is asked; None: none is open."""
        known = [one.seconds_left for one in self.open if one.seconds_left is not None]
        return max(known, default=None)

    @property
    def stuck(self) -> int:
        """URLs that wait for domains of which nothing is asked now."""
        return sum(one.waiting for one in self.open if one.seconds_left is None)

    @property
    def refused(self) -> Mapping[str, int]:
        """URLs that robots.txt, a purpose or an operator refused, by outcome."""
        outcomes = self.status.counts.outcomes
        return {name: n for name, n in outcomes.items() if name.startswith(_NONE_REFUSED)}

    @property
    def traps(self) -> int:
        """Links that were left out as parts of traps."""
        return self.status.counts.traps


def open_domains(
    record: CrawlRecord, waiting: Mapping[str, int], paces: Mapping[str, Pace]
) -> list[OpenDomain]:
    """The open domains of a crawl: first those that are not asked, then the slowest."""
    found = [
        _open(domain, count, paces.get(domain), record)
        for domain, count in waiting.items()
        if domain != OTHERS
    ]
    return sorted(
        found,
        key=lambda one: (one.seconds_left is not None, -(one.seconds_left or 0), one.domain),
    )


def _open(domain: str, count: int, pace: Pace | None, record: CrawlRecord) -> OpenDomain:
    if pace is None:
        return OpenDomain(domain, count, 0.0, None, "its rate is not known", False)
    is_slow = record.rate is not None and record.rate < pace.rate
    rate = min(pace.rate, record.rate) if record.rate is not None else pace.rate
    is_asked = rate > 0 and not pace.robots_unreachable
    seconds = max(count, pace.waiting) / rate if is_asked else None
    held_by = f"the rate of the crawl, {record.rate:g}/s" if is_slow else pace.held_by
    return OpenDomain(domain, count, rate, seconds, held_by, pace.robots_unreachable)


def failures(
    domains: Mapping[str, Counter[str]],
    days: Mapping[int, Counter[tuple[str, str]]],
    day: int,
) -> list[FailedUrls]:
    """The URLs that were not stored, by domain and outcome, on `day` and the day before."""
    today, yesterday = days.get(day, Counter()), days.get(day - 1, Counter())
    rows = [
        FailedUrls(domain, outcome, n, today[domain, outcome], yesterday[domain, outcome])
        for domain, counts in domains.items()
        for outcome, n in counts.items()
        if outcome not in (STORED, REPEATED, CANCELLED)
    ]
    return sorted(rows, key=lambda row: (not is_failure(row.outcome), -row.urls, row.domain))
