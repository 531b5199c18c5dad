"""
Operations that enqueue URLs, report their progress, and fetch a URL now or if it is stale.

Another operation explains what is stored about a URL, and what the URL is waiting for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from typing import Annotated

from aragog.api.operations.batch_progress import BatchProgress
from aragog.api.operations.batch_urls import check_present
from aragog.api.operations.crawls import check_owner, get_token_crawl
from aragog.api.operations.enqueue_options import REQUEST_ID, TRACEPARENT, EnqueueArguments
from aragog.api.operations.fetching import MAX_WAIT_MS, FetchRequest, FetchState
from aragog.api.operations.operation import Caller, Form, HttpRoute, Pool, need, operation
from aragog.api.operations.options import Option, non_default_options
from aragog.api.operations.reading import MAX_CONTENT_BYTES, Include, extras
from aragog.api.operations.scopes import WRITE
from aragog.api.operations.steps import Steps
from aragog.api.operations.values import (
    MAX_ITEMS,
    ContentPart,
    EnqueuedUrls,
    Explanation,
    FetchedPage,
    Fields,
    PageRecord,
    Purpose,
    Url,
)
from aragog.urlstore.records import Record, is_allowed, refused_use

MAX_AGE_S = 10**10
_BATCH = Option(
    "Add the URLs to the batch of an earlier call; default: a new batch.",
    pattern="[A-Za-z0-9_-]{8,64}",
    rule="must be an id returned by an earlier call",
)
_RECORD_FIELDS = tuple(field.name for field in fields(Record))


@dataclass(frozen=True, slots=True)
class EnqueueRequest(EnqueueArguments):
    """URLs to enqueue, and how to enqueue them."""

    urls: Annotated[
        Sequence[str],
        Option("The URLs, in any spelling. An invalid one does not affect the others.",
               max_items=MAX_ITEMS),
    ]  # fmt: skip
    _: KW_ONLY
    batch: Annotated[str | None, _BATCH] = None


_ARGUMENT_NAMES = tuple(field.name for field in fields(EnqueueArguments))


@operation(
    EnqueueRequest,
    http=HttpRoute("POST", "/v1/enqueue", status=202),
    thrift="Fetcher.enqueue",
    scope=WRITE,
    pool=Pool.BROKER,
    split_option="urls",
)
def enqueue(caller: Caller, request: EnqueueRequest) -> EnqueuedUrls:
    """Enqueue URLs, and return a result for each, in order."""
    send = need(caller.parts.enqueue, "this server does not enqueue")
    options = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in non_default_options(request).items()
        if name in _ARGUMENT_NAMES
    }
    if request.crawl:
        check_owner(caller, request.crawl)
    elif name := get_token_crawl(caller.token, caller.parts.crawls):
        options["crawl"] = name
    results = tuple(send(list(request.urls), **options))
    batches, batch = caller.parts.batches, request.batch
    if batches is not None and results:
        batch = batches.add(batch, results, request.run_after or 0)
    return EnqueuedUrls(results, batch)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A batch of enqueued URLs."""

    batch: Annotated[
        str, Option("The id that `enqueue` returned.", pattern=_BATCH.pattern, rule=_BATCH.rule)
    ]


@operation(
    BatchRequest,
    http=HttpRoute(
        "GET", "/v1/batches/{batch}", missing="this batch is unknown, or older than three days"
    ),
    thrift="Fetcher.batch",
    pool=Pool.BROKER,
)
def batch_progress(caller: Caller, request: BatchRequest) -> BatchProgress | None:
    """
    Return the progress of a batch, with an estimate of when it will finish.

    Returns None if the batch is unknown or older than three days.
    """
    return need(caller.parts.batches, "this server has no batches").progress(request.batch)


FieldMaxAges = Annotated[
    Mapping[str, float] | None,
    Option("Maximum ages of individual fields.", minimum=0, maximum=MAX_AGE_S, max_items=MAX_ITEMS,
           http="field_max_age", shares="max_age", thrift="field_max_age_ms"),
]  # fmt: skip
FetchWait = Annotated[
    int, Option("How long to wait for the fetch.", minimum=0, maximum=MAX_WAIT_MS)
]


@dataclass(frozen=True, slots=True)
class FetchNowRequest:
    """A URL to fetch now."""

    url: Url
    fields: Fields = None
    _: KW_ONLY
    max_wait_ms: FetchWait = 10_000
    max_age_s: Annotated[
        float,
        Option("Do not fetch a page confirmed within this many seconds; 0: always fetch.",
               minimum=0, maximum=MAX_AGE_S, http="max_age", thrift="max_age_ms"),
    ] = 0.0  # fmt: skip
    field_max_age_s: FieldMaxAges = None
    content: Annotated[bool, Option("Also return the page's content, up to 15,000,000 bytes.")] = (
        False
    )
    purpose: Purpose = None
    request_id: Annotated[str, REQUEST_ID] = ""
    traceparent: Annotated[str, TRACEPARENT] = ""


@operation(
    FetchNowRequest,
    http=HttpRoute("POST", "/v1/fetch", pending="fetching"),
    thrift="Fetcher.fetch",
    scope=WRITE,
    pool=Pool.FETCH,
    waits=True,
)
def fetch(caller: Caller, request: FetchNowRequest) -> Steps[FetchedPage]:
    """
    Fetch a URL now, politely, and return the stored data after the fetch or when the time is up.

    Concurrent callers share one fetch, which continues even if they stop waiting.
    """
    page = yield from _fetch_steps(caller, request)
    if refused := _refused_response(page, request.purpose):
        return refused
    store = caller.store
    wants_content = request.content and page.record
    stored_content = store.content(page.url, caller.admit) if wants_content else None
    if stored_content is not None and not is_allowed(stored_content.facts, request.purpose):
        stored_content = None
    content = (
        None if stored_content is None else ContentPart.of(stored_content, 0, MAX_CONTENT_BYTES)
    )
    return replace(page, report=store.pages.fetch_report(page.url), content=content)


@dataclass(frozen=True, slots=True)
class GetFreshRequest:
    """A record to read. If its page is unknown or too old, it is fetched first."""

    url: Url
    fields: Fields = None
    _: KW_ONLY
    max_age_s: Annotated[
        float | None,
        Option("Fetch the page first if it was confirmed longer ago than this; default: only "
               "if it is unknown.",
               minimum=0, maximum=MAX_AGE_S, http="max_age", thrift="max_age_ms"),
    ] = None  # fmt: skip
    field_max_age_s: FieldMaxAges = None
    max_wait_ms: FetchWait = 0
    include: Include = ()
    purpose: Purpose = None
    request_id: Annotated[str, REQUEST_ID] = ""
    traceparent: Annotated[str, TRACEPARENT] = ""


@operation(
    GetFreshRequest,
    http=HttpRoute("GET", "/v1/urls", form=Form.FRESH, selected_by=("max_age", "max_wait_ms")),
    thrift="Fetcher.getFresh",
    scope=WRITE,
    pool=Pool.FETCH,
    waits=True,
)
def get_fresh(caller: Caller, request: GetFreshRequest) -> Steps[FetchedPage]:
    """
    Return a URL's record, and fetch the page first if it is unknown or too old.

    Without a wait, the stored data is returned and the page is fetched for later readers. The
    record contains the fetch report if `include` lists it.
    """
    page = yield from _fetch_steps(caller, request)
    if refused := _refused_response(page, request.purpose):
        return refused
    record = page.record
    if record is None:
        return replace(page, state=FetchState.ABSENT.value)
    extra_values = extras(caller.store, page.url, request.include)
    return replace(page, record=replace(record, **extra_values, extras=tuple(request.include)))


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """A URL to explain."""

    url: Annotated[
        str,
        Option(
            "The URL, in any spelling; the first section shows how it is normalized.",
            is_url=True,
            as_given=True,
        ),
    ]


@operation(
    ExplainRequest,
    http=HttpRoute("GET", "/v1/explain"),
    thrift="Fetcher.explain",
    pool=Pool.EXPLAIN,
)
def explain(caller: Caller, request: ExplainRequest) -> Explanation:
    """
    Explain everything that is known about a URL, by component, and what the URL is waiting for.

    The sections are spelling, SSRF filter, operator decisions, robots.txt, slot, queue, stored data
    and links. This only reads. If a component does not respond, its section has a `problem` and the
    other sections are complete.
    """
    return need(caller.parts.explain, "this server does not explain URLs")(request.url)


def _refused_response(page: FetchedPage, purpose: str | None) -> FetchedPage | None:
    """
    If a page must not be used for a purpose, return a response as if nothing were stored.
    Otherwise, return None.
    """
    if purpose is None or page.record is None:
        return None
    refusal = refused_use(page.record.facts, purpose)
    if refusal is None:
        return None
    reason = page.reason or f"not for {purpose}: {refusal}"
    absent = FetchState.ABSENT.value
    return replace(page, record=None, state=absent, stale_fields=(), reason=reason)


def _fetch_steps(caller: Caller, request: FetchNowRequest | GetFreshRequest) -> Steps[FetchedPage]:
    """Return the stored page once it is fresh enough, or when the time is up."""
    fetched = yield from need(caller.parts.fetching, "this server does not fetch").steps(
        FetchRequest(
            url=request.url,
            max_wait_ms=request.max_wait_ms,
            max_age_s=request.max_age_s,
            field_max_age_s=request.field_max_age_s or {},
            fields=request.fields,
            request_id=request.request_id,
            traceparent=request.traceparent,
            crawl=partial(get_token_crawl, caller.token, caller.parts.crawls),
        )
    )
    record = check_present(caller.store, fetched.url, fetched.record)
    values = {name: getattr(record, name) for name in _RECORD_FIELDS} if record else {}
    return FetchedPage(
        url=fetched.url,
        state=fetched.state.value,
        record=PageRecord(**values, formats=caller.store.formats) if record else None,
        age_s=fetched.age_s,
        stale_fields=fetched.stale_fields,
        fetching=fetched.fetching,
        reason=fetched.reason,
    )
