"""The values that the UrlStore takes and returns. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Generic, NamedTuple, Protocol, TypeVar

from aragog.fetch_record import outcome
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.pages.preferences import refusal, verdict
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.refresh_policy import RefreshState, Seen
from richpins.text_sketch import are_near_same

__all__ = [
    "ABSENT",
    "WITHHELD",
    "Content",
    "ContentWrite",
    "Due",
    "Fact",
    "FieldInfo",
    "FieldValues",
    "Likeness",
    "LinkRecord",
    "ListPage",
    "OutLink",
    "PageWrite",
    "Record",
    "Written",
    "absent_as",
    "get_permission",
    "is_allowed",
    "is_expired",
    "refused_use",
]

Fact = str | int | float | None

T = TypeVar("T")


class OutLink(NamedTuple):
    """A link on a page, with its target (absolute, normalized), anchor text and rel words."""

    url: str
    text: str = ""
    rel: str = ""
    """Which of `nofollow`, `ugc` and `sponsored` the link has, separated by spaces."""


class LinkRecord(NamedTuple):
    """A link, read from its source or from its target."""

    url: str
    """The other end of the link: an outlink's target or an inlink's source."""
    text: str
    rel: str
    at_ms: int
    target: str = ""
    """The URL that an inlink points to; it may be an alias."""


def is_expired(facts: Mapping[str, object], now_ms: int) -> bool:
    """Return True if `unavailable_after` has passed."""
    expires_ms = facts.get("unavailable_after_ms")
    return isinstance(expires_ms, int) and expires_ms <= now_ms


WITHHELD = frozenset(outcome.WITHHELD.values())
ABSENT = "absent"
"""The name of the fact with the outcome of a fetch that found the page gone or withheld."""


def absent_as(facts: Mapping[str, object]) -> str | None:
    """
    Return the outcome that found the page gone or withheld, if any.

    Later failed fetches do not change it.
    """
    if ABSENT in facts:
        return str(facts[ABSENT])
    outcome_name = facts.get("outcome")  # older versions of aragog stored no separate fact
    is_gone = outcome_name == OutcomeKind.GONE and facts.get("status") in (404, 410)
    return str(outcome_name) if is_gone or outcome_name in WITHHELD else None


def get_permission(facts: Mapping[str, object], purpose: str) -> tuple[bool | None, str]:
    """Return whether a site allows a purpose (None if it says nothing), and its statement."""
    return verdict((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def refused_use(facts: Mapping[str, object], purpose: str) -> str | None:
    """Return why a page may not be returned for a purpose, or None."""
    return refusal((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def is_allowed(facts: Mapping[str, object], purpose: str | None) -> bool:
    """
    Return True if a page may be returned for a purpose; None means any purpose.

    Returns False if this is unknown, as for uses by models if the site's tdmrep.json was not read.
    """
    return purpose is None or refused_use(facts, purpose) is None


class Ticket(Protocol):
    """The part of `PackTicket` that checks a pack's age."""

    def check_age(self) -> None:
        """Raise ContentUnavailable if the pack is too old for new pointers."""


class PackedContent(NamedTuple):
    """A body that is in a pack, but whose page is not written yet."""

    ticket: Ticket
    pointer: PackPointer
    digest: str
    """The SHA-256 of the body in hex."""
    is_revisit: bool
    """True if the record has no body, because an earlier record has the same body."""
    shared: SharedBody | None = None
    """Another page's record with the identical body, or None if the page has its own record."""


class SharedBody(NamedTuple):
    """The record of another page on the host with the same body."""

    pointer: PackPointer
    url: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class ContentWrite:
    """A page's compressed body and its metadata."""

    body: bytes
    """The body as `compression.compress` returned it."""
    encoding: str = "zstd"
    length_bytes: int = 0
    """The size of the body before compression."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Facts of the fetch; its headers are in `PageWrite.report`."""
    digest: str | None = None
    """The SHA-256 of the body in hex; if None, it is computed."""
    packed: PackedContent | None = None
    """Where the body is, if it was added to a pack before the write."""

    def with_location(self, packed: PackedContent) -> ContentWrite:
        """Return the content with the location of its body in a pack."""
        return ContentWrite(
            self.body, self.encoding, self.length_bytes, self.meta, self.digest, packed
        )


@dataclass(frozen=True, slots=True)
class Likeness:
    """Data for comparing two pages without reading their contents."""

    body: str = ""
    """The first 16 hex digits of the body's hash before compression; empty if unknown."""
    text: str = ""
    """The sketch of the main text (`richpins.text_sketch`); empty if the text is too short."""

    def agrees(self, other: Likeness) -> bool:
        """Return True if the bodies are identical, or the main texts are nearly the same."""
        return bool(self.body and self.body == other.body) or are_near_same(self.text, other.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWrite:
    """
    The result of one fetch. A failed fetch has only facts.

    >>> shop, other = "http://shop.example/", "http://shop.example/index.html"
    >>> fetched = PageWrite(
    ...     url=other, final_url=shop, canonical_url=shop, fetched_at_ms=1_700_000_000_000,
    ...     fields={"page.title": b'"Shop"'},
    ... )
    >>> [written] = store.write_pages([fetched])
    >>> store.get(other).url, store.get(other).canonical_url
    ('http://shop.example/index.html', 'http://shop.example/')
    """

    url: str
    """The requested URL, normalized."""
    final_url: str
    """The URL that returned the page, normalized; equal to `url` without redirects."""
    canonical_url: str
    provisional: bool = False
    """True until `canonical_url` itself was fetched and confirmed to be canonical."""
    canonical_reasons: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """More aliases: the URLs that redirected permanently to the page."""
    fetched_at_ms: int
    fields: Mapping[str, bytes] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Where each field was found (syntax and position), by field name."""
    complete: bool = False
    """True if the page was read completely; stored fields that it no longer has are deleted."""
    links: Iterable[tuple[str, str, str]] | None = None
    """The page's links, preferably as `PackedLinks`. None keeps the stored links."""
    content: ContentWrite | None = None
    """The page's content; None keeps the stored content."""
    likeness: Likeness | None = None
    """Data to compare the page with others that declare the same canonical URL; None if unknown."""
    report: FetchRecord | None = None
    """The fetch itself, hop by hop; stored under `url`. None keeps the stored report."""
    confirmation: FetchRecord | None = None
    """A 304 that changed headers of the stored response; `report` is the changed response."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """The facts of the fetch: outcome, status, content_type, etag, latency_ms, reason, attempts, …

    A failed fetch replaces only the facts of the previous attempt.
    """
    due_at_ms: int | None = None
    """When to fetch again, or None for never. Ignored if `seen` is given."""
    seen: Seen | None = None
    """What the refresh policy computes the next fetch time from."""
    gone: bool = False
    """True if the origin reports that the page does not exist; aliases based on it are undone."""
    leads_to_taken_down: bool = False
    """True if `url` redirects to a taken-down URL; its page's stored data is deleted."""

    withdrawn: bool = False
    """True if the page must not be kept; its stored data is deleted."""
    expired: bool = False
    """True if the withdrawal applies to every crawl, because `unavailable_after` has passed."""
    without_content: bool = False
    """True if only the page's content must not be kept; it is deleted, and the fields stay."""
    crawl: str = ""
    """The crawl that the page was fetched for. A new page joins this crawl with the same write, and
    `Written.crawl` says so."""

    @property
    def urls(self) -> tuple[str, ...]:
        """All URLs that the fetch has evidence about; may contain duplicates."""
        return (self.url, self.final_url, self.canonical_url, *self.also)

    def with_content(self, content: ContentWrite, crawl: str | None = None) -> PageWrite:
        """Return a copy with this content. Takes a third of the time of `dataclasses.replace`."""
        page = object.__new__(PageWrite)
        for set_field, value in zip(_PAGE_SETTERS, _values_of_page(self), strict=True):
            set_field(page, value)
        object.__setattr__(page, "content", content)
        if crawl is not None:
            object.__setattr__(page, "crawl", crawl)
        return page


_PAGE_FIELDS = tuple(record_field.name for record_field in fields(PageWrite))
_values_of_page = attrgetter(*_PAGE_FIELDS)
# These skip the search for the field, which takes most of the time of `object.__setattr__`.
_PAGE_SETTERS = tuple(getattr(PageWrite, name).__set__ for name in _PAGE_FIELDS)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of writing a page."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    """The URL under which the page was stored, after following known aliases."""
    stale: bool = False
    """True if newer data was already stored (then only missing fields were added), or the page was
    removed after the fetch."""
    unconfirmed: str | None = None
    """The declared canonical URL, if it must be fetched before it is trusted and was not enqueued
    yet."""
    older_by_ms: int = 0
    """How much later the stored page was fetched; 0 unless this page was dropped as older."""
    same_as: str | None = None
    """The URL of another page that already had the same body."""
    existed: bool = False
    """True if the page already had content from an earlier fetch or from another source."""
    crawl: str = ""
    """The crawl that the new page has joined, or empty."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """When a field's value was observed, and its source (None if not stored)."""

    at_ms: int
    provenance: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The stored data of one URL."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    fields: dict[str, bytes]
    facts: dict[str, Fact]
    """The facts of the last fetch that returned information about the page."""
    version: str
    """The current version, for `put(if_version=…)`."""
    content_key: str | None = None
    """
    The content's location: an object's key or, for a record in a pack, the version, pack, offset,
    length and digest, separated by spaces. None if there is no content.
    """
    content_hash: str | None = None
    content_bytes: int | None = None
    """The size of the content before compression."""
    due_at_ms: int | None = None
    info: dict[str, FieldInfo] = field(default_factory=dict)
    provisional: bool = False
    """True for an alias whose canonical URL has not been fetched yet."""
    from_standby: bool = False
    """True if this was read from the standby store; its data may be older."""


class FieldValues(NamedTuple):
    """The values of some fields of a URL, as the cheapest read returns them."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    version: bytes
    values: tuple[bytes | None, ...]
    """The values in the order of the requested fields; None if the page does not have a field."""
    facts: bytes | None = None
    """The facts as JSON. This and the next attributes are None if not requested or stored."""
    content_hash: bytes | None = None
    content_bytes: bytes | None = None
    """The size of the content before compression, as decimal digits."""
    due_at_ms: bytes | None = None
    """When the next fetch is due, in decimal digits; empty if none is planned."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """A part of a list. `cursor` continues the list; None at its end."""

    items: list[T]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A page's body, without its transfer and content encoding, and its metadata."""

    url: str
    """The canonical URL under which it is stored."""
    body: bytes
    meta: dict[str, str]
    facts: dict[str, Fact]


@dataclass(frozen=True, slots=True)
class Due:
    """A URL that is due to be fetched."""

    url: str
    due_at_ms: int
    state: RefreshState | None = None
    belief: float = 0.0
    """The probability that the page has changed, if a sitemap or feed reported so; otherwise 0."""
    watched: bool = False
