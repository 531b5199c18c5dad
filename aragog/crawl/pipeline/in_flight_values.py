"""Parameters and results of calls to the in-flight set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from aragog.crawl.pipeline.token_use import TokenState


class Mark(IntEnum):
    """The result of marking a URL. Only `NEW` URLs are sent."""

    WAITING = 0
    NEW = 1
    JOINED = 2
    """The URL was waiting for another crawl, and now also waits for this one."""
    MAX_URLS = 3
    """Not marked: the crawl has reached its maximum number of URLs."""
    MAX_PER_HOST = 4
    UNCLEAR = 5
    OVER_QUOTA = 6
    """Not marked: the quota of the crawl's token is used up."""


@dataclass(frozen=True, slots=True)
class MarkingCrawl:
    """The crawl for which URLs are marked, and its limits."""

    crawl: int = 0
    depth: int = 0
    """How many levels of links the crawl follows from these URLs."""
    max_urls: int | None = None
    """Maximum number of URLs of the crawl; None for no limit."""
    max_per_host: int | None = None
    quota: TokenState | None = None
    """How much of its quota the crawl's token has used; None if the token has no quota."""


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
    """How many levels of links the crawl follows; None for the depth of the job that was sent."""


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
