"""
Items on every engine: listing, lookup by key, items on several pages, deletion with their pages,
and the feed.
"""

import orjson
import pytest

from aragog.errors import BadInput
from aragog.pages.items import PageItems
from aragog.settings import StoreSettings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.items import ItemIndex
from aragog.urlstore.refresh_policy import Seen
from richpins.items import Item
from tests.support.stores import NOW_MS, body, node_id, page, store_harness

SITE, OTHER = "shop.example", "www.shop.example"
LAMPS, DESKS, PRODUCT = (f"http://{SITE}/{path}" for path in ("c/lamps", "c/desks", "p/1"))


def cards(*items, link="", parents=None, site=SITE):
    """A page's items field; each item is (key, price), or values without a key."""
    found = [
        Item({"sku": each[0], "price": each[1]}, each[0]) if isinstance(each, tuple) else Item(each)
        for each in items
    ]
    return orjson.dumps(PageItems(site, tuple(found), link=link, parents=parents or {}).stored())


def fetched(url, at_ms=NOW_MS, kind="cards", stored=None, **more):
    fields = {} if stored is None else {f"items.{kind}": stored}
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms)
    return page(
        url, at_ms, fields=fields, provenance=dict.fromkeys(fields, "extractor items"),
        complete=True, seen=seen, content=body(f"{url} {at_ms}"),
        facts={"status": 200, "outcome": "Fetched", "url": url}, **more,
    )  # fmt: skip


def listed(harness, kind="cards", site=SITE, limit=100, **more):
    """(key, price) of all items, read in parts."""
    found, cursor = [], None
    while True:
        part = harness.store.items.page(kind, site, limit=limit, cursor=cursor, **more)
        found += [(each.key, each.values.get("price")) for each in part.items]
        cursor = part.cursor
        if cursor is None:
            return sorted(found)


def news(harness, cursor=None):
    harness.clock.advance_ms(SETTLE_MS + 1000)
    return {
        name: values
        for change in harness.store.feed.changes(cursor).items
        for name, values in change.fields.items()
    }


def records(harness, kind="cards", site=SITE):
    """The number of records in the index."""
    return len(list(ItemIndex(harness.store.zen).of_kind(site, kind)))


def test_twenty_items_of_a_page_are_listed_once_each_in_parts(harness):
    some = [(f"L-{n}", str(n)) for n in range(20)]
    harness.store.write_pages([fetched(LAMPS, stored=cards(*some))])

    assert listed(harness, limit=3) == sorted(some)
    assert listed(harness, kind="other") == []
    assert listed(harness, site="other.example") == []
    first = harness.store.items.get("cards", SITE, "L-3")
    assert (first.values, first.page_url, first.fetched_at_ms, first.site) == (
        {"sku": "L-3", "price": "3"}, LAMPS, NOW_MS, SITE,
    )  # fmt: skip


def test_item_on_two_pages_is_listed_once_with_the_later_values(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5"), ("2", "6")))])
    harness.store.write_pages([fetched(DESKS, NOW_MS + 1, stored=cards(("2", "7"), ("3", "8")))])

    assert listed(harness, limit=1) == [("1", "5"), ("2", "7"), ("3", "8")]
    assert harness.store.items.get("cards", SITE, "2").page_url == DESKS


def test_items_without_a_key_belong_to_their_page(harness):
    harness.store.write_pages(
        [
            fetched(LAMPS, stored=cards({"price": "5"}, {"price": "5"})),
            fetched(DESKS, stored=cards({"price": "5"})),
        ]
    )

    assert listed(harness, limit=1) == [("", "5")] * 3


def test_page_written_twice_has_its_items_once(harness):
    for _ in range(2):
        harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5"), ("2", "6")))])

    assert listed(harness) == [("1", "5"), ("2", "6")]
    assert records(harness) == 2


def test_item_removed_from_its_page_is_deleted(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5"), ("2", "6")))])
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1, stored=cards(("2", "6")))])
    assert (listed(harness), records(harness)) == ([("2", "6")], 1)

    harness.store.write_pages([fetched(LAMPS, NOW_MS + 2)])
    assert (listed(harness), records(harness)) == ([], 0)


def test_item_stays_while_another_page_has_it(harness):
    harness.store.write_pages([fetched(url, stored=cards(("1", "5"))) for url in (LAMPS, DESKS)])
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1)])

    assert listed(harness) == [("1", "5")]
    assert news(harness) == {}


@pytest.mark.parametrize("which", [{"url": LAMPS}, {"host": SITE}, {"domain": SITE}])
def test_takedown_deletes_the_items_of_its_pages(harness, which):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5")))])
    harness.store.takedowns.take_down(**which)

    assert listed(harness) == []
    assert harness.store.items.get("cards", SITE, "1") is None
    assert harness.store.items.history("cards", SITE, "1") == []
    assert records(harness) == 0


def test_taking_down_a_page_leaves_its_item_to_the_other_page(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5")))])
    harness.store.write_pages([fetched(DESKS, NOW_MS + 1, stored=cards(("1", "7")))])
    harness.store.takedowns.take_down(url=DESKS)

    assert listed(harness) == [("1", "5")]


def test_withdrawn_page_loses_its_items(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5")))])
    harness.store.write_pages(
        [page(LAMPS, NOW_MS + 1, withdrawn=True, facts={"outcome": "Reserved"})]
    )

    assert (listed(harness), records(harness)) == ([], 0)


def test_page_that_refuses_a_purpose_gives_its_items_only_for_others(harness):
    refusing = fetched(LAMPS, stored=cards(("1", "5")))
    refusing.facts["page_preferences"] = "ai-train=n (test)"
    harness.store.write_pages([refusing])

    assert listed(harness, purpose="ai-train") == []
    assert listed(harness, purpose="search") == [("1", "5")]


def test_price_change_is_in_the_feed_under_its_item(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("L-1", "5"), ("L-2", "6")))])
    harness.store.write_pages(
        [fetched(LAMPS, NOW_MS + 1, stored=cards(("L-1", "4"), ("L-2", "6")))]
    )

    assert news(harness) == {'items.cards["L-1"].price': ('"5"', '"4"')}


def test_new_and_removed_items_are_in_the_feed(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5")))])
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1, stored=cards(("2", "6")))])

    assert news(harness) == {
        'items.cards["1"]': ('{"sku":"1","price":"5"}', None),
        'items.cards["2"]': (None, '{"sku":"2","price":"6"}'),
    }


def test_price_change_on_two_pages_is_one_feed_entry(harness):
    harness.store.write_pages([fetched(url, stored=cards(("1", "5"))) for url in (LAMPS, DESKS)])
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1, stored=cards(("1", "4")))])
    harness.clock.advance_ms(SETTLE_MS + 1000)
    cursor = harness.store.feed.end()
    assert len(harness.store.feed.changes(None).items) == 1

    harness.store.write_pages([fetched(DESKS, NOW_MS + 2, stored=cards(("1", "4")))])

    assert news(harness, cursor) == {}


def test_change_in_dropped_values_only_is_not_in_the_feed(harness):
    before = PageItems(SITE, (Item({"sku": "1"}, "1"),), {"price: nothing found": 1})
    after = PageItems(SITE, (Item({"sku": "1"}, "1"),), {"price: nothing found": 2})
    for at_ms, items in enumerate((before, after)):
        stored = orjson.dumps(items.stored())
        harness.store.write_pages([fetched(LAMPS, NOW_MS + at_ms, stored=stored)])

    assert news(harness) == {}


def test_item_history_has_the_changes_on_all_its_pages(tables):
    harness = store_harness(tables, StoreSettings(history=("items.cards",)))
    steps = [(LAMPS, "5"), (DESKS, "5"), (LAMPS, "4"), (DESKS, "4"), (LAMPS, None), (LAMPS, "3")]
    for at_ms, (url, price) in enumerate(steps):
        items = [("1", price)] * (price is not None) + [("2", str(at_ms))]
        harness.store.write_pages([fetched(url, NOW_MS + at_ms, stored=cards(*items))])

    versions = harness.store.items.history("cards", SITE, "1")

    prices = [(v.at_ms - NOW_MS, v.values and v.values["price"]) for v in versions]
    assert prices == [(5, "3"), (2, "4"), (0, "5")]
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 6), fetched(DESKS, NOW_MS + 7)])
    assert harness.store.items.history("cards", SITE, "1") == []


def test_item_gets_its_parents_value_in_either_order(harness):
    product = cards(("1", "5"), parents={"category": ("lists", "category")})
    lists = cards({"url": PRODUCT, "category": "Lamps"}, {"url": LAMPS}, link="url")
    harness.store.write_pages([fetched(PRODUCT, stored=product)])
    assert harness.store.items.get("cards", SITE, "1").values["category"] is None

    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1, kind="lists", stored=lists)])
    assert harness.store.items.get("cards", SITE, "1").values == {
        "sku": "1", "price": "5", "category": "Lamps",
    }  # fmt: skip

    harness.store.takedowns.take_down(url=LAMPS)
    assert harness.store.items.get("cards", SITE, "1").values["category"] is None


def test_parents_value_is_found_through_a_redirect(harness):
    link, final = f"{PRODUCT}?from=list", PRODUCT
    product = cards(("1", "5"), parents={"category": ("lists", "category")})
    lists = cards({"url": link, "category": "Lamps"}, link="url")
    harness.store.write_pages([fetched(LAMPS, kind="lists", stored=lists)])
    harness.store.write_pages([fetched(link, NOW_MS + 1, stored=product, final_url=final)])

    found = harness.store.items.get("cards", SITE, "1")

    assert (found.page_url, found.values["category"]) == (final, "Lamps")


def test_items_move_with_their_page_to_its_canonical_url(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5")))])
    harness.store.aliases.merge(LAMPS, DESKS)

    assert listed(harness) == [("1", "5")]
    assert harness.store.items.get("cards", SITE, "1").page_url == DESKS
    harness.store.takedowns.take_down(url=DESKS)
    assert (listed(harness), records(harness)) == ([], 0)


def test_items_can_be_listed_for_one_host_of_the_site(harness):
    harness.store.write_pages(
        [
            fetched(f"http://{OTHER}/c/1", stored=cards(("1", "5"))),
            fetched(LAMPS, stored=cards(("2", "6"))),
        ]
    )

    assert listed(harness) == [("1", "5"), ("2", "6")]
    assert listed(harness, site=OTHER) == [("1", "5")]


def test_reextracted_fields_replace_the_items(harness):
    harness.store.write_pages([fetched(LAMPS, stored=cards(("1", "5"), ("2", "6")))])
    again = {"items.cards": cards(("2", "6"), ("3", "7"))}
    harness.store.fields.replace(LAMPS, again, {}, at_ms=NOW_MS)

    assert listed(harness) == [("2", "6"), ("3", "7")]
    assert records(harness) == 2
    harness.store.fields.replace(LAMPS, {}, {}, at_ms=NOW_MS)
    assert (listed(harness), records(harness)) == ([], 0)


def test_repair_adds_items_missing_from_the_index(harness):
    harness.store.write_pages([fetched(LAMPS)])
    cells = {b"m:items.cards": cards(("1", "5"))}
    harness.store.zen.nodes.put(node_id(LAMPS), cells, at_ms=NOW_MS)
    assert listed(harness) == []

    report = harness.store.maintenance.repair(grace_s=0)

    assert report.repaired["entry of an item missing"] == 1
    assert listed(harness) == [("1", "5")]


@pytest.mark.parametrize("cursor", ["x", "0", "9.00", "0.zz", "0." + b"\0item".hex(), "-1.00"])
def test_invalid_cursor_is_refused(harness, cursor):
    with pytest.raises(BadInput, match="is not a valid cursor"):
        harness.store.items.page("cards", SITE, cursor=cursor)


def test_items_are_found_by_key_on_a_hosts_pages_that_are_not_withheld(harness):
    elsewhere = f"http://{OTHER}/c/lamps"
    harness.store.write_pages([fetched(elsewhere, stored=cards(("1", "4"), ("2", "6")))])
    harness.store.write_pages([fetched(LAMPS, NOW_MS + 1, stored=cards(("1", "5"), ("3", "7")))])
    harness.store.write_pages(
        [page(LAMPS, NOW_MS + 2, facts={"status": 403, "outcome": "Forbidden"})]
    )

    def found(**more):
        items = harness.store.items.with_keys("cards", SITE, ["3", "1", "9"], **more)
        return [(each.key, each.values["price"], each.page_url) for each in items]

    assert found() == [("3", "7", LAMPS), ("1", "5", LAMPS)]
    assert found(below=OTHER) == found(withheld=False) == [("1", "4", elsewhere)]


def test_item_names_the_urls_that_its_values_come_from(harness):
    lists = cards({"url": PRODUCT, "category": "lamps"}, link="url")
    product = cards(("1", "5"), parents={"category": ("lists", "category")})
    harness.store.write_pages(
        [fetched(LAMPS, kind="lists", stored=lists), fetched(PRODUCT, stored=product)]
    )

    assert harness.store.items.get("cards", SITE, "1").also_from == (LAMPS,)
    assert harness.store.items.get("cards", SITE, "1").position == 0
    assert harness.store.items.linked("lists", [LAMPS, DESKS]) == {PRODUCT}
    (listed_item,) = harness.store.items.on_pages("lists", [LAMPS])
    assert listed_item.also_from == ()
