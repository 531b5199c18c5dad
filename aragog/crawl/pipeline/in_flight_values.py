"""Parameters and results of the in-flight set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from aragog.crawl.pipeline.token_use import TokenState


class Mark(IntEnum):
    """The result of `mark`; only `NEW` URLs must be sent."""

    WAITING = 0
    NEW = 1
    JOINED = 2
    """The URL was waiting for another crawl, and now also waits for this crawl."""
    MOST_URLS = 3
    """The crawl has reached its maximum number of URLs; the URL is not marked."""
    MOST_OF_HOST = 4
    UNCLEAR = 5
    OVER_QUOTA = 6
    """The crawl's token has used up its quota; the URL is not marked."""


@dataclass(frozen=True, slots=True)
class Wants:
    """The crawl for which URLs are marked."""

    crawl: int = 0
    depth: int = 0
    """How many link hops the crawl follows from these URLs."""
    max_urls: int | None = None
    """Maximum number of URLs of the crawl; None for no limit."""
    max_per_host: int | None = None
    quota: TokenState | None = None
    """What the crawl's token has used; None if it has no quota."""


ANYONE = Wants()


class UrlEnding(NamedTuple):
    """How a URL ended for a crawl."""

    url: str
    crawl: int
    """The number of the crawl whose job ended."""
    outcome: str
    bytes: int = 0
    for_all: bool = False
    """True if the URL ended for every crawl that wants it."""
    notes: tuple[str, ...] = ()
    """Labels that are counted in addition to the outcome, such as `unchanged`."""


class Heir(NamedTuple):
    """The crawl that wants a URL next."""

    crawl: int
    depth: int | None
    """How many link hops the crawl follows; None: as many as the job that was sent for the URL."""


class Question(NamedTuple):
    """A URL of a job that may have been cancelled."""

    url: str
    crawl: int
    depth: int = 0
    cut_s: int = 0
    """The job is cancelled if it was enqueued by this time (s since the epoch); 0 for never."""


class Held(IntEnum):
    """The next step of a job whose crawl may have ended, unless it continues for an `Heir`."""

    GOES_ON = 0
    ENDS = 1
    WAITS = 2
