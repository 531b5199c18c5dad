"""
Analyzes an item's files, such as images, from their headers only.

A file with a page's content type is analyzed as a page, so the result does not depend on who
requested the URL. Other files are stored byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection

from aragog.crawl.fetcher.content_types import type_refusal
from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.stages.page_analysis import PageAnalysis, get_redirects
from aragog.pages import preferences
from richpins.robots_meta import from_headers, unavailable_at_ms
from urlspelling.canonical import Evidence


def is_file(result: FetchResult, page_types: Collection[str]) -> bool:
    """Return True if the response is an item's file rather than a page."""
    content_type = result.fetch.content_type
    is_page = content_type is not None and not type_refusal(content_type, tuple(page_types))
    return result.job.file and not is_page


def analyze_file(result: FetchResult, *, agent: str, drafts: Collection[str] = ()) -> PageAnalysis:
    """Return the uses that a file's headers allow, and how long it may be kept."""
    headers = result.fetch.headers
    robots = from_headers(headers, agent=agent)
    return PageAnalysis(
        evidence=Evidence(
            url=result.job.url,
            final_url=result.fetch.final_url,
            status=result.fetch.status or 200,
            redirects=get_redirects(result),
        ),
        links=(),
        fields={},
        provenance={},
        page_type="page",
        noindex=robots.noindex,
        nofollow=robots.nofollow,
        preferences=(
            *preferences.header_statements(headers, drafts),
            *preferences.robots_statements(robots, "X-Robots-Tag"),
        ),
        unavailable_after_ms=unavailable_at_ms(robots.unavailable_after),
        complete=result.fetch.status == 200,
    )
