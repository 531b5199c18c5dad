"""The examples of docs/own-fields.md#items work as documented."""

import tomllib

from aragog.crawl.stages.page_analysis import read_page
from aragog.pages.extractors import load_all
from aragog.pages.items import PageItems
from tests.support.byte_streams import html_result
from tests.support.documented import blocks

DOCS = "docs/own-fields.md#items"
CARDS, FROM_PARENT, _, BY_PYTHON = blocks(DOCS, "toml")
(PYTHON,) = blocks(DOCS, "python", "from dataclasses")
LISTING = (
    b"<h1>Lamps</h1><div class=card><b class=sku>L-1</b><a class=name href=/p/1>Lamp 1</a>"
    b"<i class=price>EUR 1.299,00</i></div><a class=next href=?page=2>next</a>"
)
C, P = "https://shop.example/c/lamps", "https://shop.example/p/1"


def items(toml, url, body):
    rules = tomllib.loads(toml)["extract"]
    extractors = load_all((), rules)
    fields = read_page(html_result(url), body, agent="x", max_links=9, extractors=extractors).fields
    return {
        name.partition(".")[2]: PageItems.read(value)
        for name, value in fields.items()
        if name.startswith("items.")
    }


def test_first_example_reads_a_card():
    found = items(CARDS, C, LISTING)["cards"]

    assert [each.values for each in found.items] == [
        {"sku": "L-1", "name": "Lamp 1", "url": P, "price": "1299.00"}
    ]
    assert found.follow == (f"{C}?page=2",)


def test_example_of_a_value_from_the_list_page_works():
    lists = items(FROM_PARENT, C, LISTING)["lists"]
    product = items(FROM_PARENT, P, b"<h1>Lamp 1</h1>")["product"]

    assert (lists.link, lists.items[0].values) == ("url", {"url": P, "category": "Lamps"})
    assert product.parents == {"category": ("lists", "category")}


def test_examples_of_a_class_and_a_function_work(tmp_path):
    file = tmp_path / "shop.py"
    file.write_text(PYTHON)
    toml = BY_PYTHON.replace("/srv/shop/shop.py", str(file))

    cards = items(toml, C, LISTING)["cards"]
    sizes = items(toml, P, b"<i class=size>S</i><i class=size>M</i>")["sizes"]

    assert [each.values for each in cards.items] == [
        {"sku": "L-1", "price": "1299.00", "name": "Lamp 1"}
    ]
    assert [each.values["size"] for each in sizes.items] == ["S", "M"]
    assert "sizes" not in items(toml, C, b"<i class=size>S</i>")
