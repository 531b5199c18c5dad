"""
Reports a crawl's results and estimates its remaining time.

The estimate assumes that all domains with waiting URLs are crawled in parallel, each at its own
rate. It is a lower bound, because machines may be slower and more links may be found. `python -m
bench.crawls estimate` compares it with a simulation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.crawl.pipeline.crawl_counts import CANCELLED, REPEATED, SITEMAP, STORED, is_failure
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.stages.achieved_rates import AchievedRates
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.crawl.traps.trap_store import ClosedTemplate

MAX_OPEN = 1_000
MAX_FAILURES = 1_000
OTHER_DOMAINS = "*"
"""Stands for all further domains once a server counts 50,000 pairs of domain and outcome."""
_REFUSED_PREFIXES = ("refused", "reserved")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a domain is crawled."""

    rate: float
    """Requests per second, after Crawl-delay and backoff. 0 if the domain is stopped."""
    held_by: str = ""
    """What limits or stops the requests, for display; empty if nothing does."""
    robots_unreachable: bool = False
    """True if there are no requests because robots.txt could not be fetched."""
    waiting: int = 0
    """How many URLs of all crawls are waiting for this domain."""


Paces = Callable[[Sequence[str]], Mapping[str, Pace]]
"""Returns the pace of each domain, by rate-limiter key."""


@dataclass(frozen=True, slots=True)
class OpenDomain:
    """A domain with waiting URLs of the crawl."""

    domain: str
    waiting: int
    """The approximate number of waiting URLs."""
    rate: float
    """Requests per second for this crawl."""
    seconds_left: float | None
    """Seconds until all these URLs are requested, including those of other crawls ahead of them.
    None if the domain is stopped."""
    held_by: str
    robots_unreachable: bool
    achieved_rate: float = 0.0
    """How many of its URLs per second the crawl has requested since it was started."""


@dataclass(frozen=True, slots=True)
class FailedUrls:
    """The URLs of a domain that were not stored and have the same outcome."""

    domain: str
    outcome: str
    urls: int
    today: int
    """How many URLs failed since midnight UTC."""
    yesterday: int
    """How many URLs failed the day before."""


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """A crawl's results and open domains."""

    status: CrawlStatus
    domains: Mapping[str, Counter[str]]
    """Outcomes by registered domain."""
    hours: Mapping[int, Counter[str]]
    """Outcomes of the last 90 days, by hour since the epoch."""
    failures: tuple[FailedUrls, ...] = ()
    """At most `MAX_FAILURES` entries: failures first, then URLs that a rule excluded; the most
    frequent first in each group."""
    open: tuple[OpenDomain, ...] = ()
    """Open domains, slowest first, at most `MAX_OPEN`."""
    open_domains: int = 0
    """The number of open domains."""
    closed: Sequence[ClosedTemplate] = ()
    """URL templates recognized as traps. Their links are no longer followed."""
    achieved: AchievedRates = field(default_factory=AchievedRates)
    """How many URLs per second the crawl has requested."""

    @property
    def seconds_left(self) -> float | None:
        """
        Seconds until the last open domain is done, ignoring stopped ones. None if no domain is
        open.
        """
        estimates = [domain.seconds_left for domain in self.open if domain.seconds_left is not None]
        return max(estimates, default=None)

    @property
    def rate(self) -> float:
        """Requests per second that the open domains allow at the moment, all together."""
        return sum(domain.rate for domain in self.open if domain.seconds_left is not None)

    @property
    def stuck(self) -> int:
        """The number of URLs waiting for domains that currently get no requests."""
        return sum(domain.waiting for domain in self.open if domain.seconds_left is None)

    @property
    def refused(self) -> Mapping[str, int]:
        """URLs that robots.txt or a statement about allowed uses excludes, by outcome."""
        outcomes = self.status.counts.outcomes
        return {name: n for name, n in outcomes.items() if name.startswith(_REFUSED_PREFIXES)}

    @property
    def traps(self) -> int:
        """Links that were not followed because they lead into traps."""
        return self.status.counts.traps


def open_domains(
    record: CrawlRecord,
    waiting: Mapping[str, int],
    paces: Mapping[str, Pace],
    achieved: Mapping[str, float] | None = None,
) -> list[OpenDomain]:
    """
    Return a crawl's open domains: stopped ones first, then the slowest.

    Args:
        record: the crawl's record.
        waiting: the number of waiting URLs by domain.
        paces: the pace of each domain.
        achieved: URLs per second that the crawl has requested, by domain.
    """
    achieved = achieved or {}
    domains = [
        replace(
            _open_domain(domain, count, paces.get(domain), record),
            achieved_rate=achieved.get(domain, 0.0),
        )
        for domain, count in waiting.items()
        if domain != OTHER_DOMAINS
    ]
    return sorted(
        domains,
        key=lambda row: (row.seconds_left is not None, -(row.seconds_left or 0), row.domain),
    )


def _open_domain(domain: str, count: int, pace: Pace | None, record: CrawlRecord) -> OpenDomain:
    if pace is None:
        return OpenDomain(domain, count, 0.0, None, "its rate is not known", False)
    is_slow = record.rate is not None and record.rate < pace.rate
    rate = min(pace.rate, record.rate) if record.rate is not None else pace.rate
    is_requested = rate > 0 and not pace.robots_unreachable
    seconds = max(count, pace.waiting) / rate if is_requested else None
    held_by = f"the rate of the crawl, {record.rate:g}/s" if is_slow else pace.held_by
    return OpenDomain(domain, count, rate, seconds, held_by, pace.robots_unreachable)


def failures(
    domains: Mapping[str, Counter[str]],
    days: Mapping[int, Counter[tuple[str, str]]],
    day: int,
) -> list[FailedUrls]:
    """
    Return the URLs that were not stored, by domain and outcome: the total, and the numbers for
    `day` and the day before.
    """
    today, yesterday = days.get(day, Counter()), days.get(day - 1, Counter())
    rows = [
        FailedUrls(domain, outcome, n, today[domain, outcome], yesterday[domain, outcome])
        for domain, counts in domains.items()
        for outcome, n in counts.items()
        if outcome not in (STORED, REPEATED, CANCELLED, SITEMAP)
    ]
    return sorted(rows, key=lambda row: (not is_failure(row.outcome), -row.urls, row.domain))
