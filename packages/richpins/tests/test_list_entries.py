"""A page that lists items of one type is not about any single one."""

from __future__ import annotations

import pytest
from pins import ld, pin

SHOES = [
    {
        "@type": "Product",
        "name": f"Shoe {number}",
        "url": f"https://a.test/s{number}",
        "offers": {"@type": "Offer", "price": str(10 + number), "priceCurrency": "EUR"},
    }
    for number in range(1, 6)
]
ENTRIES = {
    "@type": "ItemList",
    "itemListElement": [
        {"@type": "ListItem", "position": number, "item": shoe}
        for number, shoe in enumerate(SHOES, 1)
    ],
}
CARDS = "".join(
    f"<div itemscope itemtype=http://schema.org/Product><b itemprop=name>Shoe {number}</b>"
    "<p itemprop=offers itemscope itemtype=http://schema.org/Offer>"
    f"<meta itemprop=price content={number}0><meta itemprop=priceCurrency content=EUR></div>"
    for number in range(5)
)
LISTS = {
    "an ItemList": ld(ENTRIES),
    "a CollectionPage": ld({"@type": "CollectionPage", "name": "Shoes", "mainEntity": ENTRIES}),
    "sibling items": ld(*SHOES),
    "microdata": CARDS,
}
HEAD = "<title>Shoes | Shop</title><h1>Shoes</h1>"


@pytest.mark.parametrize("markup", LISTS.values(), ids=LISTS.keys())
def test_category_page_is_not_its_first_product(markup: str) -> None:
    rich_pin = pin(HEAD + markup)
    assert (rich_pin.type, rich_pin.product) == ("page", None)
    assert rich_pin.title in {"Shoes", "Shoes | Shop"}


def test_blog_is_not_its_newest_post() -> None:
    posts = [{"@type": "BlogPosting", "headline": f"About {name}"} for name in ("a", "b", "c")]
    assert pin("<title>My diary</title><h1>My diary</h1>" + ld(*posts)).type == "page"


def test_calendar_is_not_its_first_event() -> None:
    events = [{"@type": "Event", "name": f"Concert {name}"} for name in ("a", "b", "c")]
    rich_pin = pin("<title>Calendar</title><h1>Calendar</h1>" + ld(*events))
    assert (rich_pin.title, rich_pin.types) == ("Calendar", ())


@pytest.mark.parametrize(
    "declared",
    [
        "<title>Shoe 3 | Shop</title>",
        "<link rel=canonical href=https://a.test/s3>",
    ],
    ids=["title", "canonical URL"],
)
def test_product_named_by_the_page_is_its_subject_among_related_ones(declared: str) -> None:
    rich_pin = pin(declared + ld(*SHOES))
    assert rich_pin.product is not None
    assert str(rich_pin.product.price) == "13"


def test_og_type_product_outweighs_other_products_on_the_page() -> None:
    declared = '<meta property="og:type" content="product">'
    assert pin(HEAD + declared + ld(*SHOES)).type == "product"
