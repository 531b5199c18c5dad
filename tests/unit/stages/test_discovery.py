"""URLs that pages and sitemaps name, over ports in memory."""

import pytest

from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline.messages import UrlJob
from aragog.stages.discovery import Discovery
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

A = "http://www.shop.test/"
SAME, OTHER = "http://www.shop.test/p", "http://other.test/p"


def result(**job):
    return fetch_result(
        job=UrlJob(url=A, **job), outcome=OutcomeKind.FETCHED, final_url=A, fetched_at_ms=NOW_MS
    )


def sitemap(*entries):
    items = "".join(f"<url><loc>{url}</loc><lastmod>{at}</lastmod></url>" for url, at in entries)
    return f"<urlset>{items}</urlset>".encode()


@pytest.mark.parametrize("chunk", [1, 2, 500])
def test_a_sitemap_enqueues_what_is_not_stored_or_changed_since(ports, chunk):
    unknown, stored, changed = SAME, f"{SAME}/stored", f"{SAME}/changed"
    ports.store.write_pages(
        [page(url, facts={"fetched_at_ms": NOW_MS}, content=body("x")) for url in (stored, changed)]
    )
    discovery = Discovery(ports.enqueuer, ports.store, ports.settings, chunk=chunk)
    entries = ((unknown, "2020-01-01"), (stored, "2020-01-01"), (changed, "2100-01-01"))

    count = discovery.sitemap(result(), sitemap(*entries, (OTHER, "2100-01-01")))

    assert (count, set(ports.sent.urls())) == (2, {unknown, changed})


def test_a_filter_that_cannot_be_read_accepts_nothing(ports):
    count = ports.discovery.sitemap(result(url_filter="{"), sitemap((SAME, "2020-01-01")))

    assert (count, ports.sent.urls()) == (0, [])
