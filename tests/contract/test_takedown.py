"""Takedowns on every engine: the site is refused from then on, and all of its data is deleted."""

import threading
from dataclasses import replace

import pytest

from aragog.errors import BadInput, TakenDown
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore import zstd
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.records import OutLink
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.store import UrlStore
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, body, page, store_harness
from tests.support.waiting import WITHIN_S
from zengraph.links import ListLimits
from zengraph.links._claims import LOCK_MS, ClaimCell
from zengraph.tables import TABLES

GONE, NEW = "http://gone.example/", "http://gone.example/new"
SUB, OTHER, THIRD = "http://www.gone.example/", "http://other.example/", "http://third.example/"
SECRET = b"a very private sentence"


def secret_page(url, at_ms=NOW_MS, **more):
    more = {"links": [THIRD], "due_at_ms": NOW_MS + 5} | more
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="article")
    fields = {"title": SECRET + b" of %d" % at_ms}
    return page(url, at_ms, seen=seen, fields=fields, content=body(SECRET.decode()), **more)


def rows_with(store_harness, text):
    """Tables with a row that contains `text`."""
    return {
        name
        for name in TABLES
        for _, row in store_harness.tables[name].scan(b"", None)
        if any(text in readable(cell.value) for cell in row.values())
    }


def readable(value):
    """A cell's value, followed by the content of its compressed parts."""
    parts = value.split(zstd.MAGIC)[1:]
    return b" ".join([value, *(zstd.decompress(zstd.MAGIC + part) for part in parts)])


def linking(*targets):
    """Links whose text is the secret."""
    return [OutLink(target, SECRET.decode()) for target in targets]


@pytest.mark.parametrize("site", [{"host": "gone.example"}, {"domain": "gone.example"}])
def test_every_write_refuses_new_urls_of_a_taken_down_site(harness, site):
    store = harness.store
    store.takedowns.take_down(**site)
    harness.clock.advance_ms(5)

    (written,) = store.write_pages([secret_page(NEW, NOW_MS + 9)])

    assert written.stale
    assert store.get(NEW) is None
    assert store.takedowns.refused([NEW, OTHER]) == {NEW}
    for write in (
        lambda: store.put(NEW, {"f": b"1"}),
        lambda: store.put_content(NEW, b"1"),
        lambda: store.links.add(NEW, [OutLink(OTHER, "x")]),
        lambda: store.aliases.merge(NEW, OTHER),
        lambda: store.aliases.merge(OTHER, NEW),
        lambda: store.schedule.plan(NEW, NOW_MS),
        lambda: store.schedule.watch(NEW, "somebody"),
    ):
        with pytest.raises(TakenDown):
            write()
    assert list(harness.content.keys()) == []
    assert rows_with(harness, b"/new") == set()


def test_domain_takedown_covers_its_hosts_and_host_takedown_does_not(harness):
    store = harness.store
    store.takedowns.take_down(host="gone.example")
    assert store.takedowns.refused([GONE, SUB, "http://xgone.example/"]) == {GONE}

    store.takedowns.take_down(domain="gone.example")
    assert store.takedowns.refused([GONE, SUB, "http://xgone.example/"]) == {GONE, SUB}
    assert store.takedowns.sites() == [("domain", "gone.example"), ("host", "gone.example")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GONE.example.", "gone.example"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_host_is_normalized(harness, name, expected):
    harness.store.takedowns.take_down(host=name)

    assert harness.store.takedowns.sites() == [("host", expected)]


@pytest.mark.parametrize(
    "name",
    ["http://gone.example/", "gone.example:8080", "gone.example/x", "a@gone.example", "", "a b"],
)
def test_invalid_host_is_refused_and_takes_nothing_down(harness, name):
    with pytest.raises(BadInput):
        harness.store.takedowns.take_down(host=name)

    assert harness.store.takedowns.sites() == []


def test_takedown_leaves_nothing_of_a_page_in_any_table(harness):
    store = harness.store
    for at_ms in (NOW_MS, NOW_MS + 10, NOW_MS + 20):
        store.write_pages([secret_page(GONE, at_ms, links=[THIRD, OTHER])])
        harness.clock.advance_ms(10)
    harness.compact()
    store.write_pages([secret_page(GONE, NOW_MS + 30, links=[THIRD, OTHER])])
    store.write_pages([page(THIRD, NOW_MS + 30, links=[OTHER])])
    store.schedule.watch(GONE, "the owner")
    harness.clock.advance_ms(10)
    assert rows_with(harness, SECRET) >= {"n", "f"}

    assert store.takedowns.take_down(host="gone.example") == 1

    assert rows_with(harness, SECRET) == set()
    assert rows_with(harness, b"the owner") == set()
    # Only the stub that refuses the URL still names it, with the tombstone.
    assert rows_with(harness, GONE.encode()) == {"n"}
    assert list(harness.content.keys()) == []
    assert harness.sources(THIRD) == []
    harness.compact()
    assert harness.sources(OTHER) == [THIRD]
    assert store.links.count_inlinks(OTHER) == 1


def test_takedown_removes_links_that_the_page_had_before_its_last_fetch(harness):
    """Both short and long lists keep removed links until they are merged."""
    store, clock = harness.store, harness.clock
    fans = [f"http://fan.example/{number:03d}" for number in range(2 * ListLimits().inline_lines)]
    store.write_pages([page(url, NOW_MS, links=[THIRD]) for url in fans])
    harness.compact()
    linked = replace(secret_page(GONE, NOW_MS + 1), links=linking(THIRD, OTHER))
    store.write_pages([linked])
    clock.advance_ms(10)
    harness.compact()
    store.write_pages([secret_page(GONE, NOW_MS + 2, links=[])])
    clock.advance_ms(10)
    harness.compact()

    store.takedowns.take_down(url=GONE)

    assert rows_with(harness, SECRET) == set()
    assert rows_with(harness, GONE.encode()) == {"n"}
    assert store.takedowns.listed() == [("url", GONE)]
    assert store.links.count_inlinks(THIRD) == len(fans)
    assert store.links.count_inlinks(OTHER) == 0
    assert store.maintenance.repair().repaired == {}


def test_takedown_waits_for_a_running_compaction(harness):
    store = harness.store
    store.write_pages([replace(secret_page(GONE), links=linking(THIRD))])
    harness.compact()
    # A compaction was killed. Its lock expires in a second, after twenty checks.
    assert ClaimCell(harness.tables["j"], harness.clock, 4).begin_alone()
    harness.clock.advance_ms(LOCK_MS - 1000)

    store.takedowns.take_down(url=GONE)

    assert rows_with(harness, SECRET) == set()
    assert harness.sources(THIRD) == []


PAGE, ALIAS = "http://gone.example/page", "http://gone.example/alias"
MIRROR = "http://mirror.example/"


def write_site(harness):
    """Two pages of a site with two aliases; long lists still hold a link that they once had."""
    fans = [f"http://fan.example/{number}" for number in range(4)]
    harness.store.write_pages([page(url, links=[THIRD]) for url in fans])
    for at_ms, links in ((NOW_MS, linking(THIRD, OTHER)), (NOW_MS + 1, linking(OTHER))):
        pages = [replace(secret_page(url, at_ms), links=links) for url in (GONE, PAGE)]
        aliases = [
            secret_page(url, at_ms, canonical_url=GONE, provisional=True) for url in (ALIAS, MIRROR)
        ]
        harness.store.write_pages([*pages, *aliases])
        harness.clock.advance_ms(10)
        harness.compact()
    harness.store.schedule.watch(PAGE, "the owner")


@pytest.mark.parametrize("what", [{"url": GONE}, {"host": "gone.example"}])
def test_takedown_killed_at_any_write_is_completed_by_the_next(what):
    def take_down(harness):
        harness.clock.advance_ms(10)
        harness.store.takedowns.take_down(**what)

    urls = [GONE, ALIAS, MIRROR] if "url" in what else [GONE, ALIAS, MIRROR, PAGE]
    unharmed_one = unharmed(write_site, take_down)
    expected = {url: rows_with(unharmed_one, url.encode()) for url in urls}
    points = 0
    for point, harness in every_kill_point(write_site, step=take_down):
        points += 1
        take_down(harness)
        left = {url: rows_with(harness, url.encode()) for url in urls}
        assert left == expected, f"killed before write {point}"
        assert len(list(harness.content.keys())) == 4 - len(urls), f"killed before write {point}"
        if "host" in what:
            assert rows_with(harness, SECRET) == set(), f"killed before write {point}"
    assert points > 3


class SlowContent(MemoryContent):
    """When `slow`, a put waits for the first delete, which waits until the writer has finished."""

    def __init__(self):
        super().__init__()
        self.slow = False
        self.began, self.released, self.ended = (threading.Event() for _ in range(3))

    def put_many(self, puts):
        if self.slow:
            self.began.set()
            assert self.released.wait(WITHIN_S)
        super().put_many(puts)

    def delete(self, key):
        super().delete(key)
        if not self.released.is_set():
            self.released.set()
            assert self.ended.wait(WITHIN_S)


def test_page_written_during_its_takedown_does_not_stay(tables):
    content = SlowContent()
    harness = replace(store_harness(tables), content=content)
    store = harness.store = UrlStore(tables, content, StoreSettings(), harness.clock)
    store.write_pages([secret_page(GONE)])
    content.slow = True

    def write():
        store.write_pages([secret_page(GONE, NOW_MS + 5)])
        content.ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert content.began.wait(WITHIN_S)
    harness.clock.advance_ms(10)
    store.takedowns.take_down(url=GONE)
    writer.join(WITHIN_S)

    assert rows_with(harness, SECRET) == set()
    assert list(content.keys()) == []


def test_feed_cursors_stay_valid_after_a_takedown(harness):
    store = harness.store
    for at_ms in (NOW_MS, NOW_MS + 10):
        store.write_pages([secret_page(url, at_ms) for url in (GONE, OTHER, THIRD)])
        harness.clock.advance_ms(10)
    harness.clock.advance_ms(10_000)
    before = store.feed.changes(limit=1)

    store.takedowns.take_down(host="gone.example")

    assert {c.url for c in store.feed.changes().items} == {OTHER, THIRD}
    behind = {c.url for c in store.feed.changes(before.cursor).items}
    assert behind == {OTHER, THIRD} - {c.url for c in before.items}


def test_page_that_leads_to_a_taken_down_url_stores_nothing_of_it(harness):
    store = harness.store
    store.takedowns.take_down(url=GONE)
    harness.clock.advance_ms(5)

    written = store.write_pages(
        [
            secret_page(OTHER, NOW_MS + 9, final_url=GONE),
            secret_page(THIRD, NOW_MS + 9, canonical_url=GONE),
        ]
    )

    assert all(each.stale for each in written)
    assert rows_with(harness, SECRET) == set()
    assert list(harness.content.keys()) == []


def test_links_to_a_taken_down_host_are_not_stored(harness):
    harness.store.takedowns.take_down(host="gone.example")

    harness.store.write_pages([page(OTHER, NOW_MS + 9, links=[NEW, THIRD])])
    harness.store.links.add(OTHER, [OutLink(GONE, "x")])

    assert [link.url for link in harness.store.links.outlinks(OTHER).items] == [THIRD]


def test_import_reports_records_of_a_taken_down_host_by_number(harness):
    store = harness.store
    store.takedowns.take_down(host="gone.example")
    writer = BulkWriter(store, store.zen, StoreSettings(), harness.clock)
    problems = {}

    records = [
        UrlRecord(url=NEW, fields={"t": b"1"}),
        UrlRecord(url=OTHER, fields={"t": b"1"}),
        UrlRecord(url=THIRD, canonical_url=GONE),
    ]
    count = writer.write(list(enumerate(records, 1)), problems.__setitem__)

    assert count == 1
    assert sorted(problems) == [1, 3]
    assert store.get(OTHER) is not None


def test_write_overtaken_by_a_takedown_leaves_nothing(harness, request):
    """The takedown comes while the content is written, after the writer checked."""
    store, content = harness.store, harness.content
    put_many = content.put_many

    def overtaken(puts):
        content.put_many = put_many
        harness.store.takedowns.take_down(host="gone.example")
        put_many(puts)

    content.put_many = overtaken
    store.write_pages([secret_page(GONE)])

    assert rows_with(harness, SECRET) == set()
    assert list(content.keys()) == []
    assert store.get(GONE) is None


def test_site_takedown_can_be_lifted(harness):
    store = harness.store
    store.takedowns.take_down(host="gone.example")
    harness.clock.advance_ms(5)

    assert store.takedowns.lift(host="gone.example")
    assert not store.takedowns.lift(host="gone.example")
    harness.clock.advance_ms(5)
    store.put(NEW, {"f": b"1"})

    assert store.get(NEW).fields == {"f": b"1"}
    assert store.takedowns.sites() == []


def test_lifted_alias_is_listed_by_its_page_and_host_again(harness):
    store, alias, canonical = harness.store, "https://old.example/a", "https://new.example/b"
    store.write_pages([page(alias, final_url=canonical, canonical_url=canonical, links=[])])
    store.takedowns.take_down(url=alias)
    assert store.aliases.of(canonical) == []
    harness.clock.advance_ms(5)

    assert store.takedowns.lift(alias)

    assert store.resolve(alias) == canonical
    assert store.aliases.of(canonical) == [alias]
    assert list(Hosts(store.zen).of_host("old.example")) == [alias]
    harness.clock.advance_ms(3_600_000)
    assert store.maintenance.repair(grace_s=0.001).repaired == {}
