"""Items of a page, by rules, by a class and by a function; dropped items, and invalid rules."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated

import pytest

from richpins.document import parse
from richpins.items import (
    MAX_BYTES_PER_ITEM,
    MAX_ITEMS,
    InvalidKind,
    Select,
    find,
    item,
    kind_of,
)

URL = "https://shop.example/c/lamps"
CARD = """<div class="card"><b class="sku"> L-{n} </b><a class="name" href="/p/{n}">Lamp {n}</a>
<i class="price">EUR 1.{n:03},50</i><time>2026-03-0{d}</time><em class="tag">new</em><em class="tag">oak</em></div>"""
LISTING = (
    "<h1>Lamps</h1><a class=next href='?page=2'>next</a>"
    + "".join(CARD.format(n=n, d=n % 9 + 1) for n in range(20))
).encode()
CARDS = {
    "pages": "*/c/*",
    "each": "css:.card",
    "fields": {
        "sku": "css:.sku",
        "name": "css:.name",
        "url": {"select": "css:.name::link", "type": "url"},
        "price": {"select": "css:.price", "type": "decimal", "clean": ["strip", "number"]},
        "since": {"select": "css:time", "type": "date"},
        "tags": "css-all:.tag",
        "category": {"select": "css:h1", "of": "page"},
    },
    "required": ["price"],
    "key": "sku",
    "follow": "css:a.next",
}


def find_items(table=CARDS, body=LISTING, url=URL, source=None):
    body = body if isinstance(body, bytes) else body.encode()
    return find(kind_of("cards", table, source), parse(body, url=url))


def test_listing_of_20_products_has_20_items_with_typed_values():
    result = find_items()

    assert [each.key for each in result.items] == [f"L-{n}" for n in range(20)]
    assert result.items[7].values == {
        "sku": "L-7",
        "name": "Lamp 7",
        "url": "https://shop.example/p/7",
        "price": "1007.50",
        "since": "2026-03-08",
        "tags": ["new", "oak"],
        "category": "Lamps",
    }
    assert result.dropped == {}
    assert result.follow == ("https://shop.example/c/lamps?page=2",)


def test_page_with_another_url_has_no_items():
    assert not find_items(url="https://shop.example/p/1")


def test_item_without_a_required_value_is_dropped_and_counted_by_reason():
    result = find_items(
        body="<div class=card><b class=sku>1</b></div>"
        "<div class=card><b class=sku>2</b><i class=price>on request</i></div>"
        "<div class=card><b class=sku>3</b><i class=price>5</i></div>"
    )

    assert [each.key for each in result.items] == ["3"]
    assert result.dropped == {"price: nothing found": 2}


def test_unreadable_required_value_drops_the_item_and_an_optional_one_is_counted():
    fields = {
        "price": {"select": "css:i", "type": "decimal"},
        "at": {"select": "css:u", "type": "date"},
    }
    table = {"each": "css:.card", "fields": fields, "required": ["price"]}
    result = find_items(
        table,
        "<div class=card><i>none</i></div><div class=card><i>5.00</i><u>soon</u></div>",
    )

    assert [each.values for each in result.items] == [{"price": "5.00", "at": None}]
    assert result.dropped == {"price: is not of type decimal": 1}
    assert result.unreadable == {"at: is not of type date": 1}


def test_duplicate_sku_on_a_page_is_dropped():
    card = "<div class=card><b class=sku>1</b><i class=price>{}</i></div>"
    result = find_items(body=card.format(5) + card.format(6))

    assert [each.values["price"] for each in result.items] == ["5"]
    assert result.dropped == {"sku: duplicate": 1}


def test_key_of_two_fields_distinguishes_variants():
    body = "".join(f"<p><b>1</b><i>{color}</i></p>" for color in ("red", "blue", "red"))
    fields = {"sku": "css:b", "color": "css:i"}
    result = find_items({"each": "css:p", "fields": fields, "key": ["sku", "color"]}, body)

    assert [each.key for each in result.items] == ['["1","red"]', '["1","blue"]']


def test_page_is_one_item_without_each():
    result = find_items({"fields": {"name": "css:h1"}}, "<h1>A lamp</h1>")

    assert [each.values for each in result.items] == [{"name": "A lamp"}]


def test_xpath_is_relative_to_the_element():
    body = "<table><tr><td>a<td>1<tr><td>b<td>2</table>"
    fields = {"name": "xpath:td[1]", "count": {"select": "xpath:number(td[2])", "type": "integer"}}
    result = find_items({"each": "xpath://tr", "fields": fields}, body)

    assert [each.values for each in result.items] == [
        {"name": "a", "count": 1},
        {"name": "b", "count": 2},
    ]


@pytest.mark.parametrize(
    ("text", "kind", "clean", "expected"),
    [
        ("19.90", "decimal", [], "19.90"),
        ("1.299,00 €", "decimal", ["number"], "1299.00"),
        ("about 12 left", "integer", ["number"], 12),
        ("12.5", "integer", [], None),
        ("12.5", "number", [], 12.5),
        ("May 3, 2026", "date", [], "2026-05-03"),
        ("2026-05-03T10:00:00+02:00", "date", [], "2026-05-03"),
        ("2026-05-03T10:00:00+02:00", "moment", [], "2026-05-03T10:00:00+02:00"),
        ("/p/1", "url", [], "https://shop.example/p/1"),
        ("mailto:a@b.example", "url", [], None),
        ("in stock", "bool", [], True),
        ("No", "bool", [], False),
        ("SKU: L-1 (new)", "text", ["regex:SKU: (\\S+)"], "L-1"),
        ("SKU: L-1", "text", ["regex:\\w-\\d"], "L-1"),
        ("none", "text", ["regex:\\d"], None),
        ("sold", "bool", ["regex:stock"], False),
    ],
)
def test_value_is_cleaned_and_typed(text, kind, clean, expected):
    field = {"select": "css:p", "type": kind, "clean": clean}
    result = find_items({"fields": {"x": field, "other": "css:h1"}}, f"<h1>a</h1><p>{text}</p>")

    assert result.items[0].values["x"] == expected


def test_missing_flag_is_false_and_a_default_replaces_a_missing_value():
    fields = {
        "sale": {"select": "css:.sale", "type": "bool"},
        "currency": {"select": "css:u", "default": "EUR"},
    }

    assert find_items({"fields": fields}).items[0].values == {"sale": False, "currency": "EUR"}


def test_items_beyond_the_limits_are_dropped_and_counted():
    fields = {"a": "css:b"}
    many = find_items({"each": "css:p", "fields": fields}, "<p><b>x</b></p>" * (MAX_ITEMS + 5))
    long = find_items(
        {"each": "css:p", "fields": fields}, f"<p><b>{'x' * MAX_BYTES_PER_ITEM}</b></p>"
    )
    full = find_items({"each": "css:p", "fields": fields}, f"<p><b>{'x' * 16_000}</b></p>" * 40)

    assert (len(many.items), many.dropped) == (MAX_ITEMS, {"more than 1000 on the page": 5})
    assert (long.items, long.dropped) == ((), {"longer than 16384 bytes": 1})
    assert (len(full.items), full.dropped) == (32, {"more than 524288 bytes on the page": 8})


@item(pages="*/c/*", each="css:.card", key="sku", follow="css:a.next")
@dataclass
class Card:
    sku: Annotated[str, Select("css:.sku")]
    price: Annotated[Decimal, Select("css:.price", clean=("strip", "number"))]
    name: Annotated[str, Select("css:.name")]
    url: Annotated[str, Select("css:.name::link", type="url")]
    tags: Annotated[list[str], Select("css-all:.tag")]
    category: Annotated[str, Select("css:h1", of="page")]
    since: Annotated[date | None, Select("css:time")] = None


def test_class_gives_the_same_items_as_a_table():
    by_class = find_items({}, source=Card)

    assert by_class.items[3].key == "L-3"
    assert by_class.items[3].values == find_items().items[3].values
    assert by_class.follow == find_items().follow


def test_table_overrides_its_class():
    assert not find_items({"pages": "*/other/*"}, source=Card)


def test_function_gives_items_as_dicts_or_dataclasses():
    @dataclass
    class Lamp:
        sku: str
        price: Decimal
        day: date

    def lamps(page):
        yield {"sku": "1", "price": Decimal("5.00"), "day": date(2026, 5, 3)}
        yield Lamp("2", Decimal("6.0"), date(2026, 5, 4))
        yield {"sku": None, "price": None}
        yield {"sku": page.title}

    result = find_items({"key": "sku"}, "<title>x</title>", source=lamps)

    assert [each.values for each in result.items] == [
        {"sku": "1", "price": "5.00", "day": "2026-05-03"},
        {"sku": "2", "price": "6.0", "day": "2026-05-04"},
        {"sku": "x"},
    ]
    assert result.dropped == {"sku: no key": 1}


@pytest.mark.parametrize("wrong", ["text", {"Bad": 1}, {"kind": 1}, {"x": object()}])
def test_function_that_returns_something_else_raises(wrong):
    with pytest.raises((TypeError, ValueError)):
        find_items({}, source=lambda _: [wrong])


def test_all_mistakes_of_a_table_are_reported_with_their_keys():
    with pytest.raises(InvalidKind) as error:
        kind_of(
            "Cards",
            {
                "page": "*",
                "pages": [1],
                "each": "css:.card::text",
                "fields": {
                    "Price": "css:.p",
                    "a": "h1",
                    "b": {"select": "css:b", "type": "money"},
                    "c": {"select": "css:c", "clean": ["trim", "regex:("]},
                    "d": {"select": "css:d", "typo": 1},
                    "e": {"from_parent": "cards"},
                    "f": 5,
                    "g": {"select": "css:g", "of": "site"},
                    "page_url": "css:a::link",
                },
                "required": ["z", "e"],
                "key": "zz",
                "link": "a",
                "follow": "a.next",
            },
        )

    for line in (
        "its name may contain only lowercase letters",
        "page: is not known; did you mean pages?",
        "pages: must be a string or a list of strings",
        "each: must be css: or xpath:",
        "fields.Price: may contain only lowercase letters",
        "fields.a.select: must begin with css:",
        "fields.b.type: must be one of text, decimal",
        "fields.c.clean: 'trim' is not strip, number or regex:PATTERN",
        "fields.c.clean: '(' is not a regular expression",
        "fields.d.typo: is not known; did you mean type?",
        "fields.e.from_parent: must be KIND.FIELD",
        "fields.f: must be a rule or a table with select",
        "fields.g.of: must be item or page",
        "fields.page_url: may contain only lowercase letters",
        "required: 'z' is not a field",
        "key: 'zz' is not a field",
        "link: must be a field of type url, got 'a'",
        "follow: must begin with css:",
    ):
        assert any(problem.startswith(line) for problem in error.value.problems), line


def test_rule_must_use_the_same_language_as_each():
    with pytest.raises(InvalidKind, match=r"fields.a.select: must be css, like each"):
        kind_of("cards", {"each": "css:p", "fields": {"a": "xpath:b"}})


def test_value_from_the_parent_cannot_be_required():
    fields = {"name": "css:h1", "category": {"from_parent": "cards.category"}}
    kind = kind_of("product", {"fields": fields})

    assert kind.parents == {"category": ("cards", "category")}
    assert find(kind, parse(b"<h1>x</h1>", url=URL)).items[0].values == {"name": "x"}
    with pytest.raises(InvalidKind, match="required: 'category' is not a field of the page itself"):
        kind_of("product", {"fields": fields, "required": ["category"]})


@pytest.mark.parametrize("source", [int, 5])
def test_source_must_be_a_dataclass_or_a_function(source):
    with pytest.raises(InvalidKind, match=r"is not a dataclass|neither a class nor a function"):
        kind_of("cards", {"fields": {"a": "css:a"}}, source)


def test_class_without_rules_is_refused():
    @dataclass
    class Wrong:
        name: str

    with pytest.raises(InvalidKind, match=r"Wrong.name: its annotation needs a Select"):
        kind_of("cards", {}, Wrong)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ("name", "files: must be a field of type url, got 'name'"),
        (["image", "other"], "files: 'other' is not a field"),
        (5, "files: must be a string or a list of strings"),
    ],
)
def test_files_must_be_fields_of_type_url(files, problem):
    fields = {"name": "css:h1", "image": {"select": "css:img::attr(src)", "type": "url"}}

    assert kind_of("lamps", {"fields": fields, "files": "image"}).files == ("image",)
    with pytest.raises(InvalidKind, match=problem):
        kind_of("lamps", {"fields": fields, "files": files})


def test_field_from_the_parent_cannot_be_a_file():
    fields = {"name": "css:h1", "image": {"from_parent": "cards.image", "type": "url"}}

    with pytest.raises(InvalidKind, match="files: 'image' is not a field of the page itself"):
        kind_of("lamps", {"fields": fields, "files": "image"})


def test_class_and_function_can_have_files():
    @item(files="image")
    @dataclass
    class Lamp:
        image: Annotated[str, Select("css:img::attr(src)", type="url")]

    assert kind_of("lamps", {}, Lamp).files == ("image",)
    assert kind_of("lamps", {"files": "image"}, lambda _: []).files == ("image",)
