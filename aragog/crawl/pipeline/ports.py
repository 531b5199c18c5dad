"""
Small interfaces that several stages use.
`tests/support/memory_ports.py` has in-memory versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from aragog.crawl.pipeline.in_flight import DELETED
from aragog.crawl.pipeline.in_flight_values import NextCrawl, UrlEnding
from aragog.crawl.pipeline.outcome_log import DomainOutcome
from aragog.crawl.pipeline.sitemap_walks import Walk, WalkSize


class SpoolState(NamedTuple):
    """How full the spool is."""

    used_bytes: int
    closed: bool
    """True after the spool reached its high level, until it has fallen to its low level. Ordinary
    fetches must wait."""
    full: bool
    """True if urgent fetches must wait too."""
    share: float = 0.0
    """How full the spool is, as a fraction of the high level. The highest of all servers counts."""


class BodyStore(Protocol):
    """Stores blobs under tokens, between two stages (`aragog.crawl.pipeline.spool.Spool`)."""

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        """
        Store the blobs of a later stage, even if the spool is full.
        Returns their tokens in order.
        """

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        """Return the blobs in order, with None for freed tokens."""

    def free(self, tokens: Sequence[str]) -> None:
        """Delete the blobs. Unknown tokens are ignored."""

    def mark_packed(self, tokens: Sequence[str]) -> None:
        """
        Stop counting these blobs toward the limit, because an open pack (a file of many bodies) has
        copies in memory.
        """


class BoundedBodyStore(BodyStore, Protocol):
    """A spool as fetches see it: it can be full."""

    def reserve(self, count: int, *, urgent: bool) -> str | None:
        """Reserve space for `count` bodies. Returns None if the spool is full."""

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        """Store the bodies of a fetch. Returns None and stores nothing if space is short."""

    def state(self) -> SpoolState:
        """Return how full the spool is."""


class InFlight(Protocol):
    """URLs that are not done yet (`aragog.crawl.pipeline.in_flight.InFlightSet`)."""

    def clear(self, urls: Sequence[str], outcome: str = DELETED) -> None:
        """Remove URLs that are done for all crawls."""

    def end(self, endings: Sequence[UrlEnding]) -> list[NextCrawl | None]:
        """
        Count the outcomes of URLs.
        Returns, for each URL, the next crawl that wants it, or None.
        """

    def count(self) -> int:
        """Return how many URLs are in flight, including expired ones."""


class Walks(Protocol):
    """Walks through sites' sitemaps (`aragog.crawl.pipeline.sitemap_walks.SitemapWalks`)."""

    def unseen_files(self, walk: Walk, files: Sequence[str]) -> list[str]:
        """Return the files that were not recorded yet, without duplicates, in order."""

    def record_enqueued(self, walk: Walk, files: Sequence[str]) -> None:
        """Record files that were enqueued."""

    def record_read(self, walk: Walk, files: Sequence[str], urls: int) -> WalkSize:
        """Record that a file was read. Returns the walk's size before the file's URLs are added."""


class Marks(Protocol):
    """Detects runs whose process died (`aragog.crawl.stages.page_limits.RunMarks`)."""

    def start_run(self, tokens: Sequence[str]) -> int:
        """Record the start of a run. Returns the number of earlier runs that never ended."""

    def end_run(self, tokens: Sequence[str]) -> None:
        """Record the end of a run."""


class CounterSink(Protocol):
    """Counts of events (`aragog.crawl.pipeline.counters.Counters`)."""

    def add(self, counts: Mapping[str, int]) -> None:
        """Add to the counters. Never raises."""


class OutcomeSink(Protocol):
    """The most recent outcomes of domains (`aragog.crawl.pipeline.outcome_log.OutcomeLog`)."""

    def note(self, outcomes: Mapping[str, Sequence[DomainOutcome]]) -> None:
        """Add outcomes by the domain's rate-limiter key, oldest first. Never raises."""


class TakedownLookup(Protocol):
    """Looks up taken-down URLs (`UrlStore`)."""

    def refused(self, urls: Iterable[str]) -> set[str]:
        """Return the normalized URLs that were taken down."""
