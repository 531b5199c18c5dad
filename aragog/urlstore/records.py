"""The values that the UrlStore takes and returns: frozen dataclasses, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    "is_allowed",
    "is_expired",
    "refused_use",
    "use_of",
]

Fact = str | int | float | None

T = TypeVar("T")


class OutLink(NamedTuple):
    """One link of a page: target (absolute, normalized), anchor text, relevant rel words."""

    url: str
    text: str = ""
    rel: str = ""
    """Which of `nofollow`, `ugc` and `sponsored` it has, separated by spaces."""


class LinkRecord(NamedTuple):
    """One link, seen from either end."""

    url: str
    """The other end: the target of an outlink, the source of an inlink."""
    text: str
    rel: str
    at_ms: int
    """When the linking page was fetched."""
    target: str = ""
    """The URL that an inlink points to, which may be an alias."""


def is_expired(facts: Mapping[str, object], now_ms: int) -> bool:
    """True if the page's requested expiry (`unavailable_after`) has passed."""
    expires_ms = facts.get("unavailable_after_ms")
    return isinstance(expires_ms, int) and expires_ms <= now_ms


WITHHELD = frozenset(outcome.WITHHELD.values())
ABSENT = "absent"
"""The fact that a fetch found the page gone or withheld, with that outcome."""


def absent_as(facts: Mapping[str, object]) -> str | None:
    """The outcome that replaced the page, even after later failures, or None."""
    if ABSENT in facts:
        return str(facts[ABSENT])
    found = facts.get("outcome")  # versions without this fact only stored the outcome
    is_gone = found == OutcomeKind.GONE and facts.get("status") in (404, 410)
    return str(found) if is_gone or found in WITHHELD else None


def use_of(facts: Mapping[str, object], purpose: str) -> tuple[bool | None, str]:
    """The decision about a purpose and the line that states it; None if no statement covers it."""
    return verdict((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def refused_use(facts: Mapping[str, object], purpose: str) -> str | None:
    """Why a page may not be returned for a purpose, or None."""
    return refusal((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def is_allowed(facts: Mapping[str, object], purpose: str | None) -> bool:
    """
    Return True if a page may be returned for a purpose; None stands for any.

    False if it is unknown: for uses by models, if the page was stored without reading the
    tdmrep.json of its site.
    """
    return purpose is None or refused_use(facts, purpose) is None


class Ticket(Protocol):
    """A batch's interface to the pack that it added bodies to (`PackTicket`)."""

    def check_age(self) -> None:
        """Raise ContentUnavailable if the pack is too old to point to."""


class PackedContent(NamedTuple):
    """A body in a pack whose page is not written yet."""

    ticket: Ticket
    pointer: PackPointer
    digest: str
    """The SHA-256 of the body in hex."""
    is_revisit: bool
    """True if the record only states that the body did not change; another record has it."""
    shared: SharedBody | None = None
    """The identical body of another page, or None if the body is the page's own."""


class SharedBody(NamedTuple):
    """A record with the same body, of another page on the host."""

    pointer: PackPointer
    url: str
    """The URL that returned that page."""
    at_ms: int
    """When that page was fetched."""


@dataclass(frozen=True, slots=True)
class ContentWrite:
    """A page's compressed body and its metadata."""

    body: bytes
    """The body as `compression.compress` returned it."""
    encoding: str = "zstd"
    length_bytes: int = 0
    """The size of the body before compression."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Facts of the fetch; its headers are in the report."""
    digest: str | None = None
    """The SHA-256 of the body in hex; if None, it is computed."""
    packed: PackedContent | None = None
    """The location of the body, if it was put into a pack before the write."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Data for comparing two pages without reading them again."""

    body: str = ""
    """The first 16 digits of the hash of the body before compression; empty if unknown."""
    text: str = ""
    """The sketch of the main text (`richpins.text_sketch`); empty if the text is too short."""

    def agrees(self, other: Likeness) -> bool:
        """True if the bodies are identical, or the main texts nearly the same."""
        return bool(self.body and self.body == other.body) or are_near_same(self.text, other.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWrite:
    """The result of one fetch. A failed fetch has only facts."""

    url: str
    """The requested URL, normalized."""
    final_url: str
    """The URL that returned the page, normalized; `url` if nothing redirected."""
    canonical_url: str
    """The page's canonical URL."""
    provisional: bool = False
    """True until `canonical_url` itself was fetched and confirmed it."""
    canonical_reasons: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Further aliases: the sources of permanent redirects on the way."""
    fetched_at_ms: int
    fields: Mapping[str, bytes] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Field to the syntax and position where it was found."""
    complete: bool = False
    """True if the page was read completely, so that fields that disappeared from it are deleted."""
    links: Iterable[tuple[str, str, str]] | None = None
    """
    The page's links; None keeps the stored ones, as after a 304 or a failure. Packed links
    (`PackedLinks`) are the cheapest.
    """
    content: ContentWrite | None = None
    """The page's content; None keeps the stored content."""
    likeness: Likeness | None = None
    """Data to compare the page with others that declare the same canonical URL; None if unknown."""
    report: FetchRecord | None = None
    """The fetch itself, hop by hop; stored under `url`. None keeps the stored one."""
    confirmation: FetchRecord | None = None
    """The 304 that changed fields of the stored response; `report` is the changed response."""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """
    outcome, status, content_type, etag, last_modified, latency_ms, reason, attempts, …

    A failed fetch keeps the page's facts, and replaces those of the previous attempt.
    """
    due_at_ms: int | None = None
    """When to fetch again, or None for never. `seen`, if given, decides instead."""
    seen: Seen | None = None
    """The observation that the refresh schedule compares with the stored state."""
    gone: bool = False
    """The origin reports that the page does not exist: aliases that trusted it are undone."""
    leads_to_taken_down: bool = False
    """`url` redirects to a URL that was taken down: its page's stored data is deleted."""

    withdrawn: bool = False
    """The page must not be kept: its stored data is deleted."""
    expired: bool = False
    """True if it is withdrawn for every crawl, because its `unavailable_after` has passed."""
    without_content: bool = False
    """The page's content must not be kept: its stored content is deleted, but not its fields."""

    @property
    def urls(self) -> tuple[str, ...]:
        """All URLs that the fetch has evidence about; may contain duplicates."""
        return (self.url, self.final_url, self.canonical_url, *self.also)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of `write_pages` for one page."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    """The URL it was written to, after following known aliases."""
    stale: bool = False
    """
    True if newer data was stored, or the page was removed since: only missing fields
    were added.
    """
    unconfirmed: str | None = None
    """
    The canonical URL that the page declares, if it must be fetched for a decision and was not
    enqueued.
    """
    older_by_ms: int = 0
    """How much later the stored page was fetched; 0 unless this one was dropped as older."""
    same_as: str | None = None
    """The URL whose page already had the same body, which is not stored again."""
    existed: bool = False
    """True if an earlier fetch, or another source, had stored content there."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """When a field's value was observed, and its source (None if not recorded)."""

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
    """When the last fetch with evidence about the page happened."""
    version: str
    """The version to pass to `put(if_version=…)`."""
    content_key: str | None = None
    """
    Where the content is: the key of an object, or version, pack, offset, length and digest of a
    record in a pack, separated by spaces. None if there is no content.
    """
    content_hash: str | None = None
    content_bytes: int | None = None
    """The size of the content before compression."""
    due_at_ms: int | None = None
    info: dict[str, FieldInfo] = field(default_factory=dict)
    """Information about each field, if it was requested."""
    provisional: bool = False
    """True for an alias whose canonical URL has not been fetched yet."""
    from_standby: bool = False
    """True if read from the standby store, whose data may be older."""


class FieldValues(NamedTuple):
    """The values of some fields of one URL, the most frequent read when serving."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    version: bytes
    values: tuple[bytes | None, ...]
    """The values in the order of the requested fields; None if the page does not have a field."""
    facts: bytes | None = None
    """JSON; like the members below, None if it was not requested or is not stored."""
    content_hash: bytes | None = None
    content_bytes: bytes | None = None
    """The size of the content before compression, as decimal digits."""
    due_at_ms: bytes | None = None
    """When the next fetch is due, in decimal digits; empty if none is."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """A page of a list. `cursor` continues the list; None if it is complete."""

    items: list[T]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A page's body with its transfer and content encoding removed, and its metadata."""

    url: str
    """The canonical URL it is stored under."""
    body: bytes
    meta: dict[str, str]
    facts: dict[str, Fact]


@dataclass(frozen=True, slots=True)
class Due:
    """A URL that is due."""

    url: str
    due_at_ms: int
    state: RefreshState | None = None
    """The refresh state of its page, or None."""
    belief: float = 0.0
    """How far to trust a sitemap or feed that named a change since the page was compared."""
    watched: bool = False
