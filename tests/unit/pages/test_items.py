"""Item kinds in the settings: invalid ones, what a page stores, and how it is read back."""

import orjson
import pytest

from aragog.crawl.stages.page_analysis import read_page
from aragog.errors import ConfigError
from aragog.pages.extractors import load_all, load_from
from aragog.pages.items import PageItems, field_of, kind_from_field, load_kinds
from aragog.settings.loading import build_settings, load_settings
from aragog.settings.values import plain
from richpins.items import Item
from tests.support.byte_streams import html_result

URL = "https://www.shop.example/c/lamps"
PAGE = b"""<h1>Lamps</h1><div class=card><b>L-1</b><i>5.00</i><a href=/p/1>1</a></div>
<div class=card><b>L-2</b></div><a class=next href=?page=2>next</a>"""
CARDS = {
    "pages": "*/c/*",
    "each": "css:.card",
    "fields": {
        "sku": "css:b",
        "price": {"select": "css:i", "type": "decimal"},
        "url": {"select": "css:a::link", "type": "url"},
    },
    "required": ["price"],
    "key": "sku",
    "follow": "css:a.next",
}


def analyzed(rules, url=URL, body=PAGE):
    return read_page(
        html_result(url), body, agent="aragog", max_links=9, extractors=load_all((), rules)
    )


def test_page_stores_its_items_in_one_field_with_the_dropped_ones():
    analysis = analyzed({"shop.example": {"cards": CARDS, "heading": "css:h1"}})

    stored = analysis.fields["items.cards"]
    assert orjson.loads(stored) == {
        "v": 1,
        "site": "shop.example",
        "items": [
            {
                "key": "L-1",
                "values": {"sku": "L-1", "price": "5.00", "url": "https://www.shop.example/p/1"},
            }
        ],
        "dropped": {"price: nothing found": 1},
        "follow": ["https://www.shop.example/c/lamps?page=2"],
    }
    assert analysis.fields["site.heading"] == b'"Lamps"'
    assert analysis.provenance["items.cards"] == "extractor items"
    assert PageItems.read(stored).items == (
        Item({"sku": "L-1", "price": "5.00", "url": "https://www.shop.example/p/1"}, "L-1"),
    )


@pytest.mark.parametrize("stored", [None, b"", b"[]", b"{}", b'{"v":2}', b'{"v":1}', b"no json"])
def test_unreadable_field_has_no_items(stored):
    assert PageItems.read(stored).items == ()


def test_page_without_items_stores_none():
    rules = {"shop.example": {"cards": CARDS}}

    assert "items.cards" not in analyzed(rules, url="https://shop.example/p/1").fields
    assert "items.cards" not in analyzed(rules, body=b"<p>").fields


def test_kind_of_the_longer_host_name_wins():
    other = {**CARDS, "required": []}
    kinds = load_kinds({"shop.example": {"cards": CARDS}, "www.shop.example": {"cards": other}})

    assert kinds.of("https://www.shop.example/")["cards"].site == "www.shop.example"
    assert kinds.of("https://m.shop.example/")["cards"].site == "shop.example"
    assert kinds.of("https://eshop.example/") == {}
    assert kinds.names == ("cards",)


def test_all_mistakes_are_reported_with_their_host_kind_and_key():
    with pytest.raises(ConfigError) as error:
        load_all(
            (),
            {
                "shop.example": {
                    "cards": {**CARDS, "required": ["cost"], "page": "*"},
                    "lamps": {"python": "no_module:Lamp"},
                    "product": {"fields": {"name": "css:h1", "c": {"from_parent": "lists.c"}}},
                    "broken": 5,
                }
            },
        )

    text = str(error.value)
    assert "extract: shop.example: cards: page: is not known; did you mean pages?" in text
    assert "extract: shop.example: cards: required: 'cost' is not a field" in text
    assert "extract: shop.example: lamps: python: 'no_module:Lamp' cannot be loaded" in text
    assert "extract: shop.example: broken: must be a rule such as css:h1, or a table" in text
    assert (
        "extract: shop.example: product: fields.c.from_parent: there is no kind lists that has "
        "a field c and a link"
    ) in text


def test_class_and_function_of_a_file_can_be_kinds(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nfrom decimal import Decimal\n"
        "from typing import Annotated\nfrom richpins.items import Select, item\n\n"
        "@item(each='css:.card', key='sku')\n@dataclass\nclass Card:\n"
        "    sku: Annotated[str, Select('css:b')]\n"
        "    price: Annotated[Decimal, Select('css:i')]\n\n"
        "def titles(page):\n    yield {'title': page.css('h1'), 'url': page.url}\n"
    )
    rules = {
        "shop.example": {
            "cards": {"python": f"{file}:Card", "pages": "*/c/*"},
            "titles": {"python": f"{file}:titles", "key": "url"},
        }
    }

    fields = analyzed(rules).fields

    assert PageItems.read(fields["items.cards"]).items == (
        Item({"sku": "L-1", "price": "5.00"}, "L-1"),
    )
    assert PageItems.read(fields["items.titles"]).items == (
        Item({"title": "Lamps", "url": URL}, URL),
    )


def test_failing_function_leaves_the_other_fields_and_the_stored_items(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text("def cards(page):\n    yield 5\n")

    analysis = analyzed({"shop.example": {"cards": {"python": f"{file}:cards"}, "h": "css:h1"}})

    assert analysis.fields["site.h"] == b'"Lamps"'
    assert "items.cards" not in analysis.fields
    assert not analysis.complete
    assert "an item must be a dict" in analysis.problems[0]


def test_item_tables_round_trip_through_the_record_of_a_running_system(tmp_path):
    file = tmp_path / "aragog.toml"
    file.write_text(
        '[extract."shop.example"]\nheading = "css:h1"\n\n'
        '[extract."shop.example".cards]\npages = "*/c/*"\neach = "css:.card"\n'
        'fields = { sku = "css:b", price = { select = "css:i", type = "decimal", '
        'clean = ["strip", "number"] } }\nrequired = ["price"]\nkey = "sku"\n'
        'follow = "css:a.next"\n'
    )
    settings = load_settings(file, {})

    again = build_settings(orjson.loads(orjson.dumps(plain(settings))))

    assert again.extract == settings.extract
    (cards,) = load_kinds(settings.extract)
    assert (cards.site, cards.kind.key, cards.kind.required) == (
        "shop.example", ("sku",), ("price",),
    )  # fmt: skip


def test_rules_must_be_strings_or_tables():
    with pytest.raises(ConfigError, match="extract: must be a table of strings and tables"):
        build_settings({"extract": {"shop.example": {"cards": 5}}})


def test_field_limit_too_small_for_items_is_refused():
    values = {"extract": {"a.example": {"cards": CARDS}}, "store": {"max_field_bytes": 65_536}}

    with pytest.raises(ConfigError, match=r"store.max_field_bytes: must be at least 1000000"):
        build_settings(values)


@pytest.mark.parametrize("name", ["items", "shop.py:items", "site"])
def test_extractor_cannot_use_the_namespace_of_items(name):
    with pytest.raises(ConfigError, match="is the prefix of the fields in `extract`"):
        load_from([], (name,))


def test_kinds_have_a_separate_namespace_from_page_types():
    rules = {"shop.example": {"product": {"fields": {"name": "css:h1"}}}}

    fields = analyzed(rules).fields

    assert [n for n in fields if n.startswith(("items.", "product."))] == ["items.product"]
    assert field_of("product") == "items.product"
    assert kind_from_field("items.product") == "product"
    assert kind_from_field("product.price") is None


def test_fields_marked_as_files_get_a_separate_column():
    rules = {"shop.example": {"cards": {**CARDS, "files": "url"}}}

    stored = analyzed(rules).fields["items.cards"]

    assert orjson.loads(stored)["files"] == ["url"]
    assert list(PageItems.read(stored).file_urls) == ["https://www.shop.example/p/1"]
    kinds = load_kinds(rules)
    assert kinds.columns("cards") == ("sku", "price", "url")
    assert kinds.columns_with_files("cards") == ("sku", "price", "url", "url.file")
    assert kinds.may_find_urls_to_follow(URL)


def test_items_of_an_earlier_version_have_no_files():
    stored = orjson.dumps({"v": 1, "site": "shop.example", "items": [{"values": {"a": "b"}}]})

    assert list(PageItems.read(stored).file_urls) == []
