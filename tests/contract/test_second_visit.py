"""Cases beside those in the table of second visits (tests.support.second_visit)."""

from dataclasses import replace

import pytest

from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.contract.test_canonical_agreement import LIST, P1, P2, fetched, shown, write
from tests.support.stores import NOW_MS, page


def seen(a_page):
    """The page with the data for the refresh schedule; the feed has entries only with it."""
    outcome = a_page.facts.get("outcome", "Fetched")
    at_ms = a_page.fetched_at_ms
    facts = {**a_page.facts, "outcome": outcome}
    return replace(a_page, facts=facts, seen=Seen(outcome=outcome, fetched_at_ms=at_ms))


def fetched_with_schedule(url, at_ms, **parts):
    return seen(fetched(url, at_ms, **parts))


def failed(url, at_ms, outcome, status=None, **parts):
    return seen(page(url, at_ms, facts={"outcome": outcome, "status": status}, **parts))


def gone(url, at_ms):
    return failed(url, at_ms, "Gone", 404, gone=True)


def kinds(harness):
    harness.clock.advance_ms(SETTLE_MS + 1)
    return [change.kind for change in harness.store.feed.changes().items]


def answers(*names):
    """Fetches of a page, one millisecond apart."""
    make = {
        "page": lambda at: fetched_with_schedule(LIST, at),
        "404": lambda at: gone(LIST, at),
        "400": lambda at: failed(LIST, at, "Gone", 400),
        "403": lambda at: failed(LIST, at, "Forbidden", 403),
        "500": lambda at: failed(LIST, at, "Unreachable", 500),
        "304": lambda at: failed(LIST, at, "NotModified", 304),
    }
    return [make[name](NOW_MS + number) for number, name in enumerate(names)]


@pytest.mark.parametrize(
    ("names", "entries"),
    [
        ("page 404 page", ["gone", "back"]),
        ("page 404 304", ["gone", "back"]),
        ("page 404 304 304", ["gone", "back"]),
        ("page 404 500 page", ["gone", "back"]),
        ("page 404 500 404", ["gone"]),
        ("page 403 500 403", ["withheld"]),
        ("page 403 500 304 page", ["withheld", "back"]),
        ("page 403 404 page", ["withheld", "gone", "back"]),
        ("page 404 403 page page", ["gone", "withheld", "back"]),
        ("page 400 page", []),
        ("page 400 404", ["gone"]),
        ("page 500 page", []),
    ],
)
def test_feed_reports_loss_and_return_of_a_page_once(harness, names, entries):
    write(harness, *answers(*names.split()))

    assert kinds(harness) == entries


def test_absence_remains_when_an_earlier_page_arrives_late(harness):
    first, late, absence, passing, last = answers("page", "page", "404", "500", "page")

    write(harness, first, absence, late, passing, last)

    assert kinds(harness) == ["gone", "back"]


@pytest.mark.parametrize("is_stored", [True, False])
def test_page_from_before_its_withdrawal_is_not_stored(harness, is_stored):
    store = harness.store
    withdrawal = failed(LIST, NOW_MS + 6, "Reserved", 200, withdrawn=True)
    if is_stored:
        write(harness, fetched_with_schedule(LIST, NOW_MS))

    write(harness, withdrawal, gone(LIST, NOW_MS + 7), fetched_with_schedule(LIST, NOW_MS + 5))

    record = store.get(LIST)
    assert (record.fields, store.content(LIST)) == ({}, None)
    assert store.links.outlinks(LIST).items == []
    write(harness, fetched_with_schedule(LIST, NOW_MS + 8))
    assert shown(store, LIST) == f"the page of {LIST}"
    assert kinds(harness) == (["withdrawn", "new"] if is_stored else [])


def test_late_withdrawal_leaves_a_newer_page_unchanged(harness):
    write(
        harness,
        fetched_with_schedule(LIST, NOW_MS),
        fetched_with_schedule(LIST, NOW_MS + 8),
        failed(LIST, NOW_MS + 6, "Reserved", 200, withdrawn=True),
    )

    assert shown(harness.store, LIST) == f"the page of {LIST}"


def test_feed_has_an_alias_that_redirects_to_a_joining_page(harness):
    write(
        harness,
        fetched_with_schedule(P1, NOW_MS, same="one text"),
        fetched_with_schedule(LIST, NOW_MS + 1),
        fetched_with_schedule(LIST, NOW_MS + 2, final_url=P2, canonical_url=P1, same="one text"),
    )

    assert harness.store.resolve(LIST) == P1
    assert kinds(harness) == ["redirected"]


@pytest.mark.parametrize("links", [[f"{P1}/link"], []])
def test_links_of_a_moving_page_do_not_replace_newer_ones(harness, links):
    there = replace(fetched(P1, NOW_MS), links=page(P1, links=links).links)
    moves = replace(there, url=LIST, fetched_at_ms=NOW_MS + 2)

    write(harness, there, fetched(LIST, NOW_MS + 1), moves)

    assert harness.store.resolve(LIST) == P1
    assert [link.url for link in harness.store.links.outlinks(P1).items] == links


def test_joining_fetch_keeps_the_response_of_the_stored_page(harness):
    report = fetched_report(LIST, P1, NOW_MS)
    through = replace(fetched(P1, NOW_MS, same="one text"), url=LIST, report=report)
    joins = fetched(LIST, NOW_MS + 1, canonical_url=P1, same="one text")

    write(harness, through, replace(joins, report=fetched_report(LIST, LIST, NOW_MS + 1)))

    assert harness.store.pages.responses([P1])[P1].fetched_at_ms == NOW_MS
    assert harness.store.pages.fetch_report(LIST).fetched_at_ms == NOW_MS + 1


def fetched_report(url, final_url, at_ms):
    return FetchRecord(
        url=url, final_url=final_url, outcome=OutcomeKind.FETCHED, status=200, fetched_at_ms=at_ms
    )
