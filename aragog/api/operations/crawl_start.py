"""The operation that starts or changes a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any

from aragog.api.operations.crawls import CrawlView, Name, own, view_of
from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import WRITE
from aragog.crawl.pipeline.crawl_records import MOST_NOTIFY_CHARS
from aragog.pages.preferences import PURPOSES
from aragog.settings.token_quotas import LEAST_WEIGHT, MOST_WEIGHT

MOST_COUNT = 2**53
MOST_EVERY_S = 366 * 86_400


@dataclass(frozen=True, slots=True)
class StartCrawlRequest:
    """A crawl to start, or to change and continue; omitted options stay unchanged."""

    name: Name
    _: KW_ONLY
    scope: Annotated[
        Sequence[str] | None,
        Option(
            "Rules for its URLs: `host:`, `domain:`, `prefix:` or `pattern:` and a value, with `-` "
            "in front for those that are left out. Without any, links stay within the registered "
            "domain of their page.",
            most_items=200,
        ),
    ] = None
    depth: Annotated[int | None, Option("Link hops to follow.", least=0, most=100)] = None
    nofollow: Annotated[bool | None, Option("Follow links that are marked `nofollow`.")] = None
    priority: Annotated[int | None, Option("0 (most urgent) to 9.", least=0, most=9)] = None
    purposes: Annotated[
        Sequence[str] | None, Option("What it is for.", most_items=5, choices=PURPOSES)
    ] = None
    max_urls: Annotated[int | None, Option("The most URLs.", least=1, most=MOST_COUNT)] = None
    max_urls_per_host: Annotated[
        int | None, Option("The most URLs of one host.", least=1, most=MOST_COUNT)
    ] = None
    max_bytes: Annotated[
        int | None,
        Option("It ends once its pages have this number of bytes.", least=1, most=MOST_COUNT),
    ] = None
    until_ms: Annotated[
        int | None, Option("When it ends, ms since the epoch.", least=1, most=MOST_COUNT)
    ] = None
    rate: Annotated[
        float | None,
        Option(
            "The most requests a second to a domain; the domain's own rate stays the bound.",
            least=0.0001,
            most=10_000,
        ),
    ] = None
    weight: Annotated[
        float | None,
        Option(
            "Its share of a domain's slots beside other crawls of its token; the usual is 1.",
            least=LEAST_WEIGHT,
            most=MOST_WEIGHT,
        ),
    ] = None
    max_open_hosts: Annotated[
        int | None,
        Option(
            "Hosts of which URLs are fetched at once, in turns; 0: no bound.",
            least=0,
            most=MOST_COUNT,
        ),
    ] = None
    every_s: Annotated[
        int | None,
        Option(
            "Seconds between two rounds from its seeds, with conditional requests; 0: no more.",
            least=0,
            most=MOST_EVERY_S,
        ),
    ] = None
    notify: Annotated[
        str | None,
        Option(
            "The address that is told when it is done or ends, signed like webhooks; empty: none.",
            most_bytes=MOST_NOTIFY_CHARS,
        ),
    ] = None
    notify_secret: Annotated[
        str | None, Option("The secret of these signatures; it is not shown.", most_bytes=200)
    ] = None
    notify_error_rate: Annotated[
        float | None,
        Option("Tell it too when this share of a day's URLs has failed.", least=0, most=1),
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

    Enqueue its URLs with `crawl`. If the crawl has `every_s`, they are kept as its seeds. A crawl
    that was cancelled or has ended starts again, but its earlier pending URLs stay cancelled. A
    token may change the crawls that it started; `admin` may change all.
    """
    control = own(caller, request.name)
    options: dict[str, Any] = {
        f.name: value
        for f in fields(request)
        if f.name != "name" and (value := getattr(request, f.name)) is not None
    }
    if "purposes" in options:
        options["purposes"] = " ".join(options["purposes"])
    return view_of(control.start(request.name, options, token=str(caller.token or "")))
