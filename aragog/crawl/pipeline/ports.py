"""The small ports that several stages take. `tests/support/memory_ports.py` has them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from aragog.crawl.pipeline.in_flight import DELETED, Heir, UrlEnding
from aragog.crawl.pipeline.outcome_log import Answered
from aragog.crawl.pipeline.sitemap_walks import Walk, WalkSize


class SpoolState(NamedTuple):
    """How full the spool is."""

    used_bytes: int
    closed: bool
    """It reached its high mark and has not yet fallen to its low mark: ordinary fetches wait."""
    full: bool
    """Urgent fetches wait as well."""
    share: float = 0.0
    """Used bytes as a share of the high mark; of several servers the highest."""


class BodyStore(Protocol):
    """Blobs under tokens, between two stages (`aragog.crawl.pipeline.spool.Spool`)."""

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        """Keep the blobs of a later stage, in any case; their tokens, in order."""

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        """The blobs, in order; None where a token was freed."""

    def free(self, tokens: Sequence[str]) -> None:
        """Drop the blobs; unknown tokens are ignored."""

    def packed(self, tokens: Sequence[str]) -> None:
        """Do not count the blobs against fetches anymore: they wait for an open pack."""


class BoundedBodyStore(BodyStore, Protocol):
    """A spool as fetches use it: it may be full."""

    def reserve(self, count: int, *, urgent: bool) -> str | None:
        """A reservation for `count` bodies; None: there is no room."""

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        """Keep the bodies of a fetch; None: there is no room for all, and nothing has changed."""

    def state(self) -> SpoolState:
        """How full it is."""


class InFlight(Protocol):
    """URLs that have not ended in the store yet (`aragog.crawl.pipeline.in_flight.InFlightSet`)."""

    def clear(self, urls: Sequence[str], outcome: str = DELETED) -> None:
        """The URLs are done for every crawl."""

    def end(self, endings: Sequence[UrlEnding]) -> list[Heir | None]:
        """Count what became of URLs; the crawl that wants each next, or None."""

    def count(self) -> int:
        """How many URLs are in flight; some may have expired."""


class Walks(Protocol):
    """Walks of the sitemaps of sites (`aragog.crawl.pipeline.sitemap_walks.SitemapWalks`)."""

    def unseen(self, walk: Walk, files: Sequence[str]) -> list[str]:
        """Those files that were not noted yet; each once, in order."""

    def note_enqueued(self, walk: Walk, files: Sequence[str]) -> None:
        """Note files that were enqueued."""

    def note_read(self, walk: Walk, files: Sequence[str], urls: int) -> WalkSize:
        """Note a file that was read; returns the size of the walk without its URLs."""


class Marks(Protocol):
    """Marks of runs (`aragog.crawl.stages.page_limits.RunMarks`)."""

    def begin(self, tokens: Sequence[str]) -> int:
        """Mark a run of the batch; how many earlier ones never ended."""

    def end(self, tokens: Sequence[str]) -> None:
        """The run is over."""


class CounterSink(Protocol):
    """Counts of events (`aragog.crawl.pipeline.counters.Counters`)."""

    def add(self, counts: Mapping[str, int]) -> None:
        """Add to the counters; never fails."""


class OutcomeSink(Protocol):
    """The last outcomes of domains (`aragog.crawl.pipeline.outcome_log.OutcomeLog`)."""

    def note(self, outcomes: Mapping[str, Sequence[Answered]]) -> None:
        """Add outcomes by limiter key, oldest first; never fails."""


class TakedownLookup(Protocol):
    """Looks up taken-down URLs (`UrlStore`)."""

    def refused(self, urls: Iterable[str]) -> set[str]:
        """The normalized URLs that were taken down."""
