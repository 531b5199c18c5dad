"""Categories from breadcrumbs, and numbers of products without labels and names."""

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
def test_the_category_is_the_part_before_the_product(names, category):
    for backwards in (False, True):
        product = pin(ld(LAMP, trail(*names, backwards=backwards))).product

        assert product.category == category


def test_a_declared_category_comes_before_breadcrumbs():
    page = ld({**LAMP, "category": "Light"}, trail("Home", "Lamps"))

    assert pin(page).product.category == "Light"


@pytest.mark.parametrize(
    ("sku", "number"),
    [
        ("SKU: 12-A", "12-A"), ("ASIN: B012345678", "B012345678"), ("Art.-Nr.: 77", "77"),
        ("Red reading lamp", None), ("SKU-12", "SKU-12"), ("12", "12"), ("SKU:", None),
    ],
)  # fmt: skip
def test_a_number_of_a_product_has_no_label_and_is_not_its_name(sku, number):
    assert pin(ld({**LAMP, "sku": sku})).product.sku == number
