"""Parameters and results of calls to the in-flight set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self

from aragog.crawl.pipeline.token_use import TokenState


class Mark(IntEnum):
    """The result of marking a URL. The caller sends only `NEW` URLs."""

    WAITING = 0
    NEW = 1
    JOINED = 2
    """The URL was waiting for another crawl, and now also waits for this one."""
    MAX_URLS = 3
    """Not marked: the crawl has reached its maximum number of URLs."""
    MAX_PER_HOST = 4
    UNCLEAR = 5
    """Another producer may be sending the URL."""
    OVER_QUOTA = 6
    """Not marked: the quota of the API token that started the crawl is used up."""


@dataclass(frozen=True, slots=True)
class MarkingCrawl:
    """The crawl for which URLs are marked, and its limits."""

    crawl: int = 0
    depth: int = 0
    """Levels of links to follow from these URLs."""
    max_urls: int | None = None
    """The crawl's maximum number of URLs, or None."""
    max_per_host: int | None = None
    quota: TokenState | None = None
    """How much of its quota the crawl's API token has used; None if the token has no quota."""


NO_CRAWL = MarkingCrawl()


class UrlEnding(NamedTuple):
    """How a URL ended for a crawl."""

    url: str
    crawl: int
    """The number of the crawl whose job ended."""
    outcome: str
    bytes: int = 0
    for_all: bool = False
    """True if the URL ended for all crawls that want it."""
    notes: tuple[str, ...] = ()
    """Labels to count in addition to the outcome, such as `unchanged`."""


class NextCrawl(NamedTuple):
    """The next crawl that wants a URL."""

    crawl: int
    depth: int | None
    """Levels of links to follow. None means the depth of the job that was sent."""

    @classmethod
    def parse(cls, value: bytes) -> Self:
        """Parse a crawl's part of an entry."""
        crawl, _, depth = value.partition(b".")
        return cls(int(crawl), int(depth) if depth else None)


class CancelQuery(NamedTuple):
    """A job's URL, to find out whether it was cancelled."""

    url: str
    crawl: int
    depth: int = 0
    cancelled_until_s: int = 0
    """The job is cancelled if it was enqueued by this time (s since the epoch); 0 for never."""


class NextStep(IntEnum):
    """What to do with a job, unless it continues for another crawl (`NextCrawl`)."""

    CONTINUES = 0
    ENDS = 1
    WAITS = 2
