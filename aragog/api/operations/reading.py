"""Operations that read records, links, aliases, histories, contents and watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Annotated, Any

from aragog.api.operations.batch_urls import check_present, replace_taken_down
from aragog.api.operations.operation import Caller, Form, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.page_texts import FORMS, ORIGINAL
from aragog.api.operations.steps import Steps
from aragog.api.operations.values import (
    EXTRAS,
    MAX_ITEMS,
    MAX_NAME_BYTES,
    ContentPart,
    Cursor,
    Fields,
    Limit,
    LinkPage,
    LinkPurpose,
    PageLink,
    PageRecord,
    PastValue,
    Purpose,
    Url,
)
from aragog.errors import BadInput, TakenDown
from aragog.urlstore.records import LinkRecord, ListPage, Record, is_allowed
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import is_usable, usable_urls
from urlspelling import normalize

MAX_CONTENT_BYTES = 15_000_000
MAX_ALIASES = 1000

_RECORD_FIELDS = tuple(field.name for field in fields(Record))


Include = Annotated[
    Sequence[str],
    Option(
        "Extras to return: `aliases`, `inlinks` (their number) and `fetch` (the last one). Each "
        "costs about one more read.",
        choices=EXTRAS,
        max_items=len(EXTRAS),
        http_default=EXTRAS,
        thrift="extras",
    ),
]


@dataclass(frozen=True, slots=True)
class UrlRequest:
    """The URL to read."""

    url: Url


@dataclass(frozen=True, slots=True)
class GetRequest:
    """The record to read."""

    url: Url
    fields: Fields = None
    _: KW_ONLY
    facts: Annotated[
        bool,
        Option(
            "Also return facts about the last fetch, when the next one is due, and the content's "
            "size and hash.",
            http="",
            http_default=True,
        ),
    ] = False
    include: Include = ()
    purpose: Purpose = None


@operation(GetRequest, http=HttpRoute("GET", "/v1/urls", form=Form.RECORD), thrift="UrlStore.get")
def get(caller: Caller, request: GetRequest) -> PageRecord | None:
    """
    Return a URL's record.

    Returns None if nothing is stored. Raises TakenDown if it was taken down.
    """

    def read(store: UrlStore) -> tuple[Record | None, dict[str, Any]]:
        record = check_present(store, request.url, store.get(request.url, request.fields))
        if record is not None and not is_allowed(record.facts, request.purpose):
            return None, {}
        return record, extras(store, request.url, request.include) if record else {}

    (record, extra_values), standby = caller.read_with_origin(read)
    page_record = _page_record(caller, record, standby, facts=request.facts)
    return (
        replace(page_record, **extra_values, extras=tuple(request.include))
        if page_record and extra_values
        else page_record
    )


def extras(store: UrlStore, url: str, include: Sequence[str]) -> dict[str, Any]:
    """Return the members of `PageRecord` that `include` lists."""
    values: dict[str, Any] = {}
    if "aliases" in include:
        values["aliases"] = tuple(store.aliases.of(url)[:MAX_ALIASES])
    if "inlinks" in include:
        values["inlinks"] = store.links.count_inlinks(url)
    if "fetch" in include:
        values["fetch"] = store.pages.fetch_report(url)
    return values


@dataclass(frozen=True, slots=True)
class GetManyRequest:
    """Several records."""

    urls: Annotated[
        Sequence[str], Option("The URLs, in any spelling.", max_items=MAX_ITEMS, is_url=True)
    ]
    fields: Fields = None
    _: KW_ONLY
    facts: Annotated[bool, Option("As in `get`.", http="", http_default=True)] = False
    purpose: Purpose = None


@operation(
    GetManyRequest,
    http=HttpRoute("POST", "/v1/urls:batchGet", form=Form.RECORDS),
    thrift="UrlStore.getMany",
    split_option="urls",
)
def get_many(caller: Caller, request: GetManyRequest) -> list[PageRecord | TakenDown | None]:
    """
    Return the records of URLs, in order.

    The list contains None for each URL without a record, and the error `TakenDown` for each URL
    that was taken down.
    """

    def read(store: UrlStore) -> Sequence[Record | TakenDown | None]:
        urls = [normalize(url) for url in request.urls]
        records = store.get_many(urls, request.fields)
        allowed = [
            record if record and is_allowed(record.facts, request.purpose) else None
            for record in records
        ]
        return replace_taken_down(store, urls, allowed)

    results, standby = caller.read_with_origin(read)
    return [
        result
        if isinstance(result, TakenDown)
        else _page_record(caller, result, standby, facts=request.facts)
        for result in results
    ]


def _page_record(
    caller: Caller, record: Record | None, standby: bool, *, facts: bool
) -> PageRecord | None:
    if record is None:
        return None
    values = {name: getattr(record, name) for name in _RECORD_FIELDS}
    if not facts:
        values |= {"facts": {}, "content_hash": None, "content_bytes": None, "due_at_ms": None}
        values["content_key"] = None
    values["from_standby"] = standby
    return PageRecord(**values, formats=caller.store.formats)


@dataclass(frozen=True, slots=True)
class LinksRequest:
    """Which links to list."""

    url: Url
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    purpose: LinkPurpose = None


@dataclass(frozen=True, slots=True)
class InlinksRequest(LinksRequest):
    """Which links to list, and whether to return their total number."""

    _: KW_ONLY
    count: Annotated[bool, Option("Also return the total number of links.", http_default=True)] = (
        False
    )


@operation(
    LinksRequest,
    http=HttpRoute("GET", "/v1/links", selects={"direction": "out"}, next_link=True),
    thrift="UrlStore.outlinks",
)
def outlinks(caller: Caller, request: LinksRequest) -> LinkPage:
    """List the page's links, in document order."""

    def read(store: UrlStore) -> ListPage[LinkRecord]:
        if not is_usable(store, request.url, request.purpose):
            return ListPage([])
        return store.links.outlinks(request.url, limit=request.limit, cursor=request.cursor or None)

    return _link_page(caller.read(read))


@operation(
    InlinksRequest,
    http=HttpRoute("GET", "/v1/links", selects={"direction": "in"}, next_link=True),
    thrift="UrlStore.inlinks",
)
def inlinks(caller: Caller, request: InlinksRequest) -> LinkPage:
    """
    List links to the page and to its aliases. New links appear after the next compaction.

    A purpose must be allowed by the page that contains the link. With a purpose, a result may
    therefore have fewer links than its limit, or none, even if more links follow its cursor.
    """

    def read(store: UrlStore) -> ListPage[LinkRecord]:
        links = store.links.inlinks(request.url, limit=request.limit, cursor=request.cursor or None)
        if request.purpose is None:
            return links
        usable = usable_urls(store, (link.url for link in links.items), request.purpose)
        return replace(links, items=[link for link in links.items if link.url in usable])

    page = _link_page(caller.read(read))
    if not request.count:
        return page
    return replace(page, count=caller.read(lambda store: store.links.count_inlinks(request.url)))


def _link_page(page: ListPage[LinkRecord]) -> LinkPage:
    return LinkPage(
        tuple(PageLink(link.url, link.text, link.rel) for link in page.items), page.cursor
    )


@operation(
    UrlRequest,
    http=HttpRoute("GET", "/v1/links:count", member="count"),
    thrift="UrlStore.countInlinks",
)
def count_inlinks(caller: Caller, request: UrlRequest) -> int:
    """Count the links that `inlinks` lists. This reads stored counts, so the cost is constant."""
    return caller.read(lambda store: store.links.count_inlinks(request.url))


@operation(
    UrlRequest, http=HttpRoute("GET", "/v1/aliases", member="aliases"), thrift="UrlStore.aliases"
)
def aliases(caller: Caller, request: UrlRequest) -> list[str]:
    """List the page's URLs, except the canonical one."""
    return caller.read(lambda store: store.aliases.of(request.url))


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """The field whose history is read."""

    url: Url
    field: Annotated[str, Option("The name of the field.", max_bytes=MAX_NAME_BYTES)]
    _: KW_ONLY
    purpose: Purpose = None


@operation(
    HistoryRequest,
    http=HttpRoute("GET", "/v1/history", member="history"),
    thrift="UrlStore.history",
)
def history(caller: Caller, request: HistoryRequest) -> list[PastValue]:
    """Return earlier values of a field in `store.history`, newest first."""

    def read(store: UrlStore) -> Sequence[tuple[bytes, int]]:
        usable = is_usable(store, request.url, request.purpose)
        return store.pages.history(request.url, request.field) if usable else ()

    versions = caller.read(read)
    return [PastValue(value, at_ms, request.field) for value, at_ms in versions]


@dataclass(frozen=True, slots=True)
class ContentRequest:
    """A page's content, or a part of it."""

    url: Url
    _: KW_ONLY
    offset_bytes: Annotated[
        int, Option("The first byte to return.", minimum=0, maximum=2**62, http="")
    ] = 0
    limit_bytes: Annotated[
        int | None,
        Option(
            "Maximum number of bytes. Over Thrift, at most 15,000,000.",
            minimum=1,
            maximum=2**62,
            http="",
        ),
    ] = None
    form: Annotated[
        str,
        Option(
            "`original` for the content as fetched; `text` or `markdown` for the page's main text "
            "in that format, in UTF-8.",
            choices=FORMS,
            http="as",
        ),
    ] = ORIGINAL
    purpose: Purpose = None
    at_ms: Annotated[
        int | None,
        Option(
            "Return the version that was current at this time, if it was kept "
            "(`content.keep_versions`). Only with `original`. Default: the current version.",
            minimum=0,
            maximum=2**62,
        ),
    ] = None


@operation(
    ContentRequest,
    http=HttpRoute("GET", "/v1/content", form=Form.CONTENT),
    thrift="UrlStore.content",
    pool=Pool.CONTENT,
)
def content_part(caller: Caller, request: ContentRequest) -> Steps[ContentPart | None]:
    """
    Return a page's content, or a part of it, either as fetched or as its main text.

    Only HTML has a main text. Returns None if nothing is stored. Raises Unsupported without the
    extra `text`, or if extracting the main text takes more than `pipeline.page_max_cpu_s`. The
    extraction does not occupy the threads that read content.
    """
    if request.at_ms is not None and request.form != ORIGINAL:
        raise BadInput("at_ms: earlier versions are only available as original")
    if request.form == ORIGINAL:
        stored = caller.store.content(request.url, caller.admit, at_ms=request.at_ms)
    else:
        stored = yield from caller.parts.texts.steps(caller.store, request.url, request.form)
        if stored is not None and caller.admit is not None:
            caller.admit(len(stored.body))
    stored = check_present(caller.store, request.url, stored)
    if stored is None or not is_allowed(stored.facts, request.purpose):
        return None
    return ContentPart.of(stored, request.offset_bytes, request.limit_bytes)


@operation(
    UrlRequest, http=HttpRoute("GET", "/v1/watches", member="owners"), thrift="UrlStore.watchers"
)
def watchers(caller: Caller, request: UrlRequest) -> list[str]:
    """List the owners that watch the URL's page, sorted."""
    return caller.store.schedule.watchers(request.url)
