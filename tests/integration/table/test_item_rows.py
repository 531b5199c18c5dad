"""A table of items matches a current export: one row per item, on whatever page it is."""

import random

import duckdb
import orjson
import polars as pl
import pytest
from deltalake import DeltaTable

from aragog.addons.table.keeper import TableKeeper, TableOptions
from aragog.errors import BadInput
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import PageItems, load_kinds
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from richpins.items import Item
from tests.integration.table.test_keeper import HOURS_MS, KEPT_S, Shop, everything_in
from tests.support.stores import SAME, body, page

SITE = "shop.example"
LAMPS, DESKS, PRODUCT = (f"http://{SITE}/{path}" for path in ("c/lamps", "c/desks", "p/1"))
OTHER_HOST = "http://www.shop.example/c/lamps"
CARD = {"sku": "css:.sku", "price": {"select": "css:.price", "type": "decimal"}}
LINK = {"select": "css:a::link", "type": "url"}
RULES = {
    "cards": {"each": "css:.card", "key": "sku", "fields": CARD},
    "notes": {"each": "css:.note", "fields": {"text": "css:p"}},
    "lists": {"each": "css:.card", "fields": {"url": LINK, "category": "css:h1"}},
    "product": {
        "key": "sku",
        "fields": {"sku": "css:.sku", "category": {"from_parent": "lists.category"}},
    },
}
PARENTS = {"category": ("lists", "category")}


def cards(*some):
    """Items given as (key, price)."""
    return [Item({"sku": key, "price": price}, key) for key, price in some]


def notes(*texts):
    """Items without a key."""
    return [Item({"text": text}) for text in texts]


class ItemShop(Shop):
    """A store of pages with items, the keeper of their table, and readers of it."""

    kinds = load_kinds({SITE: RULES})

    def show(self, url, items=(), kind="cards", link="", parents=None, **parts):
        """A fetch of a page that now has these items."""
        self.fetches = getattr(self, "fetches", 0) + 1
        at_ms = self.clock.now_ms()
        stored = PageItems(SITE, tuple(items), link=link, parents=parents or {}).stored()
        fields = {f"items.{kind}": orjson.dumps(stored)} if items else {}
        text = f"{self.fetches} {url}"
        parts.setdefault("facts", {"outcome": "Fetched", "status": 200, "url": url})
        self.store.write_pages(
            [
                page(
                    url, at_ms, fields=fields, complete=True, content=body(text),
                    provenance=dict.fromkeys(fields, "extractor items"),
                    seen=Seen(outcome="Fetched", fetched_at_ms=at_ms, body_hash=text), **parts,
                )
            ]
        )  # fmt: skip
        self.clock.advance_ms(SETTLE_MS + 1)

    def refuse(self, url, outcome=OutcomeKind.FORBIDDEN, status=403):
        at_ms = self.clock.now_ms()
        facts = {"outcome": outcome, "status": status}
        seen = Seen(outcome=outcome, fetched_at_ms=at_ms)
        self.store.write_pages([page(url, at_ms, facts=facts, seen=seen)])
        self.clock.advance_ms(SETTLE_MS + 1)

    def keeper(self, **wanted):
        return TableKeeper(
            self.store, self.files, TypedFields(self.store.formats), self.kinds,
            TableOptions(**{"items": "cards", "buckets": 4, **wanted}), kept_s=KEPT_S, keep_h=0,
            now_ms=self.clock.now_ms,
        )  # fmt: skip

    def rows(self, *columns):
        """The rows as DuckDB reads them, sorted."""
        found = DeltaTable(self.place).to_pyarrow_dataset()
        with duckdb.connect() as connection:
            connection.register("found", found)
            named = ", ".join(f'"{name}"' for name in columns)
            return sorted(connection.sql(f"SELECT {named} FROM found").fetchall())

    def prices(self):
        """(key, price, page) of each row."""
        return self.rows("sku", "price", "page_url")


@pytest.fixture
def shop(tmp_path):
    return ItemShop(str(tmp_path / "cards"))


def test_table_has_one_row_per_item_not_per_page(shop):
    shop.show(LAMPS, cards(("1", "5.50"), ("2", "6")))
    shop.show(PRODUCT)

    first, second = shop.keep()

    assert (first.written, first.noun, first.rebuilt) == (2, "items", "there was no table")
    assert (second.written, second.deleted) == (0, 0)
    assert shop.prices() == [("1", 5.5, LAMPS), ("2", 6.0, LAMPS)]


def test_polars_reads_types_and_own_columns(shop):
    shop.show(LAMPS, cards(("1", "5.50"), ("2", "not a price")))
    shop.keep()

    first, second = pl.scan_delta(shop.place).sort("sku").collect().to_dicts()

    assert (first["site"], first["item_key"], first["item_position"]) == (SITE, "1", 0)
    assert (second["item_key"], second["item_position"], second["price"]) == ("2", 1, None)
    assert len({first["item_id"], second["item_id"]}) == 2
    assert first["also_from"] is None


def test_changed_and_new_items_are_merged(shop):
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.keep()
    shop.show(LAMPS, cards(("1", "5"), ("2", "7"), ("3", "8")))

    (done,) = shop.keep()

    assert (done.written, done.deleted) == (3, 0)
    assert shop.prices() == [("1", 5.0, LAMPS), ("2", 7.0, LAMPS), ("3", 8.0, LAMPS)]


def test_item_removed_from_its_page_leaves_the_table(shop):
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.keep()
    shop.show(LAMPS, cards(("2", "6")))

    (done,) = shop.keep()

    assert done.deleted == 1
    assert shop.prices() == [("2", 6.0, LAMPS)]


def test_last_item_removed_from_its_page_leaves_the_table(shop):
    shop.show(LAMPS, cards(("1", "5")))
    shop.keep()
    shop.show(LAMPS)

    shop.keep()

    assert shop.prices() == []


@pytest.mark.parametrize("order", ["appears first", "disappears first"])
@pytest.mark.parametrize("in_one_round", [True, False])
def test_item_that_moves_to_another_page_is_one_row(shop, order, in_one_round):
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.show(DESKS, cards(("9", "9")))
    shop.keep()
    steps = [(DESKS, cards(("1", "4"), ("9", "9"))), (LAMPS, cards(("2", "6")))]

    for url, items in steps if order == "appears first" else steps[::-1]:
        shop.show(url, items)
        if not in_one_round:
            shop.keep()
    shop.keep()

    assert shop.prices() == [("1", 4.0, DESKS), ("2", 6.0, LAMPS), ("9", 9.0, DESKS)]


def test_later_fetched_of_two_pages_with_the_same_key_counts(shop):
    shop.show(LAMPS, cards(("1", "5")))
    shop.show(DESKS, cards(("1", "6")))
    shop.keep()
    built = shop.prices()

    shop.show(LAMPS, cards(("1", "7")))
    shop.keep()

    assert (built, shop.prices()) == ([("1", 6.0, DESKS)], [("1", 7.0, LAMPS)])


def test_item_lost_by_one_page_is_taken_from_the_other(shop):
    shop.show(LAMPS, cards(("1", "5")))
    shop.show(DESKS, cards(("1", "6")))
    shop.keep()

    shop.show(DESKS, cards(("2", "8")))
    shop.keep()

    assert shop.prices() == [("1", 5.0, LAMPS), ("2", 8.0, DESKS)]


def test_items_without_a_key_are_rows_of_their_page_by_position(shop):
    shop.show(LAMPS, notes("a", "b", "c"), kind="notes")
    shop.show(DESKS, notes("a"), kind="notes")
    shop.keep(items="notes")
    shop.show(LAMPS, notes("c", "d"), kind="notes")

    shop.keep(items="notes")

    assert shop.rows("page_url", "item_position", "text") == [
        (DESKS, 0, "a"), (LAMPS, 0, "c"), (LAMPS, 1, "d"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "what", [{"url": LAMPS}, {"host": "www.lamps.example"}, {"domain": "lamps.example"}]
)
def test_items_of_taken_down_pages_leave_the_table_and_its_old_files(tmp_path, what):
    shop = ItemShop(str(tmp_path / "cards"))
    shop.kinds = load_kinds({"example": RULES, SITE: RULES})
    gone = LAMPS if "url" in what else "http://www.lamps.example/c"
    shop.show(gone, cards(("unique-sku", "5"), ("2", "6")))
    shop.show(DESKS, cards(("2", "7")))
    shop.show(gone, cards(("unique-sku", "5"), ("2", "8")))
    shop.keep()
    shop.store.takedowns.take_down(**what)

    shop.keep()
    shop.keeper().clean()

    assert shop.prices() == [("2", 7.0, DESKS)]
    assert "unique-sku" not in everything_in(shop.place)
    assert gone not in everything_in(shop.place)


def test_items_of_a_page_sent_by_a_taken_down_url_leave_with_it(shop):
    shop.show(LAMPS, cards(("1", "5")), final_url="http://b.example/page", canonical_url=LAMPS,
              facts={"outcome": "Fetched", "status": 200, "url": LAMPS,
                     "final_url": "http://b.example/page"})  # fmt: skip
    shop.show(DESKS, cards(("2", "6")))
    shop.keep()
    shop.store.takedowns.take_down(host="b.example")

    shop.keep()

    assert shop.prices() == [("2", 6.0, DESKS)]


def test_items_of_a_withheld_page_leave_the_table_and_return(shop):
    shop.show(DESKS, cards(("2", "7")))
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.keep()
    shop.refuse(LAMPS)
    shop.keep()
    withheld = shop.prices()

    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.keep()

    assert withheld == [("2", 7.0, DESKS)]
    assert shop.prices() == [("1", 5.0, LAMPS), ("2", 6.0, LAMPS)]


def test_items_of_a_withheld_page_are_not_in_a_new_table(shop):
    shop.show(DESKS, cards(("2", "7")))
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
    shop.refuse(LAMPS)

    shop.keep()

    assert shop.prices() == [("2", 7.0, DESKS)]


def test_items_of_a_withdrawn_page_leave_the_table(shop):
    shop.show(LAMPS, cards(("1", "5")))
    shop.show(DESKS, cards(("2", "6")))
    shop.keep()
    shop.store.takedowns.withdraw(LAMPS, shop.clock.now_ms())
    shop.clock.advance_ms(SETTLE_MS + 1)

    shop.keep()

    assert shop.prices() == [("2", 6.0, DESKS)]


@pytest.mark.parametrize("kind", ["cards", "notes"])
def test_items_of_an_alias_are_those_of_its_canonical_page(shop, kind):
    make = cards if kind == "cards" else notes
    item = ("1", "5") if kind == "cards" else "a"
    shop.show(LAMPS, make(item), kind=kind, likeness=SAME)
    shop.show(DESKS, make(item), kind=kind, likeness=SAME)
    shop.keep(items=kind)
    shop.show(LAMPS, make(item), kind=kind, canonical_url=DESKS, likeness=SAME)
    assert shop.store.get(LAMPS).canonical_url == DESKS

    shop.keep(items=kind)

    assert shop.rows("page_url") == [(DESKS,)]


def test_items_of_pages_that_refuse_a_purpose_are_not_in_a_table_for_it(shop):
    allowed = {"outcome": "Fetched", "status": 200, "page_preferences": "search=y (x)"}
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")), facts=allowed)
    shop.show(DESKS, cards(("2", "7")), facts=allowed)
    shop.keep(purpose="search")
    refused = {**allowed, "page_preferences": "search=n (x)"}
    shop.show(LAMPS, cards(("1", "5"), ("2", "8")), facts=refused)

    shop.keep(purpose="search")

    assert shop.prices() == [("2", 7.0, DESKS)]


def test_table_of_a_host_has_the_items_as_its_pages_show_them(shop):
    shop.show(OTHER_HOST, cards(("1", "5"), ("2", "6")))
    shop.show(LAMPS, cards(("2", "7"), ("3", "8")))
    shop.keep(host="www.shop.example")
    built = shop.prices()

    shop.show(LAMPS, cards(("1", "9"), ("3", "8")))
    shop.show(OTHER_HOST, cards(("2", "4")))
    shop.keep(host="www.shop.example")

    assert built == [("1", 5.0, OTHER_HOST), ("2", 6.0, OTHER_HOST)]
    assert shop.prices() == [("2", 4.0, OTHER_HOST)]


class TestValuesOfTheListPage:
    """Rows of a product page whose category comes from a list page."""

    @pytest.fixture
    def shop(self, shop):
        shop.show(PRODUCT, [Item({"sku": "1"}, "1")], kind="product", parents=PARENTS)
        self.list_in(shop, "lamps")
        shop.keep(items="product")
        assert self.rows(shop) == [("1", "lamps", [LAMPS])]
        return shop

    def list_in(self, shop, category):
        item = Item({"url": PRODUCT, "category": category})
        shop.show(LAMPS, [item], kind="lists", link="url")

    def rows(self, shop):
        return shop.rows("sku", "category", "also_from")

    def test_change_with_it(self, shop):
        self.list_in(shop, "lights")

        shop.keep(items=None)

        assert self.rows(shop) == [("1", "lights", [LAMPS])]

    def test_leave_with_its_item(self, shop):
        shop.show(LAMPS)

        shop.keep(items=None)

        assert self.rows(shop) == [("1", None, None)]

    def test_leave_when_it_is_taken_down(self, shop):
        shop.store.takedowns.take_down(url=LAMPS)

        shop.keep(items=None)
        shop.keeper(items=None).clean()

        assert self.rows(shop) == [("1", None, None)]
        assert "lamps" not in everything_in(shop.place)

    def test_leave_when_it_is_withheld(self, shop):
        shop.refuse(LAMPS)

        shop.keep(items=None)

        assert self.rows(shop) == [("1", None, None)]


class TestRebuild:
    """When the table is rebuilt from an export, and the reported reason."""

    def test_for_a_cursor_older_than_the_feed(self, shop):
        shop.show(LAMPS, cards(("1", "5"), ("2", "6")))
        shop.keep()
        shop.show(LAMPS, cards(("2", "7")))
        shop.clock.advance_ms(2 * HOURS_MS)
        shop.store.feed.sweep(KEPT_S)

        first, *_ = shop.keep()

        assert "the feed no longer has" in first.rebuilt
        assert shop.prices() == [("2", 7.0, LAMPS)]

    def test_for_another_kind(self, shop):
        shop.show(LAMPS, cards(("1", "5")))
        shop.show(DESKS, notes("a"), kind="notes")
        shop.keep()

        first, *_ = shop.keep(items="notes")

        assert first.rebuilt == "it had items cards"
        assert shop.rows("text") == [("a",)]

    def test_for_another_host(self, shop):
        shop.show(LAMPS, cards(("1", "5")))
        shop.keep()

        first, *_ = shop.keep(host="www.shop.example")

        assert first.rebuilt == "it had the items of all hosts"
        assert shop.prices() == []

    def test_for_a_field_that_the_settings_add(self, shop):
        shop.show(LAMPS, [Item({"sku": "1", "price": "5", "name": "Lamp"}, "1")])
        shop.keep()
        fields = {**CARD, "name": "css:.name"}
        shop.kinds = load_kinds({SITE: {"cards": {**RULES["cards"], "fields": fields}}})

        first, *_ = shop.keep()

        assert first.rebuilt == "the fields or types in the settings have changed"
        assert shop.rows("sku", "name") == [("1", "Lamp")]

    def test_on_request(self, shop):
        shop.show(LAMPS, cards(("1", "5")))
        shop.keep()

        done = shop.keeper(items=None).round(rebuild=True)

        assert (done.written, done.rebuilt) == (1, "--rebuild")
        assert shop.prices() == [("1", 5.0, LAMPS)]


def test_later_runs_need_neither_kind_nor_fields(shop):
    shop.show(LAMPS, cards(("1", "5")))
    shop.keep(fields=("sku", "page_url"))
    shop.show(LAMPS, cards(("1", "5"), ("2", "6")))

    shop.keep(items=None)

    assert shop.rows("sku", "page_url") == [("1", LAMPS), ("2", LAMPS)]
    assert "price" not in DeltaTable(shop.place).schema().to_arrow().names


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"items": "tables"},
            "the setting `extract` has no item kind 'tables'; known: cards, notes",
        ),
        ({"fields": ("sku", "colour")}, "cards has no field 'colour'; known: sku, price"),
    ],
)
def test_missing_kind_or_field_is_reported(shop, wanted, message):
    with pytest.raises(BadInput, match=message):
        shop.keep(**wanted)


def test_field_named_like_another_column_is_refused(shop):
    fields = {"sku": "css:.sku", "bucket": "css:.bucket"}
    shop.kinds = load_kinds({SITE: {"cards": {**RULES["cards"], "fields": fields}}})
    shop.show(LAMPS, cards(("1", "5")))

    with pytest.raises(BadInput, match="'bucket': another column has this name"):
        shop.keep()
    shop.keep(fields=("sku",))

    assert shop.rows("sku") == [("1",)]


def expected(shop):
    """The rows of an export, without withheld pages."""
    items = shop.store.items.all("cards", SITE, withheld=False)
    return sorted((each.key, float(each.values["price"]), each.page_url) for each in items)


@pytest.mark.parametrize("seed", range(3))
def test_table_matches_an_export_after_any_history(shop, seed):
    chance = random.Random(seed)
    urls = [f"http://{SITE}/c/{number}" for number in range(5)]
    shop.keep()

    for step in range(25):
        url, action = chance.choice(urls), chance.random()
        if action < 0.75:
            keys = chance.sample("abcdefg", chance.randrange(5))
            shop.show(url, cards(*((key, str(step)) for key in keys)))
        elif action < 0.85:
            shop.refuse(url)
        elif action < 0.95:
            shop.store.takedowns.withdraw(url, shop.clock.now_ms())
            shop.clock.advance_ms(SETTLE_MS + 1)
        else:
            shop.store.takedowns.take_down(url=url)
            urls.remove(url)
            urls.append(f"http://{SITE}/c/{step}-new")
        if chance.random() < 0.5:
            shop.keep()
            assert shop.prices() == expected(shop)
    shop.keep()

    assert shop.prices() == expected(shop)
