"""What is asked of the in-flight set, and what it answers."""

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
    """It waits for another crawl, and now also for this one."""
    MOST_URLS = 3
    """The crawl has reached its most URLs; the URL is not marked."""
    MOST_OF_HOST = 4
    UNCLEAR = 5
    OVER_QUOTA = 6
    """The token of the crawl has used its quota; the URL is not marked."""


@dataclass(frozen=True, slots=True)
class Wants:
    """For which crawl URLs are marked."""

    crawl: int = 0
    depth: int = 0
    """How deep it follows their links."""
    max_urls: int | None = None
    """The most URLs of the crawl; None: unlimited."""
    max_per_host: int | None = None
    quota: TokenState | None = None
    """What the token of the crawl has used; None: it has no quota."""


ANYONE = Wants()


class UrlEnding(NamedTuple):
    """The ending of a URL for a crawl."""

    url: str
    crawl: int
    """The number of the crawl whose job ended."""
    outcome: str
    bytes: int = 0
    for_all: bool = False
    """It ended for every crawl that wants it."""
    notes: tuple[str, ...] = ()
    """Words that are counted beside the outcome, such as `unchanged`."""


class Heir(NamedTuple):
    """The crawl that wants a URL next."""

    crawl: int
    depth: int | None
    """How many link hops it follows; None: as many as the job that was sent for it."""


class Question(NamedTuple):
    """A URL of a job that may have been cancelled."""

    url: str
    crawl: int
    depth: int = 0
    cut_s: int = 0
    """It is cancelled if it was enqueued by then (s since the epoch); 0: it is not."""


class Held(IntEnum):
    """The next step of a job whose crawl may have ended, unless it continues for an `Heir`."""

    GOES_ON = 0
    ENDS = 1
    WAITS = 2
