"""Fetch reports on every engine: each URL has that of its own last fetch, aliases too."""

from aragog.fetcher.outcome import FetchRecord, Hop
from tests.support.stores import NOW_MS, page

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


def test_an_alias_has_the_report_of_its_own_fetch(a_stand):
    through_old = report(OLD, hops=(HOP,), total_ms=40.5, address="192.0.2.1", tls="TLSv1.3")
    itself = report(NEW, NOW_MS + 5, total_ms=7.0)
    a_stand.store.write_pages([fetched(through_old), fetched(itself)])

    assert a_stand.store.get(OLD).canonical_url == NEW
    assert a_stand.store.pages.fetch_report(OLD) == through_old
    assert a_stand.store.pages.fetch_report("HTTP://A.example:80/new") == itself


def test_an_alias_that_fails_later_has_the_report_of_its_failure(a_stand):
    a_stand.store.write_pages([fetched(report(OLD, hops=(HOP,)))])
    failed = report(
        OLD, NOW_MS + 5, outcome="Unreachable", status=None, final_url=OLD, reason="timeout"
    )
    a_stand.store.write_pages([page(OLD, NOW_MS + 5, fields={}, report=failed)])

    assert a_stand.store.pages.fetch_report(OLD) == failed
    assert a_stand.store.get(OLD).canonical_url == NEW


def test_a_late_write_does_not_replace_a_newer_report(a_stand):
    newer, older = report(NEW, NOW_MS + 5), report(NEW, NOW_MS)
    a_stand.store.write_pages([fetched(newer)])
    a_stand.store.write_pages([fetched(older)])

    assert a_stand.store.pages.fetch_report(NEW) == newer


def test_a_url_that_was_never_requested_has_the_report_of_the_fetch_that_brought_its_page(a_stand):
    through_old = report(OLD, hops=(HOP,))
    a_stand.store.write_pages([fetched(through_old, also=(NAMED,))])

    assert a_stand.store.pages.fetch_report(NEW) == through_old
    assert a_stand.store.pages.fetch_report(NAMED) == through_old
    assert a_stand.store.pages.fetch_report("http://unknown.example/") is None


def test_a_removed_page_has_no_report(a_stand):
    a_stand.store.write_pages([fetched(report(NEW))])
    a_stand.clock.advance_ms(10)

    a_stand.store.remove(NEW)

    assert a_stand.store.pages.fetch_report(NEW) is None
