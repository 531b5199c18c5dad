"""The effect of a 304 on a stored response: its fields, freshness and missing content."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.not_modified import has_same_decisive_headers, merge_headers
from aragog.crawl.stages.page_updates import from_blob, to_blob, with_body
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS

URL = "http://a.example/"
HTML = b"<title>t</title>"


@pytest.mark.parametrize(
    ("stored", "confirming", "after"),
    [
        ("Link: a|Link: b", "link: c", "link: c"),
        ("Link: a", "ETag: e", "Link: a|ETag: e"),
        ("Content-Type: text/html", "Content-Type: text/plain", "Content-Type: text/html"),
        ("Content-Length: 9|Content-Encoding: gzip", "Content-Length: 0",
         "Content-Length: 9|Content-Encoding: gzip"),
        ("A: 1", "Connection: X-Own|X-Own: 1|Transfer-Encoding: chunked", "A: 1"),
        ("Age: 500|Date: old|A: 1", "B: 2", "A: 1|B: 2"),
        ("Age: 500", "Age: 3", "Age: 3"),
    ],
)  # fmt: skip
def test_fields_of_a_304_replace_stored_ones_except_those_of_the_body(stored, confirming, after):
    assert merge_headers(headers(stored), headers(confirming)) == headers(after)


def headers(text):
    return tuple(tuple(line.split(": ")) for line in text.split("|"))


def test_only_decisive_fields_make_two_responses_differ():
    one = headers("X-Robots-Tag: all|Date: a|Expires: b|Link: c")

    assert has_same_decisive_headers(one, headers("link: c|Expires: z|x-robots-tag: all"))
    assert not has_same_decisive_headers(one, headers("Link: d|X-Robots-Tag: all"))


@pytest.fixture
def crawl(ports):
    """Canonicalizes and stores one result; returns its update."""
    stage = CanonicalizeStage(
        ports.spool, ports.store, ports.in_flight, ports.marks,
        ports.discovery, ports.returning_jobs, ports.settings,
    )  # fmt: skip

    def run(outcome, at_ms, lines, html=None, url=URL):
        token = ports.spool.put_many([compress(html)])[0] if html is not None else None
        result = fetch_result(
            job=UrlJob(url=url, refresh=True), outcome=outcome, final_url=url, token=token,
            status=304 if html is None else 200, fetched_at_ms=at_ms, headers=headers(lines),
            content_type=None if html is None else "text/html",
        )  # fmt: skip
        (message,) = stage.run(ResultBatch((result,)))
        (blob,) = ports.spool.get_many([message.message.token])
        (update,) = from_blob(blob)
        body = ports.spool.get_many([update.token])[0] if update.token else None
        ports.store.write_pages([with_body(update, body)])
        return update

    return run


def test_freshness_missing_in_a_304_comes_from_the_stored_response(crawl):
    crawl(OutcomeKind.FETCHED, NOW_MS, "Cache-Control: max-age=7000", HTML)

    confirmed = crawl(OutcomeKind.NOT_MODIFIED, NOW_MS + 1000, "ETag: e")

    assert confirmed.write.seen.fresh_s == 7000
    assert confirmed.write.report.headers == (("ETag", "e"),)


def test_expiry_of_a_304_counts_without_reading_the_page_again(crawl):
    crawl(OutcomeKind.FETCHED, NOW_MS, "Expires: Thu, 01 Jan 2026 00:00:00 GMT", HTML)

    lines = "Date: Thu, 01 Jan 2026 00:00:00 GMT|Expires: Thu, 01 Jan 2026 01:00:00 GMT"
    confirmed = crawl(OutcomeKind.NOT_MODIFIED, NOW_MS + 1000, lines)

    assert confirmed.write.seen.fresh_s == 3600
    assert confirmed.token is None


def test_replaced_content_is_kept_and_its_preferences_become_stricter(crawl, ports):
    crawl(OutcomeKind.FETCHED, NOW_MS, "A: 1", b'<meta name="robots" content="nosnippet">')
    ports.store.put_content(URL, b"other", at_ms=NOW_MS + 500)

    crawl(OutcomeKind.NOT_MODIFIED, NOW_MS + 1000, "X-Robots-Tag: noai")

    preferences = ports.store.get(URL).facts["page_preferences"]
    assert [line.partition(" ")[0] for line in preferences.split("\n")] == [
        "ai-input=n",
        "ai-train=n",
    ]
    assert ports.store.content(URL).body == b"other"


def test_update_of_a_304_survives_the_spool(crawl):
    crawl(OutcomeKind.FETCHED, NOW_MS, "A: 1", HTML)
    update = crawl(OutcomeKind.NOT_MODIFIED, NOW_MS + 1000, "X-Robots-Tag: noai")

    assert update.write.confirmation.status == 304
    again = from_blob(to_blob([update]))[0].write
    assert again == replace(update.write, links=again.links)
