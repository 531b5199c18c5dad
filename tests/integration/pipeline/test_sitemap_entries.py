"""The sitemap entries that are fetched: those that are new or changed since the last fetch."""

from datetime import UTC, datetime

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.refresh_policy import Seen
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

pytestmark = pytest.mark.redis
A, B, C = (f"http://site.example/{n}" for n in "abc")
MAP = "http://site.example/sitemap.xml"
HOUR_MS = 3_600_000


def seen(outcome, at_ms):
    return Seen(outcome=outcome, fetched_at_ms=at_ms, page_type="page")


def listed(harness, entries):
    """The URLs enqueued three hours later from a sitemap with these URLs and times."""
    harness.clock.advance_ms(3 * HOUR_MS)
    rows = "".join(
        f"<url><loc>{url}</loc><lastmod>{datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()}"
        "</lastmod></url>"
        for url, at_ms in entries
    )
    answer = fetch_result(
        job=UrlJob(url=MAP), outcome=OutcomeKind.FETCHED, final_url=MAP, fetched_at_ms=NOW_MS
    )
    harness.discovery.sitemaps.read(answer, f"<urlset>{rows}</urlset>".encode())
    return sorted(harness.sent.urls())


def stored(harness, *urls):
    harness.store.write_pages(
        [
            page(u, NOW_MS, fields={"t": b"1"}, content=body("x"), seen=seen("Fetched", NOW_MS))
            for u in urls
        ]
    )


def test_new_and_changed_entries_are_fetched(pipeline_harness):
    stored(pipeline_harness, A, B)

    assert listed(
        pipeline_harness, [(A, NOW_MS - HOUR_MS), (B, NOW_MS + HOUR_MS), (C, NOW_MS - HOUR_MS)]
    ) == [B, C]


def test_entry_older_than_a_304_is_not_fetched(pipeline_harness):
    stored(pipeline_harness, A, B)
    again_ms = NOW_MS + 2 * HOUR_MS
    pipeline_harness.clock.advance_ms(2 * HOUR_MS)
    pipeline_harness.store.write_pages([page(A, again_ms, seen=seen("NotModified", again_ms))])

    assert listed(pipeline_harness, [(A, NOW_MS + HOUR_MS), (B, NOW_MS + HOUR_MS)]) == [B]


def test_alias_counts_as_fetched_with_its_page(pipeline_harness):
    stored(pipeline_harness, A)
    pipeline_harness.store.aliases.merge(B, A)

    assert listed(pipeline_harness, [(B, NOW_MS - HOUR_MS)]) == []
