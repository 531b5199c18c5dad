"""Ambiguous prices, and how their page resolves them."""

from __future__ import annotations

import pytest
from pins import ld, pin

from richpins.values.money import find_amount

_LAMP = {"@type": "Product", "name": "Lamp"}


@pytest.mark.parametrize(
    ("price", "currency", "shown", "amount"),
    [
        ("3.350", "EUR", "", "3.350"),
        ("140.000", "USD", "<b>$140.00</b>", "140.000"),
        ("1.290", "EUR", "<b>1.290 €</b>", "1290"),
        ("1.290", "EUR", "<b>nur 1.290,00 €</b>", "1290"),
        ("1.290", "EUR", "<b>1&nbsp;290 €</b>", "1290"),
        ("1.290", "SEK", "<b>1290:-</b>", "1290"),
        ("1.299", "EUR", "", "1299"),
        ("350.000", "VND", "", "350000"),
        ("1.290", "HUF", "", "1290"),
        ("3.350", "KWD", "", "3.350"),
        ("0.350", "EUR", "", "0.350"),
        ("1.299.000", "EUR", "", "1299000"),
    ],
)
def test_three_decimals_in_markup_are_resolved_by_the_price_shown(price, currency, shown, amount):
    offer = {"@type": "Offer", "price": price, "priceCurrency": currency}
    tags = (
        '<meta property="og:type" content=product><meta property="og:title" content=Lamp>'
        f'<meta property="product:price:amount" content="{price}">'
        f'<meta property="product:price:currency" content="{currency}">'
    )
    item = (
        '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Lamp</h1>'
        '<div itemprop=offers itemscope itemtype="https://schema.org/Offer">'
        f'<meta itemprop=price content="{price}"><meta itemprop=priceCurrency content="{currency}">'
        "</div></div>"
    )
    for markup in (ld({**_LAMP, "offers": offer}), tags, item):
        assert str(pin(markup + shown).product.price) == amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2 pairs from $349", 349), ("Pack of 6 from $12", 12), ("3 for $10", None),
        ("2 pairs for $10", None), ("3 pieces for $10", None), ("4 Stück für 10 €", None),
    ],
)  # fmt: skip
def test_number_of_pieces_is_not_a_price(text, amount):
    assert find_amount(text) == amount


@pytest.mark.parametrize(
    ("language", "url", "more", "currency"),
    [
        ("en", "https://a.com/x", "", "USD"), ("en-US", "https://a.com/x", "", "USD"),
        ("en-CA", "https://a.com/x", "", "CAD"), ("en", "https://a.com.au/x", "", "AUD"),
        ("en", "https://a.com/x", "All prices in AUD", None),
        ("en", "https://a.com/x", "Made in Canada", None), ("es", "https://a.com/x", "", None),
        ("", "https://a.com/x", "", None),
    ],
)  # fmt: skip
def test_dollar_is_usd_unless_the_page_suggests_otherwise(language, url, more, currency):
    offer = {"@type": "Offer", "price": "$349"}
    page = f"<html lang='{language}'>{ld({**_LAMP, 'offers': offer})}<p>{more}"
    product = pin(page, url).product

    assert (product.currency if product else None) == currency


@pytest.mark.parametrize(
    "price",
    [
        "$<strong>100</strong><sup>.00</sup>",
        "<span>$</span><span>100</span><sup>00</sup>",
        "US$ <b>100</b><small>.00</small>",
    ],
)
def test_cents_in_a_separate_element_belong_to_the_price(price):
    page = (
        '<html lang=en><meta property="og:type" content=product><h1>Card</h1>'
        f'<p>Free shipping on orders over $35.00</p><ul><li class="price">{price}</li></ul>'
    )

    assert str(pin(page, "https://a.com/x").product.price) == "100.00"
