"""Categories from breadcrumbs, and product numbers without labels and names."""

from __future__ import annotations

import pytest
from pins import ld, pin

LAMP = {"@type": "Product", "name": "Red reading lamp"}


def trail(*names: str, backwards: bool = False) -> dict[str, object]:
    crumbs = [
        {"@type": "ListItem", "position": place, "name": name, "item": f"https://a.test/{place}"}
        for place, name in enumerate(names, 1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": crumbs[::-1] if backwards else crumbs}


@pytest.mark.parametrize(
    ("names", "category"),
    [
        (("Home", "Light", "Lamps", "Red reading lamp"), "Lamps"),
        (("Home", "Light", "Lamps"), "Lamps"),
        (("Start", "Red lamps", "Red reading lamp"), "Red lamps"),
        (("Home", "Lamps", "Red reading…"), "Lamps"),
        (("Home", "Red reading lamp"), None),
        (("Red reading lamp",), None),
        ((), None),
    ],
)
def test_category_is_the_breadcrumb_before_the_product(names, category):
    for backwards in (False, True):
        product = pin(ld(LAMP, trail(*names, backwards=backwards))).product

        assert product.category == category


def test_declared_category_overrides_breadcrumbs():
    page = ld({**LAMP, "category": "Light"}, trail("Home", "Lamps"))

    assert pin(page).product.category == "Light"


@pytest.mark.parametrize(
    ("sku", "number"),
    [
        ("SKU: 12-A", "12-A"), ("ASIN: B012345678", "B012345678"), ("Art.-Nr.: 77", "77"),
        ("Red reading lamp", None), ("SKU-12", "SKU-12"), ("12", "12"), ("SKU:", None),
        ("Red reading lamp 4711-B", "4711-B"), ("red reading lamp (4711)", "4711"),
        ("Red reading lamp large", None), ("Red reading 12", "Red reading 12"),
    ],
)  # fmt: skip
def test_product_number_has_no_label_and_is_not_the_name(sku, number):
    assert pin(ld({**LAMP, "sku": sku})).product.sku == number


CART = "<button>Add to cart</button>"


def read_lamp(url: str, body: str, **more: object):
    lamp = {**LAMP, "offers": {"price": "9", "priceCurrency": "EUR"}, **more}
    return pin(f"{ld(lamp)}<h1>Red reading lamp</h1>{body}{CART}", url=url).product


@pytest.mark.parametrize(
    ("url", "body", "number"),
    [
        ("https://a.test/itm/133588510845", "<b>133588510845</b>", "133588510845"),
        ("https://a.test/red-lamp-112949990", "<i data-id='112949990'>", "112949990"),
        ("https://a.test/93133869_red-lamp", "<script>x={id:93133869}</script>", "93133869"),
        ("https://a.test/d/lamp/7235216655.html", "<p>id: 7235216655</p>", "7235216655"),
        ("https://a.test/lamp?v=9&pid=260591", "<p>260591</p>", "260591"),
        ("https://a.test/lamp.html?childSku=A-12b", "<p>a-12B</p>", "a-12B"),
        ("https://a.test/pd/qd1hjfqnc2j", "<p>QD1HJFQNC2J</p>", "QD1HJFQNC2J"),
        # Only in an attribute, a page number, a year, a name.
        ("https://a.test/itm/133588510845", "<a href=/itm/133588510845/b>b</a>", None),
        ("https://a.test/red-lamp-p3698272", "<p>3698272</p>", None),
        ("https://a.test/lamp-2024", "<p>2024</p>", None),
        ("https://a.test/red-lamp-x310m20s", "<p>x310m20s</p>", None),
        ("https://a.test/dp/B00BRMIU7A", "", None),
        # A label takes precedence, except on Amazon, whose labels are those of the manufacturer.
        ("https://a.test/itm/133588510845", "<p>133588510845</p><p>SKU: K-12</p>", "K-12"),
        ("https://www.amazon.de/dp/B00BRMIU7A", "<p>SKU: K-12</p>", "B00BRMIU7A"),
        ("https://www.amazon.co.uk/Lamp/gp/product/B00BRMIU7A?th=1", "", "B00BRMIU7A"),
    ],
)
def test_number_in_the_url_is_the_sku_if_the_page_contains_it(url, body, number):
    assert read_lamp(url, body).sku == number


def test_declared_sku_overrides_the_number_in_the_url():
    assert read_lamp("https://a.test/itm/133588510845", "133588510845", sku="7").sku == "7"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Visit the Pot & Co Store", "Pot & Co"), ("Marca: Pot & Co", "Pot & Co"),
        ("Ver mais artigos da Marca: Pot & Co", "Pot & Co"), ("Pot & Co", "Pot & Co"),
        ("Brand New Pots", "Brand New Pots"), ("Store of Pots", "Store of Pots"),
    ],
)  # fmt: skip
def test_link_text_around_a_brand_is_removed(text, name):
    assert read_lamp("https://a.test/lamp", "", brand=text).brand == name


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("<a href=/brands/luxo>Luxo</a>", "Luxo"),
        ("<p class=brand><a href=/l>Visit the Luxo Store</a></p>", "Luxo"),
        ("<a class=product-brand href=/l>Mehr von Luxo</a>", "Luxo"),
        ("<a href=/marken/luxo>Alle Produkte von Luxo</a>", "Luxo"),
        ("<a href=/brands/other>Other</a>", None),  # the page does not mention it
        ("<nav><a href=/brands/luxo>Luxo</a></nav>", None),
        ("<a href=/brands/luxo>Luxo</a><a href=/brands/red>Red</a>", None),
    ],
)
def test_brand_link_gives_the_brand_if_the_page_mentions_it(link, name):
    body = f"<title>Luxo reading lamp, red</title><h1>Lamp</h1>{link}{CART}"

    assert (
        pin(ld({**LAMP, "offers": {"price": "9", "priceCurrency": "EUR"}}) + body).product.brand
        == name
    )
