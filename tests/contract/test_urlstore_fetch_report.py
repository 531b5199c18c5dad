"""Fetch reports on every engine: each URL, also an alias, has the report of its own last fetch."""

from dataclasses import replace

import orjson

from aragog.fetch_record.outcome import FetchRecord, Hop
from aragog.urlstore.compression import compress, content_key
from aragog.urlstore.nodes import FETCH, FETCHED
from aragog.urlstore.record_reader import to_cell
from aragog.urlstore.records import ContentWrite
from tests.support.stores import NOW_MS, node_id, page, store_harness

OLD, NEW, NAMED = "http://a.example/old", "http://a.example/new", "http://a.example/named"
HOP = Hop(url=OLD, status=301, target=NEW, latency_ms=3.5, headers=(("Location", "/new"),))


def report(url, at_ms=NOW_MS, **facts):
    facts = {"outcome": "Fetched", "status": 200, "final_url": NEW, "total_ms": 9.0, **facts}
    headers = (("Server", "é"), ("Set-Cookie", "sid="))
    return FetchRecord(url=url, fetched_at_ms=at_ms, headers=headers, **facts)


def fetched(report_, **parts):
    parts.setdefault("fields", {"title": b"T"})
    return page(
        report_.url, report_.fetched_at_ms, final_url=report_.final_url, report=report_, **parts
    )


def test_alias_has_the_report_of_its_own_fetch(harness):
    through_old = report(OLD, hops=(HOP,), total_ms=40.5, address="192.0.2.1", tls="TLSv1.3")
    itself = report(NEW, NOW_MS + 5, total_ms=7.0)
    harness.store.write_pages([fetched(through_old), fetched(itself)])

    assert harness.store.get(OLD).canonical_url == NEW
    assert harness.store.pages.fetch_report(OLD) == through_old
    assert harness.store.pages.fetch_report("HTTP://A.example:80/new") == itself


def test_alias_that_fails_later_has_the_report_of_its_failure(harness):
    harness.store.write_pages([fetched(report(OLD, hops=(HOP,)))])
    failed = report(
        OLD, NOW_MS + 5, outcome="Unreachable", status=None, final_url=OLD, reason="timeout"
    )
    harness.store.write_pages([page(OLD, NOW_MS + 5, fields={}, report=failed)])

    assert harness.store.pages.fetch_report(OLD) == failed
    assert harness.store.get(OLD).canonical_url == NEW


def test_late_write_does_not_replace_a_newer_report(harness):
    newer, older = report(NEW, NOW_MS + 5), report(NEW, NOW_MS)
    harness.store.write_pages([fetched(newer)])
    harness.store.write_pages([fetched(older)])

    assert harness.store.pages.fetch_report(NEW) == newer


def test_url_never_requested_has_the_report_of_the_fetch_that_stored_its_page(harness):
    through_old = report(OLD, hops=(HOP,))
    harness.store.write_pages([fetched(through_old, also=(NAMED,))])

    assert harness.store.pages.fetch_report(NEW) == through_old
    assert harness.store.pages.fetch_report(NAMED) == through_old
    assert harness.store.pages.fetch_report("http://unknown.example/") is None


def test_removed_page_has_no_report(harness):
    harness.store.write_pages([fetched(report(NEW))])
    harness.clock.advance_ms(10)

    harness.store.remove(NEW)

    assert harness.store.pages.fetch_report(NEW) is None


def fetched_with_content(report_):
    """A fetch with content and with the pipeline's metadata."""
    meta = {"status": "200", "fetched_at_ms": str(report_.fetched_at_ms)}
    content = ContentWrite(compress(b"<html>"), "zstd", 6, meta)
    return fetched(report_, content=content, facts={"outcome": report_.outcome})


def headers_of(harness, url):
    """The headers that an export finds with a page's content."""
    return orjson.loads(harness.store.content(url).meta["headers"])


def test_headers_are_read_with_report_and_content(harness):
    harness.store.write_pages([fetched_with_content(report(NEW))])

    assert headers_of(harness, NEW) == [["Server", "é"], ["Set-Cookie", "sid="]]
    assert harness.store.pages.fetch_report(NEW) == report(NEW)


def test_objects_have_no_headers_of_their_own(tables):
    harness = store_harness(tables)
    harness.store.write_pages([fetched_with_content(report(NEW))])

    assert "headers" not in harness.content.get(content_key(NEW)).meta
    assert headers_of(harness, NEW) == [["Server", "é"], ["Set-Cookie", "sid="]]


def test_content_keeps_its_response_headers_after_a_304_and_a_failure(harness):
    harness.store.write_pages([fetched_with_content(report(NEW))])
    unchanged = replace(
        report(NEW, NOW_MS + 5, outcome="NotModified", status=304), headers=(("Age", "1"),)
    )
    harness.store.write_pages([page(NEW, NOW_MS + 5, fields={}, report=unchanged)])

    assert harness.store.pages.fetch_report(NEW) == unchanged
    assert headers_of(harness, NEW) == [["Server", "é"], ["Set-Cookie", "sid="]]


def test_response_with_the_same_body_replaces_the_headers(harness):
    harness.store.write_pages([fetched_with_content(report(NEW))])
    again = replace(report(NEW, NOW_MS + 5), headers=(("Server", "2"),))
    harness.store.write_pages([fetched_with_content(again)])

    assert headers_of(harness, NEW) == [["Server", "2"]]
    assert harness.store.content(NEW).meta["fetched_at_ms"] == str(NOW_MS + 5)


def test_content_stored_through_an_alias_has_the_headers_of_that_fetch(harness):
    harness.store.write_pages([fetched_with_content(report(OLD, hops=(HOP,)))])

    assert harness.store.content(NEW).url == NEW
    assert headers_of(harness, OLD) == [["Server", "é"], ["Set-Cookie", "sid="]]


def test_content_keeps_its_headers_when_the_redirecting_url_gets_its_own_page(harness):
    """The page of NEW was archived as a resource, without status and headers."""
    harness.store.write_pages([fetched_with_content(report(OLD, hops=(HOP,)))])
    own = replace(report(OLD, NOW_MS + 5, final_url=OLD), headers=(("Server", "own"),))
    harness.store.write_pages([replace(fetched_with_content(own), canonical_url=OLD)])

    assert harness.store.get(OLD).canonical_url == OLD
    assert headers_of(harness, OLD) == [["Server", "own"]]
    assert headers_of(harness, NEW) == [["Server", "é"], ["Set-Cookie", "sid="]]
    assert harness.store.pages.responses([NEW])[NEW].status == 200


def test_merged_content_keeps_its_headers(harness):
    own = report(OLD, final_url=OLD)
    harness.store.write_pages([replace(fetched_with_content(own), canonical_url=OLD)])
    harness.clock.advance_ms(10)
    harness.store.aliases.merge(OLD, NEW)
    harness.tables["n"].delete(node_id(OLD), [FETCHED], at_ms=NOW_MS)

    assert headers_of(harness, NEW) == [["Server", "é"], ["Set-Cookie", "sid="]]


def test_headers_from_another_urls_response_include_no_redirects(harness):
    harness.store.write_pages([fetched_with_content(report(OLD, hops=(HOP,)))])

    assert harness.store.pages.responses([NEW])[NEW].hops == ()


def test_direct_response_replaces_that_of_another_url(harness):
    harness.store.write_pages([fetched_with_content(report(OLD, hops=(HOP,)))])
    direct = replace(report(NEW, NOW_MS + 5), headers=(("Server", "direct"),))
    harness.store.write_pages([fetched_with_content(direct)])

    assert headers_of(harness, NEW) == [["Server", "direct"]]


def test_content_not_from_a_fetch_has_no_headers(harness):
    harness.store.write_pages([fetched_with_content(report(NEW))])
    harness.store.put_content(NEW, b"other", {"fetched_at_ms": "7"}, at_ms=NOW_MS + 5)

    assert "headers" not in harness.store.content(NEW).meta


def test_headers_stored_with_the_content_are_still_read(harness):
    old = {"status": "200", "fetched_at_ms": str(NOW_MS), "headers": '[["Server","old"]]'}
    stored = report(NEW)
    harness.store.write_pages([
        fetched(stored, content=ContentWrite(compress(b"<html>"), "zstd", 6, old))
    ])  # fmt: skip
    harness.tables["n"].delete(node_id(NEW), [FETCHED], at_ms=NOW_MS)
    harness.tables["n"].put(node_id(NEW), {FETCH: to_cell(stored)}, at_ms=NOW_MS + 1)

    assert headers_of(harness, NEW) == [["Server", "old"]]
    assert harness.store.pages.fetch_report(NEW) == stored
