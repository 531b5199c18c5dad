"""
The options for enqueuing URLs. To add an option, add a field to `EnqueueArguments` and to the
Thrift contract (`aragog/api/urlstore.thrift`). If the pipeline's stages use it, also add it to
`EnqueueOptions`. `aragog.crawl.stages.inherited_options` decides whether links inherit it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.options import Option, validate_options
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.errors import BadInput
from aragog.observability.tracing.context import PATTERN

LATEST_RUN_AFTER_MS = 253_370_764_800_000
"""The start of the last year that Celery's dates support."""
MAX_DEPTH = 100
REQUEST_ID = Option(
    "Identifies this call in the logs of all stages; up to 64 characters, default: a new id.",
    pattern=r"[!-~]{0,64}",
    rule="must be at most 64 printable ASCII characters, no spaces",
    cli="Identifies this call in the logs (default: a new ID).",
)
TRACEPARENT = Option(
    "The caller's span (W3C Trace Context), which the URLs' traces continue. Empty: none.",
    pattern=f"({PATTERN})?",
    rule="must be a traceparent of W3C Trace Context, version 00",
    cli="The caller's span (W3C Trace Context).",
)
CRAWL = Option(
    "The crawl that the URLs belong to, which must have been started. Empty: the crawl of "
    "all URLs enqueued without a crawl.",
    pattern=r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})?",
    rule="must be 1 to 64 letters, digits, '.', '-' and '_'",
    cli="The crawl that the URLs belong to.",
)
# A sitemap index lists sitemaps, which list pages. sitemaps.org defines no third level.
SITEMAP_LEVELS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueArguments:
    """
    The options for enqueuing in Python, over HTTP and Thrift, and on the command line.

    This is the only list of these options. The Thrift contract also declares each of them. An
    option that fetching uses is also a field of `EnqueueOptions` and of `UrlJob`.
    """

    priority: Annotated[int, Option("0 (most urgent) to 9.", minimum=0, maximum=9)] = (
        PRIORITY_DEFAULT
    )
    run_after: Annotated[
        int | None,
        Option(
            "Do not fetch before this time, in milliseconds since the epoch.",
            minimum=0,
            maximum=LATEST_RUN_AFTER_MS,
            rule="must be before the year 9999",
            thrift="run_after_ms",
            cli="Do not fetch before: 'in 2h', 2026-12-31T08:00Z, or ms.",
        ),
    ] = None
    depth: Annotated[
        int,
        Option(
            "Link hops to follow from each URL, within its registered domain.",
            minimum=0,
            maximum=MAX_DEPTH,
            cli="How many link hops to follow from each URL (1: only the pages that it links to).",
        ),
    ] = 0
    refresh: Annotated[
        bool,
        Option(
            "Also fetch URLs that are already stored, or have been in flight for an hour.",
            cli="Also fetch URLs that are stored, or have been in flight for an hour.",
        ),
    ] = False
    sitemap: Annotated[
        bool,
        Option(
            "The URLs are sitemaps or sitemap indexes. Enqueue the listed URLs that are in the "
            "sitemap's registered domain and were not stored since their lastmod.",
            cli="The URLs are sitemaps: enqueue the URLs in them.",
        ),
    ] = False
    include: Annotated[
        Sequence[str],
        Option(
            "Follow only links and sitemap entries whose whole normalized URL matches one of these "
            "patterns. `*` matches any characters. Empty: follow all.",
            max_items=50,
            thrift="include_patterns",
            cli="Follow only links that match; `*` matches any characters; repeatable.",
        ),
    ] = ()
    exclude: Annotated[
        Sequence[str],
        Option(
            "Do not follow links that match one of these patterns.",
            max_items=50,
            thrift="exclude_patterns",
            cli="Do not follow links that match; repeatable.",
        ),
    ] = ()
    request_id: Annotated[str, REQUEST_ID] = ""
    traceparent: Annotated[str, TRACEPARENT] = ""
    crawl: Annotated[str, CRAWL] = ""

    def options(self) -> EnqueueOptions:
        """
        Return the options that the jobs of all these URLs share.

        Raises:
            BadInput: an option is invalid. The message names it.
        """
        accepted = validate_options(self)
        return EnqueueOptions(
            depth=max(self.depth, SITEMAP_LEVELS) if self.sitemap else self.depth,
            refresh=self.refresh or self.sitemap,
            insist=self.refresh,
            priority=self.priority,
            run_after_ms=self.run_after,
            sitemap=self.sitemap,
            url_filter=UrlFilter(tuple(accepted.include), tuple(accepted.exclude)).wire(),
            request_id=self.request_id,
            caller=self.traceparent,
            crawl=self.crawl,
        )


def check_request_id(request_id: str) -> str:
    """
    Return `request_id` if it is valid. An empty string is valid.

    Raises:
        BadInput: `request_id` could break a log line.
    """
    if not re.fullmatch(str(REQUEST_ID.pattern), request_id, re.ASCII):
        raise BadInput(f"request_id: {REQUEST_ID.rule}")
    return request_id
