"""The values that operations take and return, in addition to the store's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, overload

from aragog.api.operations.options import Option
from aragog.crawl.pipeline.enqueue_results import EnqueueResult
from aragog.fetch_record.outcome import FetchRecord
from aragog.pages.preferences import PURPOSES
from aragog.urlstore.field_formats import FieldFormats
from aragog.urlstore.records import Content, Record

MAX_ITEMS = 1000
"""Maximum number of URLs, names, links or jobs in one request."""
MAX_NAME_BYTES = 200
BUILT_IN = FieldFormats()
EXTRAS = ("aliases", "inlinks", "fetch")
"""The members of a record that are only returned on request."""

Url = Annotated[str, Option("The URL, in any spelling. Aliases are followed.", is_url=True)]
Fields = Annotated[
    Sequence[str] | None,
    Option("Names of the fields to return; default: all.", max_items=MAX_ITEMS,
           max_bytes=MAX_NAME_BYTES),
]  # fmt: skip

Purpose = Annotated[
    str | None,
    Option(
        "Return pages only if their sites allow this purpose (`search`, `ai-input` or "
        "`ai-train`). Other pages are treated as not stored.",
        choices=PURPOSES, http="for",
    ),
]  # fmt: skip

LinkPurpose = Annotated[
    str | None,
    Option("Return only links on pages whose sites allow this purpose (`search`, `ai-input` "
           "or `ai-train`).", choices=PURPOSES, http="for"),
]  # fmt: skip

Limit = Annotated[
    int,
    Option("Maximum number of results, up to 1,000.", minimum=1, maximum=MAX_ITEMS, capped=True),
]
Cursor = Annotated[str | None, Option("The cursor of the previous response, to continue a list.")]


@dataclass(frozen=True, slots=True)
class PageRecord(Record):
    """
    The stored data of one URL, as returned to programs.

    `record["product.price"]` is the value decoded by the field's format: a `str` for text, a
    `Decimal` for a price, the parsed value for JSON. `record.fields["product.price"]` is its bytes.
    """

    formats: FieldFormats = field(default=BUILT_IN, repr=False, compare=False)
    """Determines how values are decoded."""
    aliases: tuple[str, ...] | None = None
    """Other URLs of the page, up to 1,000. This and the next two are None unless requested."""
    inlinks: int | None = None
    """Number of links to the page."""
    fetch: FetchRecord | None = None
    """The report on the last fetch. Also None if there was no fetch."""
    extras: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Which of these three were requested."""

    def __getitem__(self, name: str) -> Any:
        return self.formats.decode(name, self.fields[name])

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def get(self, name: str, default: Any = None) -> Any:
        """Return the decoded value of a field, or `default` if the record does not have it."""
        return self[name] if name in self.fields else default


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link of a page."""

    url: Annotated[str, Option("Target of an outlink, source of an inlink.")]
    text: Annotated[str, Option("Text of the link.")] = ""
    rel: Annotated[str, Option("Values of the rel attribute, separated by spaces.")] = ""


@dataclass(frozen=True, slots=True)
class LinkPage:
    """A page of links, with a cursor for the next page. The last page has no cursor."""

    links: tuple[PageLink, ...]
    cursor: str | None = None
    count: Annotated[int | None, Option("", omitted=True)] = None
    """The total number of links, if requested."""


@dataclass(frozen=True, slots=True)
class PastValue:
    """An earlier value of a field."""

    value: bytes
    at_ms: int
    """When the field was set to this value, in ms since the epoch."""
    field: Annotated[str, Option("", http="")] = dataclasses.field(default="", compare=False)
    """The name of the field, whose format determines the value's JSON."""


@dataclass(frozen=True, slots=True)
class ContentPart:
    """A page's content, or a part of it."""

    url: str
    """The canonical URL under which it is stored."""
    body: bytes
    total_bytes: int
    """The size of the whole content."""
    meta: dict[str, str]
    """Response headers and facts of the fetch."""

    @classmethod
    def of(cls, content: Content, begin: int = 0, limit: int | None = None) -> ContentPart:
        """Return a part of the stored content."""
        end = None if limit is None else begin + limit
        return cls(content.url, content.body[begin:end], len(content.body), dict(content.meta))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A URL's stored data after its fetch ended or the time limit passed."""

    url: str
    """The normalized URL."""
    state: str
    """`fresh`, `stale`, or `absent` if no page is stored."""
    record: PageRecord | None = None
    age_s: float | None = None
    """How long ago the page was last confirmed, or None if it never was."""
    stale_fields: tuple[str, ...] = ()
    """Fields of `field_max_age_s` that are older than requested."""
    fetching: bool = False
    """True if the fetch continues, so a later call may return more."""
    reason: str | None = None
    """Why the URL is not fetched, or why its last fetch returned no page."""
    report: Annotated[FetchRecord | None, Option("", http="fetch")] = None
    """The report on the last fetch, with outcome, headers, redirects and latencies."""
    content: Annotated[ContentPart | None, Option("", omitted=True)] = None
    """The content, if requested; at most 15,000,000 bytes."""


@dataclass(frozen=True, slots=True)
class ExplanationLine:
    """One known fact. It may contain untrusted text, which is sanitized and on one line."""

    name: str
    text: str
    note: str = ""
    """The source or age of the fact."""


@dataclass(frozen=True, slots=True)
class ExplanationSection:
    """What one component knows about a URL."""

    title: str
    lines: tuple[ExplanationLine, ...] = ()
    problem: str | None = None
    """Why the section is incomplete, or None if it is complete."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that is known about one URL."""

    input: str
    """The URL as passed to the call."""
    url: str
    """The normalized URL."""
    sections: tuple[ExplanationSection, ...]


@dataclass(frozen=True, slots=True)
class EnqueuedUrls(Sequence[EnqueueResult]):
    """The results of enqueued URLs, in order."""

    results: tuple[EnqueueResult, ...]
    batch: str | None = None
    """The id of the batch that the URLs were added to, or None if the server has no batches."""

    @overload
    def __getitem__(self, index: int) -> EnqueueResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EnqueueResult]: ...
    def __getitem__(self, index: int | slice) -> EnqueueResult | Sequence[EnqueueResult]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[EnqueueResult]:
        return iter(self.results)
