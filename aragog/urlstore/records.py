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
    """When the page that holds the link was fetched."""
    target: str = ""
    """The URL that an inlink names, which may be an alias."""


def is_expired(facts: Mapping[str, object], now_ms: int) -> bool:
    """Whether the page asked to be removed by now (`unavailable_after`)."""
    expires_ms = facts.get("unavailable_after_ms")
    return isinstance(expires_ms, int) and expires_ms <= now_ms


WITHHELD = frozenset(outcome.WITHHELD.values())
ABSENT = "absent"
"""The fact that the site says since a fetch that the page is gone, or withholds it."""


def absent_as(facts: Mapping[str, object]) -> str | None:
    """Which outcome the site gives instead of the page, whatever failed since; None: none."""
    if ABSENT in facts:
        return str(facts[ABSENT])
    found = facts.get("outcome")  # as versions that do not know the fact wrote it
    is_gone = found == OutcomeKind.GONE and facts.get("status") in (404, 410)
    return str(found) if is_gone or found in WITHHELD else None


def use_of(facts: Mapping[str, object], purpose: str) -> tuple[bool | None, str]:
    """What is said about a purpose, and by which line; None: nothing is said."""
    return verdict((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def refused_use(facts: Mapping[str, object], purpose: str) -> str | None:
    """Why a page may not be given out for a purpose; None: nothing speaks against it."""
    return refusal((facts.get("robots_preferences"), facts.get("page_preferences")), purpose)


def is_allowed(facts: Mapping[str, object], purpose: str | None) -> bool:
    """
    Whether a page may be given out for a purpose; None: for any.

    False even if it is unknown: for the uses by models, of a page that was stored without
    reading the tdmrep.json of its site.
    """
    return purpose is None or refused_use(facts, purpose) is None


class Ticket(Protocol):
    """What a batch knows of the pack that it added bodies to (`PackTicket`)."""

    def check_age(self) -> None:
        """Raise ContentUnavailable if the pack is too old to point to."""


class PackedContent(NamedTuple):
    """A body that was put into a pack, and whose page is not written yet."""

    ticket: Ticket
    pointer: PackPointer
    digest: str
    """The SHA-256 of the body in hex."""
    is_revisit: bool
    """True: the record only says that the body did not change; another record has it."""
    shared: SharedBody | None = None
    """Another page's body, which is the same; None: the body is the page's own."""


class SharedBody(NamedTuple):
    """A record of another page of the host that has the same body."""

    pointer: PackPointer
    url: str
    """The URL that sent that page."""
    at_ms: int
    """When it was fetched."""


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
    """The SHA-256 of the body in hex, where it is known already; None: it is computed."""
    packed: PackedContent | None = None
    """Where the body is already, if it was put into a pack before the write."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What two pages are compared by, without reading them again."""

    body: str = ""
    """The first 16 digits of the hash of the body before compression; empty: not known."""
    text: str = ""
    """The sketch of the main text (`richpins.text_sketch`); empty: it is too short."""

    def agrees(self, other: Likeness) -> bool:
        """True if the bodies are the same, or the main texts near the same."""
        return bool(self.body and self.body == other.body) or are_near_same(self.text, other.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWrite:
    """The result of one fetch. A failed fetch has only facts."""

    url: str
    """The requested URL, normalized."""
    final_url: str
    """The URL that returned the page, normalized; `url` if nothing redirected."""
    canonical_url: str
    """The URL that stands for the page."""
    provisional: bool = False
    """True until `canonical_url` itself was fetched and did not contradict."""
    canonical_reasons: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Further aliases: the sources of permanent redirects on the way."""
    fetched_at_ms: int
    fields: Mapping[str, bytes] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Field to the syntax it was found in, and where."""
    complete: bool = False
    """True if the page was read to its end, so that fields that disappeared from it are deleted."""
    links: Iterable[tuple[str, str, str]] | None = None
    """
    The page's links; None keeps the stored ones, as after a 304 or a failure. Packed links
    (`PackedLinks`) cost least.
    """
    content: ContentWrite | None = None
    """The page's content; None keeps the stored one."""
    likeness: Likeness | None = None
    """
    What the page is compared by with those that declare the same canonical URL; None: not known.
    """
    report: FetchRecord | None = None
    """The fetch itself, hop by hop; kept with `url`. None keeps the stored one."""
    confirmation: FetchRecord | None = None
    """
    The 304 that changed fields of the stored response; `report` is that response, as changed.
    """
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """
    outcome, status, content_type, etag, last_modified, latency_ms, reason, attempts, …

    A failed fetch keeps those of the page, and replaces those of the attempt before it.
    """
    due_at_ms: int | None = None
    """When to fetch again; None: never. `seen`, if given, decides instead."""
    seen: Seen | None = None
    """What the refresh schedule compares with the stored state."""
    gone: bool = False
    """The origin reports that the page does not exist: aliases that trusted it are undone."""
    leads_to_taken_down: bool = False
    """`url` redirects to a URL that was taken down: what is stored of its page is deleted."""

    withdrawn: bool = False
    """The page must not be kept: what is stored of it is deleted."""
    expired: bool = False
    """It is withdrawn for every crawl, because its `unavailable_after` has passed."""
    without_content: bool = False
    """The page's content must not be kept: what is stored of it is deleted, the fields are not."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Every URL that the fetch has evidence about; some may be equal."""
        return (self.url, self.final_url, self.canonical_url, *self.also)


@dataclass(frozen=True, slots=True)
class Written:
    """The result of `write_pages` for one page."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    """The URL it was written to, after following known aliases."""
    stale: bool = False
    """Newer data was stored, or the page was removed since: only missing fields were added."""
    unconfirmed: str | None = None
    """
    The canonical URL that the page declares, if its fetch has to decide, and nobody asked for it.
    """
    older_by_ms: int = 0
    """How much later the stored page was fetched; 0: this one was not dropped as older."""
    same_as: str | None = None
    """The URL whose page had the body already, which is not stored once more."""
    existed: bool = False
    """An earlier fetch, or another source, had stored content there."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """When one field's value was true, and where it came from (None: not recorded)."""

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
    record in a pack, separated by spaces. None: no content.
    """
    content_hash: str | None = None
    content_bytes: int | None = None
    """The size of the content before compression."""
    due_at_ms: int | None = None
    info: dict[str, FieldInfo] = field(default_factory=dict)
    """What is known of each field, if it was requested."""
    provisional: bool = False
    """True for an alias whose canonical URL was not fetched yet."""
    from_standby: bool = False
    """Read from the standby store, whose data may be older."""


class FieldValues(NamedTuple):
    """The values of some fields of one URL; what serving reads most."""

    url: str
    """The requested URL, normalized."""
    canonical_url: str
    version: bytes
    values: tuple[bytes | None, ...]
    """The values in the order of the requested fields; None: the page has no such field."""
    facts: bytes | None = None
    """JSON; like those below None if it was not requested or is not stored."""
    content_hash: bytes | None = None
    content_bytes: bytes | None = None
    """The size of the content before compression, as decimal digits."""
    due_at_ms: bytes | None = None
    """When the next fetch is due, in decimal digits; empty when it is not."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """A page of a list; `cursor` continues it, None: it is complete."""

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
    """What the refresh schedule remembers of its page; None: nothing."""
    belief: float = 0.0
    """How far a sitemap or feed is believed that named a change since the page was compared."""
    watched: bool = False
