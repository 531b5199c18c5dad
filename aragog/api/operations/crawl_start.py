"""The operation that starts or changes a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any

from aragog.api.operations.crawls import CrawlView, Name, control_for_change, to_view
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.crawl.pipeline.crawl_records import MAX_NOTIFY_CHARS
from aragog.pages.preferences import PURPOSES
from aragog.settings.token_quotas import MAX_WEIGHT, MIN_WEIGHT

MAX_COUNT = 2**53
MAX_EVERY_S = 366 * 86_400


@dataclass(frozen=True, slots=True)
class StartCrawlRequest:
    """A crawl to start, or to change and continue. Omitted options stay unchanged."""

    name: Name
    _: KW_ONLY
    scope: Annotated[
        Sequence[str] | None,
        Option(
            "Rules that URLs must match: `host:`, `domain:`, `prefix:` or `pattern:` and a value. "
            "`type:` and `language:` are rules for the content type and language of pages. "
            "A leading `-` excludes matches. Without rules, links stay within their page's "
            "registered domain.",
            max_items=200,
        ),
    ] = None
    depth: Annotated[
        int | None, Option("How many link hops to follow.", minimum=0, maximum=100)
    ] = None
    nofollow: Annotated[bool | None, Option("Follow links that are marked `nofollow`.")] = None
    priority: Annotated[int | None, Option("0 (most urgent) to 9.", minimum=0, maximum=9)] = None
    purposes: Annotated[
        Sequence[str] | None, Option("What the pages are used for.", max_items=5, choices=PURPOSES)
    ] = None
    max_urls: Annotated[
        int | None, Option("Maximum number of URLs.", minimum=1, maximum=MAX_COUNT)
    ] = None
    max_urls_per_host: Annotated[
        int | None, Option("Maximum number of URLs per host.", minimum=1, maximum=MAX_COUNT)
    ] = None
    max_bytes: Annotated[
        int | None,
        Option("End the crawl once its pages total this many bytes.", minimum=1, maximum=MAX_COUNT),
    ] = None
    until_ms: Annotated[
        int | None,
        Option("When to end the crawl, ms since the epoch.", minimum=1, maximum=MAX_COUNT),
    ] = None
    rate: Annotated[
        float | None,
        Option(
            "Maximum requests per second to a domain. The domain's own rate limit still applies.",
            minimum=0.0001,
            maximum=10_000,
        ),
    ] = None
    weight: Annotated[
        float | None,
        Option(
            "Share of a domain's slots relative to other crawls of the same token. Default: 1.",
            minimum=MIN_WEIGHT,
            maximum=MAX_WEIGHT,
        ),
    ] = None
    max_open_hosts: Annotated[
        int | None,
        Option(
            "How many hosts to fetch from at the same time; 0: no limit.",
            minimum=0,
            maximum=MAX_COUNT,
        ),
    ] = None
    every_s: Annotated[
        int | None,
        Option(
            "Seconds between rounds from the seeds, with conditional requests; 0: stop repeating.",
            minimum=0,
            maximum=MAX_EVERY_S,
        ),
    ] = None
    notify: Annotated[
        str | None,
        Option(
            "URL to notify when the crawl is done or ends, signed like webhooks. Empty: none.",
            max_bytes=MAX_NOTIFY_CHARS,
        ),
    ] = None
    notify_secret: Annotated[
        str | None, Option("The secret for these signatures. It is never returned.", max_bytes=200)
    ] = None
    notify_error_rate: Annotated[
        float | None,
        Option("Also notify when this share of a day's URLs has failed.", minimum=0, maximum=1),
    ] = None


@operation(
    StartCrawlRequest,
    http=HttpRoute("POST", "/v1/crawls/{name}"),
    thrift="Fetcher.startCrawl",
    scope=WRITE,
    pool=Pool.BROKER,
)
def start_crawl(caller: Caller, request: StartCrawlRequest) -> CrawlView:
    """
    Start a crawl, or change and continue the crawl with this name.

    Enqueue its URLs with `crawl`. With `every_s`, they are kept as the crawl's seeds. A crawl that
    was cancelled or has ended starts again, but its earlier pending URLs stay cancelled. A token
    may change the crawls that it started; `admin` may change all.
    """
    control = control_for_change(caller, request.name)
    options: dict[str, Any] = {
        f.name: value
        for f in fields(request)
        if f.name != "name" and (value := getattr(request, f.name)) is not None
    }
    if "purposes" in options:
        options["purposes"] = " ".join(options["purposes"])
    return to_view(control.start(request.name, options, token=str(caller.token or "")))
