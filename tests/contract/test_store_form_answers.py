"""Odd URLs in stores of each format: the same answers, and the same after a copy."""

import random
from contextlib import suppress

from aragog.errors import InvalidUrl, TakenDown
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.transfer.copy import copy_tables
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, SAME, body, page, store_harness
from urlspelling import normalize
from urlspelling.domain import host
from zengraph.links import Naming
from zengraph.tables import FORMAT, PARTS, TOGETHER
from zengraph.tables.memory import MemoryTables

SETTINGS = StoreSettings(indexed=("color",))
HOSTS = ("a.example", "a.example:8080", "me:pw@a.example", "sub.a.example", "münchen.example",
         "[::1]:99", "127.0.0.1")  # fmt: skip
PARTS_OF_PATHS = ("", "/", "//", "/" * 1000, "x", "index.html", "%2F", "%00", "%ff", "é", "日本",
                  "a b", ".", "..", "=", "?", "x" * 1500, "A", "0", "%3D", "%zz")  # fmt: skip
QUERIES = ("", "", "?", "?=", "?a=", "?a=1", "?a=1&b=2", "?a==", "?a=1=2", "?/a=/b", "?é=ü",
           "?novalue", "?a=/x/", "?" + "k=v&" * 50)  # fmt: skip
STEPS = 60


def odd_urls(count):
    """Different normalized URLs."""
    rng, found = random.Random(count), {}
    while len(found) < count:
        path = "".join("/" + rng.choice(PARTS_OF_PATHS) for _ in range(rng.randrange(4)))
        with suppress(InvalidUrl):
            scheme = rng.choice(["http://", "https://"])
            found[normalize(scheme + rng.choice(HOSTS) + path + rng.choice(QUERIES))] = None
    return list(found)


def a_page(url, urls, now_ms, rng):
    text = f"text {rng.randrange(5)}"
    final = rng.choice([url, url, rng.choice(urls)])
    return page(
        url, now_ms, final_url=final, canonical_url=rng.choice([final, final, rng.choice(urls)]),
        links=rng.sample(urls, rng.randrange(9)), fields={"title": text.encode()},
        content=body(text), likeness=rng.choice([None, SAME]),
        due_at_ms=rng.choice([None, now_ms + 9]), provisional=rng.random() < 0.3,
    )  # fmt: skip


def change(store, clock, urls, rng):
    """Make one change that depends on `rng` only."""
    url, now_ms, number = rng.choice(urls), clock.now_ms(), rng.random()
    if number < 0.6:
        store.write_pages([a_page(one, urls, now_ms, rng) for one in rng.sample(urls, 6)])
    elif number < 0.7:
        store.put(url, {"color": b"red"})
    elif number < 0.8:
        store.schedule.plan(url, rng.choice([None, now_ms + 9]))
    elif number < 0.9:
        store.schedule.watch(url, "team")
    elif number < 0.95:
        store.remove(url)
    else:
        store.takedowns.take_down(url=url)


def changed_store(tables, urls):
    harness, rng = store_harness(tables, SETTINGS), random.Random(7)
    for _ in range(STEPS):
        harness.clock.advance_ms(1000)
        with suppress(TakenDown):
            change(harness.store, harness.clock, urls, rng)
    harness.clock.advance_ms(1000)
    harness.store.takedowns.take_down(host="127.0.0.1")
    harness.compact()
    return harness


def record_of(store, url):
    found = store.get(url)
    return found and (found.canonical_url, dict(found.fields), dict(found.facts))


def answers(harness, urls):
    store = harness.store
    listed = Hosts(store.zen)
    return {
        "records": {url: record_of(store, url) for url in urls},
        "bodies": {url: (content := store.content(url)) and content.body for url in urls},
        "outlinks": {
            url: [link.url for link in store.links.outlinks(url).items] for url in urls
        },
        "inlinks": {url: sorted(harness.sources(url)) for url in urls},
        "aliases": {url: sorted(store.aliases.of(url)) for url in urls},
        "watchers": {url: store.schedule.watchers(url) for url in urls},
        "sent": {url: sorted(page.url for page in listed.sent_by_url(url)) for url in urls},
        "hosts": {name: sorted(listed.page(name, None, 500).items) for name in map(host, urls)},
        "red": len(store.zen.lookup("color", b"red")[0]),
        "refused": sorted(store.takedowns.refused(urls)),
        "due": sorted(d.url for d in store.schedule.claim_due(NOW_MS + 10**9, 500, lease_s=60)),
    }  # fmt: skip


def test_odd_urls_get_the_same_answers_in_each_format_and_after_a_copy(tables):
    urls = odd_urls(60)
    old = changed_store(MemoryTables(ManualClock(), form=TOGETHER, masking=True), urls)
    target = MemoryTables(ManualClock(), masking=True)
    copy_tables(old.tables, target)
    copied = store_harness(target, SETTINGS)
    copied.store = UrlStore(target, old.content, SETTINGS, old.clock)

    new = answers(changed_store(tables, urls), urls)

    before, after = answers(old, urls), answers(copied, urls)
    assert tables.format() == PARTS
    assert sum(record is not None for record in before["records"].values()) > 20
    for name in before:
        assert new[name] == before[name], name
        assert after[name] == before[name], name


def test_odd_urls_have_ids_of_their_own_next_to_those_of_their_host():
    urls = odd_urls(3000)

    for form in range(1, FORMAT + 1):
        naming = UrlNaming(lambda form=form: form)
        ids = {url: naming.node_id(url) for url in urls}
        assert len(set(ids.values())) == len(urls)
        assert {len(one) for one in ids.values()} == {16}
        assert all(naming.id_of(url.encode()) == one for url, one in ids.items())
    for url, one in ids.items():
        group = naming.group_hash(url.encode())
        assert (one[0] & 0xF0, one[1:4]) == (group[0] & 0xF0, group[1:4])
    texts = {url.encode(): b"" for url in urls}
    assert naming.by_group(texts) == Naming.by_group(naming, texts)
