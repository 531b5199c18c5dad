"""What goes into the UrlStore and what comes out of it: frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from aragog.urlstore.schedule.refresh_policy import RefreshState, Seen
from aragog.zen.adjacency.records import CompactionReport, LinkRecord, OutLink

__all__ = [
    "CompactionReport",
    "Content",
    "ContentWrite",
    "Due",
    "Fact",
    "FieldInfo",
    "LinkRecord",
    "ListPage",
    "OutLink",
    "PageWrite",
    "Record",
    "Written",
]

Fact = str | int | float | None

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ContentWrite:
    """A page's body, compressed already, and what is kept beside it."""

    body: bytes
    """As `compression.compress` made it."""
    encoding: str = "zstd"
    length_bytes: int = 0
    """Of the body before compression."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Headers and fetch facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWrite:
    """What one fetch brought. A fetch that failed has facts alone."""

    url: str
    """The URL that was asked for, normalized."""
    final_url: str
    """The URL that gave the page, normalized; `url` when nothing redirected."""
    canonical_url: str
    """The URL that stands for the page."""
    provisional: bool = False
    """True until `canonical_url` itself was fetched and did not contradict."""
    canonical_reasons: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Further aliases: sources of permanent redirects on the way."""
    fetched_at_ms: int
    fields: Mapping[str, bytes] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Field to the syntax it was found in, and where."""
    whole: bool = False
    """True when the page was read to its end, so that fields it had before and has no more go."""
    links: Sequence[OutLink] | None = None
    """None leaves those of before: a 304, a failure."""
    content: ContentWrite | None = None
    """None leaves that of before."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """outcome, status, content_type, etag, last_modified, latency_ms, why, attempts, …"""
    due_at_ms: int | None = None
    """When to fetch again; None: never. `seen` decides where it is given."""
    seen: Seen | None = None
    """For the refresh schedule, which compares it with what is stored."""
    gone: bool = False
    """The origin says that there is no such page: aliases that trusted it are undone."""


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_pages` did with one page."""

    url: str
    canonical_url: str
    """Where it was written, aliases that were known followed."""
    stale: bool = False
    """Something newer was there, or the page was removed since: nothing but gaps was filled."""
    links_added: int = 0
    links_removed: int = 0


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """Of one field: when its value was true, and where it came from (None: not told)."""

    at_ms: int
    provenance: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What the store knows of one URL."""

    url: str
    """As asked, normalized."""
    canonical_url: str
    fields: dict[str, bytes]
    facts: dict[str, Fact]
    """Of the last fetch that brought something about the page."""
    version: str
    """For `put(if_version=…)`."""
    content_key: str | None = None
    """Of the content store; None: no content."""
    content_hash: str | None = None
    content_bytes: int | None = None
    """Before compression."""
    due_at_ms: int | None = None
    info: dict[str, FieldInfo] = field(default_factory=dict)
    """Of each field, when it was asked for."""
    provisional: bool = False
    """True for an alias whose canonical URL was not fetched yet."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """Part of a list; `cursor` continues it, None: it is at its end."""

    items: list[T]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A page's body as the origin sent it, decoded from its transfer, and what is beside it."""

    url: str
    """The canonical URL it is stored under."""
    body: bytes
    meta: dict[str, str]
    facts: dict[str, Fact]


@dataclass(frozen=True, slots=True)
class Due:
    """A URL whose time has come."""

    url: str
    due_at_ms: int
    state: RefreshState | None = None
    """What the refresh schedule remembers of its page; None: nothing."""
