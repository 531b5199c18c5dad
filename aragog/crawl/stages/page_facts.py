"""
The facts about a page and its fetch that are stored with it, and what the refresh schedule needs.

The schedule also learns from the headers how long the response stays fresh (RFC 9111, section 4.2).
This is only a hint, because servers often send wrong values. Unreadable values are ignored.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.fetcher.headers import freshness_s, http_date_ms
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.stages.file_analysis import is_file
from aragog.crawl.stages.page_analysis import PageAnalysis
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import Settings
from aragog.urlstore.item_files import FILE, SHA256
from aragog.urlstore.kept_for import KEPT_FOR, crawl_name
from aragog.urlstore.refresh_policy import Seen

# Fields of the fetch record that are also stored as facts, under the same name.
_COPIED_FACTS = (
    "status", "reason", "fetched_at_ms", "address", "content_type", "final_url", "attempts",
    "crawler_price", "rendering", "robots_preferences", "page_preferences", "cause",
)  # fmt: skip


def fetch_facts(record: FetchRecord) -> dict[str, Any]:
    """Return the facts about the fetch to store with the page."""
    headers = {name.lower(): value for name, value in reversed(record.headers)}
    facts: dict[str, Any] = {
        "outcome": record.outcome.value,
        "latency_ms": record.total_ms,
        "bytes": record.body_bytes,
        "truncated": int(record.truncated),
        "redirects": len(record.hops),
        **{name: getattr(record, name) for name in _COPIED_FACTS},
    }
    if record.outcome in (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED):
        facts |= {
            "etag": headers.get("etag"),
            "last_modified": headers.get("last-modified"),
        }
    if record.outcome is OutcomeKind.FETCHED:  # all earlier facts are replaced; "" deletes a fact
        facts = {name: None if value == "" else value for name, value in facts.items()}
    return {name: value for name, value in facts.items() if value is not None}


def validator_facts(fetch: FetchRecord) -> dict[str, str]:
    """
    Return the validators for reading a sitemap or feed again; empty strings if the response lacks
    them.
    """
    headers = {name.lower(): value for name, value in reversed(fetch.headers)}
    return {
        "final_url": fetch.final_url,
        "etag": headers.get("etag", ""),
        "last_modified": headers.get("last-modified", ""),
    }


def attempted_url_fact(fetch: FetchRecord) -> dict[str, str]:
    """Return the URL that a fetch without a page was redirected to, if any."""
    is_redirected = fetch.outcome is not OutcomeKind.NOT_MODIFIED and fetch.final_url != fetch.url
    return {"attempted_url": fetch.final_url} if is_redirected and fetch.final_url else {}


def file_facts(result: FetchResult, settings: Settings) -> dict[str, Any]:
    """Return the fields that are only stored for items' files."""
    is_item_file = is_file(result, settings.fetch.content_types)
    return {FILE: 1, SHA256: result.body_hash} if is_item_file else {}


def kept_for_facts(job: UrlJob) -> dict[str, str]:
    """Return the purposes that a page is kept for, if the job has its own purposes."""
    return {} if job.purposes is None else {KEPT_FOR: crawl_name(job.purposes)}


def expiry_facts(analysis: PageAnalysis, settings: Settings) -> dict[str, int]:
    """Return the time after which the page must not be shown, unless the settings ignore it."""
    at_ms = analysis.unavailable_after_ms
    is_obeyed = at_ms is not None and settings.preferences.obey_unavailable_after
    return {"unavailable_after_ms": at_ms} if is_obeyed and at_ms is not None else {}


def make_seen(result: FetchResult, settings: Settings, *, page_type: str | None = None) -> Seen:
    """Return what the refresh schedule must know about a fetch."""
    fetch = result.fetch
    headers = {name.lower(): value for name, value in reversed(fetch.headers)}
    # A list split over several header lines equals one line (RFC 9110, section 5.3). nginx sends
    # two.
    cache_control = [value for name, value in fetch.headers if name.lower() == "cache-control"]
    headers["cache-control"] = ", ".join(cache_control)
    expiry_ms = None
    if fetch.outcome is OutcomeKind.REFUSED:
        # Until the robots rules expire, they would refuse the URL again.
        expiry_ms = fetch.fetched_at_ms + int(settings.politeness.robots_fresh_s * 1000)
    return Seen(
        outcome=fetch.outcome.value,
        fetched_at_ms=fetch.fetched_at_ms,
        page_type=page_type,
        body_hash=result.body_hash,
        fresh_s=freshness_s(headers, fetch.fetched_at_ms),
        modified_at_ms=http_date_ms(headers.get("last-modified")),
        not_before_ms=expiry_ms,
    )
