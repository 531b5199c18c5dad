"""Takedowns reach text that a host sent and that is stored under URLs of other hosts."""

from dataclasses import replace

import pytest

from aragog.errors import TakenDown
from aragog.fetch_record.outcome import FetchRecord
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.import_export import export_urls
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore.records import OutLink
from aragog.urlstore.refresh_policy import Seen
from tests.contract.test_takedown import SECRET, rows_with, secret_page
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, page

LOGIN, START = "http://bank.example/login", "http://bank.example/start"
THIEF, OTHER = "http://thief.example/r", "http://other.example/"
NAMED = "http://named.example/page"
TAKEDOWNS = ({"host": "bank.example"}, {"domain": "bank.example"}, {"url": LOGIN})


def redirected(url=THIEF, at_ms=NOW_MS, **more):
    """A fetch of `url` that was temporarily redirected to the bank, which sent the page."""
    more = {"final_url": LOGIN, "canonical_url": url} | more
    return replace(secret_page(url, at_ms, **more), links=[OutLink(OTHER, SECRET.decode())])


class Listed:
    """A sink that keeps the URLs of an export."""

    def __init__(self):
        self.urls = []

    def write(self, records):
        self.urls += [record.url for record in records]

    def close(self):
        pass


def assert_nothing_is_left(harness, *urls):
    listed = Listed()
    export_urls(harness.store.zen, listed)
    assert rows_with(harness, SECRET) == set()
    assert list(harness.content.keys()) == []
    for url in urls:
        assert harness.store.get(url) is None
        assert harness.store.content(url) is None
        assert url not in listed.urls
        assert url not in harness.store.pages.urls().items


@pytest.mark.parametrize("what", TAKEDOWNS)
def test_takedown_deletes_text_from_a_redirect_stored_under_another_host(harness, what):
    store = harness.store
    for at_ms in (NOW_MS, NOW_MS + 1):
        store.write_pages([redirected(at_ms=at_ms)])
        harness.clock.advance_ms(10)
    harness.compact()

    store.takedowns.take_down(**what)

    assert_nothing_is_left(harness, THIEF)
    assert harness.sources(OTHER) == []
    assert store.takedowns.refused([THIEF]) == set()
    assert store.maintenance.repair().repaired == {}


@pytest.mark.parametrize("what", TAKEDOWNS)
def test_takedown_deletes_text_that_names_a_canonical_url_of_another_host(harness, what):
    harness.store.write_pages(
        [redirected(LOGIN, canonical_url=NAMED, provisional=True), redirected(START)]
    )
    harness.clock.advance_ms(10)

    harness.store.takedowns.take_down(**what)

    assert_nothing_is_left(harness, NAMED, START, LOGIN)


def test_takedown_deletes_text_that_a_merge_moved_to_another_host(harness):
    store = harness.store
    store.write_pages([redirected()])
    harness.clock.advance_ms(10)
    store.aliases.merge(THIEF, NAMED)
    harness.clock.advance_ms(10)
    assert store.get(NAMED).fields["title"].startswith(SECRET)

    store.takedowns.take_down(host="bank.example")

    assert_nothing_is_left(harness, NAMED)


def test_takedown_deletes_text_that_undoing_an_alias_moved_back(harness):
    store = harness.store
    store.write_pages([redirected(canonical_url=NAMED, provisional=True)])
    harness.clock.advance_ms(10)
    store.aliases.undo(THIEF)
    harness.clock.advance_ms(10)
    assert store.get(THIEF).fields["title"].startswith(SECRET)

    store.takedowns.take_down(host="bank.example")

    assert_nothing_is_left(harness, NAMED)
    assert store.content(THIEF) is None


def test_page_that_now_sends_its_own_text_keeps_it(harness):
    store = harness.store
    store.write_pages([redirected()])
    harness.clock.advance_ms(10)
    mine = page(THIEF, NOW_MS + 10, fields={"own": b"mine"}, complete=True, links=[])
    store.write_pages([mine])
    store.put(THIEF, {"team": b"ours"})
    harness.clock.advance_ms(10)

    store.takedowns.take_down(host="bank.example")

    assert rows_with(harness, SECRET) == set()
    assert store.get(THIEF).fields == {"own": b"mine", "team": b"ours"}


@pytest.mark.parametrize("what", TAKEDOWNS)
def test_links_of_a_newer_page_of_another_host_stay(harness, what):
    """The page that THIEF now sent itself kept its fields but lost its links."""
    store = harness.store
    store.write_pages([redirected()])
    harness.clock.advance_ms(10)
    own = [OutLink("http://third.example/", "mine")]
    mine = page(THIEF, NOW_MS + 10, fields={"own": b"mine"}, complete=True)
    store.write_pages([replace(mine, links=own)])
    harness.clock.advance_ms(10)
    harness.compact()

    store.takedowns.take_down(**what)
    harness.compact()

    assert [link.url for link in store.links.outlinks(THIEF).items] == ["http://third.example/"]
    assert harness.sources("http://third.example/") == [THIEF]
    assert harness.sources(OTHER) == []
    assert rows_with(harness, SECRET) == set()


def test_takedown_deletes_the_report_of_a_redirect_through_an_alias(harness):
    """The response's headers are also text from the host."""
    store = harness.store
    store.write_pages([page(NAMED, fields={"own": b"1"})])
    harness.clock.advance_ms(10)
    store.aliases.merge(THIEF, NAMED)
    report = store_report(THIEF, LOGIN)
    store.write_pages([replace(page(THIEF, NOW_MS + 5, final_url=LOGIN), report=report)])
    harness.clock.advance_ms(10)

    store.takedowns.take_down(host="bank.example")

    assert rows_with(harness, b"set by the bank") == set()


def store_report(url, final_url):
    headers = (("x-note", "set by the bank"),)
    return FetchRecord(
        url=url, outcome="Fetched", fetched_at_ms=NOW_MS, final_url=final_url, headers=headers
    )


def test_watches_and_next_fetch_of_the_page_stay(harness):
    store = harness.store
    store.write_pages([redirected()])
    store.schedule.watch(THIEF, "team")
    due_at_ms = NOW_MS + 10**12
    store.schedule.plan(THIEF, due_at_ms)
    harness.clock.advance_ms(10)

    store.takedowns.take_down(host="bank.example")

    assert store.schedule.watchers(THIEF) == ["team"]
    assert [due.url for due in store.schedule.claim_due(due_at_ms, 10, 60.0)] == [THIEF]


def test_refresh_refused_by_a_takedown_deletes_the_stored_page(harness):
    """The page belonged to the site and has moved to a URL that was taken down."""
    store = harness.store
    store.write_pages([secret_page(THIEF)])
    harness.clock.advance_ms(100)
    seen = Seen(outcome="Refused", fetched_at_ms=NOW_MS + 50)

    (written,) = store.write_pages(
        [
            page(
                THIEF, NOW_MS + 50, facts={"outcome": "Refused"}, seen=seen,
                leads_to_taken_down=True,
            )
        ]
    )  # fmt: skip

    assert not written.stale
    assert list(harness.content.keys()) == []
    assert store.content(THIEF) is None
    assert store.get(THIEF).fields == {}
    assert store.get(THIEF).facts["outcome"] == "Refused"
    assert rows_with(harness, SECRET) <= {"f"}


def test_refused_refresh_of_an_alias_leaves_the_page_of_another_url(harness):
    store = harness.store
    store.write_pages([page(NAMED, fields={"own": b"1"})])
    harness.clock.advance_ms(10)
    store.aliases.merge(THIEF, NAMED)

    store.write_pages([page(THIEF, NOW_MS + 50, leads_to_taken_down=True)])

    assert store.get(NAMED).fields == {"own": b"1"}


def test_import_of_text_sent_by_a_taken_down_url_is_refused(harness):
    store = harness.store
    store.takedowns.take_down(url=LOGIN)
    store.takedowns.take_down(host="gone.example")
    writer = BulkWriter(store, store.zen, StoreSettings(), harness.clock)
    problems = {}
    senders = (LOGIN, "http://gone.example/x", OTHER)
    records = [
        UrlRecord(url=f"{THIEF}{at}", fields={"t": SECRET}, facts={"final_url": sender})
        for at, sender in enumerate(senders)
    ]

    assert writer.write(list(enumerate(records, 1)), problems.__setitem__) == 1

    assert sorted(problems) == [1, 2]
    assert LOGIN in problems[1]
    store.takedowns.take_down(host="other.example")
    assert_nothing_is_left(harness, f"{THIEF}2")


def test_late_write_of_text_sent_by_a_taken_down_host_is_refused(harness):
    store = harness.store
    store.write_pages([redirected()])
    harness.clock.advance_ms(10)
    store.takedowns.take_down(host="bank.example")
    harness.clock.advance_ms(10)

    (written,) = store.write_pages([redirected(at_ms=NOW_MS + 15)])

    assert written.stale
    assert_nothing_is_left(harness, THIEF)


def test_reextraction_does_not_restore_text_of_a_taken_down_sender(harness):
    store = harness.store
    store.write_pages([redirected()])
    harness.clock.advance_ms(10)
    store.takedowns.tombstones.add("host", "bank.example", NOW_MS + 10)

    with pytest.raises(TakenDown):
        store.fields.replace(THIEF, {"title": SECRET}, {}, at_ms=NOW_MS)


def write_stolen(harness):
    harness.store.write_pages([redirected(), redirected(START), redirected(LOGIN)])
    harness.clock.advance_ms(10)
    harness.compact()


@pytest.mark.parametrize("what", TAKEDOWNS)
def test_takedown_killed_at_any_write_finds_sent_text_when_repeated(what):
    def take_down(harness):
        harness.clock.advance_ms(10)
        harness.store.takedowns.take_down(**what)

    expected = rows_with(unharmed(write_stolen, take_down), THIEF.encode())
    points = 0
    for point, harness in every_kill_point(write_stolen, step=take_down):
        points += 1
        take_down(harness)
        assert rows_with(harness, SECRET) == set(), f"killed before write {point}"
        assert rows_with(harness, THIEF.encode()) == expected, f"killed before write {point}"
        assert list(harness.content.keys()) == [], f"killed before write {point}"
    assert points > 3


def with_alias(store):
    store.write_pages([page(LOGIN, fields={"own": b"1"}, canonical_url=LOGIN)])
    store.aliases.merge(THIEF, LOGIN)
    store.aliases.merge(START, LOGIN)


def test_takedown_of_an_alias_on_another_host_leaves_its_target(harness):
    store = harness.store
    with_alias(store)
    harness.clock.advance_ms(10)

    assert store.takedowns.take_down(url=THIEF) == 1

    assert store.takedowns.refused([THIEF, LOGIN, START]) == {THIEF}
    assert store.get(LOGIN).fields == {"own": b"1"}
    assert store.aliases.of(LOGIN) == [START]
    assert store.get(THIEF) is None
    assert store.get_many([THIEF, START])[0] is None
    assert store.pages.values([THIEF], ("own",)) == [None]
    with pytest.raises(TakenDown):
        store.put(THIEF, {"own": b"2"})


def test_takedown_of_an_alias_on_the_same_host_takes_its_page_down(harness):
    store = harness.store
    with_alias(store)
    harness.clock.advance_ms(10)

    assert store.takedowns.pages_of(START) == (START, LOGIN)
    assert store.takedowns.take_down(url=START) == 3

    assert store.takedowns.refused([THIEF, LOGIN, START]) == {THIEF, LOGIN, START}


def test_lifting_an_alias_on_another_host_leaves_its_target_refused(harness):
    store = harness.store
    with_alias(store)
    harness.clock.advance_ms(10)
    store.takedowns.take_down(url=LOGIN)
    harness.clock.advance_ms(10)

    store.takedowns.lift(THIEF)

    assert store.takedowns.refused([THIEF, LOGIN, START]) == {LOGIN, START}


def test_removing_a_taken_down_page_does_not_lift_the_takedown(harness):
    store = harness.store
    store.write_pages([page(LOGIN, fields={"own": b"1"})])
    harness.clock.advance_ms(10)
    store.takedowns.take_down(url=LOGIN)
    harness.clock.advance_ms(10)

    store.remove(LOGIN)

    assert store.takedowns.refused([LOGIN]) == {LOGIN}


def test_senders_are_not_listed_as_hosts_with_pages(harness):
    harness.store.write_pages([redirected()])

    assert harness.store.pages.urls_of_host("bank.example").items == []
    assert harness.store.pages.hosts().first() == "example.thief"
    assert harness.store.pages.hosts("example.thief!").first() is None
