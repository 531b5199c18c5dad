"""Former prices beside the price of a product, fees beside it, and signs in place of decimals."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pins import ld, pin

from richpins.values import money


def shop(prices: str, language: str = "en-US", head: str = ""):
    """The product of a page with these prices and a cart."""
    return pin(
        f'<html lang="{language}"><title>Lamp</title><meta property=og:type content=product>{head}'
        f"<h1>Lamp</h1><main>{prices}<button>Add to cart</button></main></html>"
    ).product


def availability_of(stock: str) -> str | None:
    """The availability of a product on a page without a cart."""
    return pin(
        "<title>Lamp</title><meta property=og:type content=product><h1>Lamp</h1>"
        f'<b class="price">$38.00</b>{stock}'
    ).product.availability


@pytest.mark.parametrize(
    ("prices", "language"),
    [
        ('<div class="price-box"><del>45,00 €</del> <b class="price">38,00 €</b></div>', "de"),
        ('<div class="price"><s>45,00 €</s> 38,00 €</div>', "fr"),
        ('<p class="price"><span class="old">45,00 €</span> <span>38,00 €</span></p>', "es"),
        ('<span class="price">38,00 €</span> <span class="price-uvp">UVP 45,00 €</span>', "de"),
        (
            (
                '<div class="price-wrap"><b>38,00 €</b> '
                '<span style="text-decoration: line-through">45,00 €</span></div>'
            ),
            "nl",
        ),
        (
            (
                '<div class="price"><span class="price-discount">-16%</span><b>38,00 €</b>'
                '<span class="crossed-out">45,00 €</span></div>'
            ),
            "it",
        ),
        (
            (
                '<div><span class="price">38,00 €</span></div>'
                '<span class="price-before">Lowest price before the sale: 45,00 €</span>'
            ),
            "en-IE",
        ),
    ],
)
def test_price_struck_out_or_called_old_is_the_list_price(prices, language):
    product = shop(prices, language)

    assert (product.price, product.list_price) == (Decimal("38.00"), Decimal("45.00"))


def test_declared_price_has_the_list_price_that_the_page_shows_beside_it():
    offer = {"@type": "Offer", "price": "38.00", "priceCurrency": "USD"}
    markup = ld({"@type": "Product", "name": "Lamp", "offers": offer})
    product = shop('<del>$45.00</del> <b class="price">$38.00</b>', head=markup)

    assert (product.price, product.list_price) == (Decimal("38.00"), Decimal("45.00"))


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "<del>$5.00</del>",
        '<del hidden class="price">$45.00</del>',
        '<ul><li><a href=/b><del class="price">$45.00</del> $40.00</a></li></ul>',
        '<span class="price-old" style="display: none">$45.00</span>',
        '<del class="price">45.00 €</del>',
    ],
    ids=["none", "lower", "hidden", "other product", "style", "other currency"],
)
def test_other_amount_beside_a_price_is_not_the_list_price(beside):
    product = shop(f'<div><b class="price">$38.00</b> {beside}</div>')

    assert (product.price, product.list_price) == (Decimal("38.00"), None)


@pytest.mark.parametrize(
    ("note", "language"),
    [
        ("Free shipping over 50 €", "en-IE"),
        ("Versandkosten 4,90 €", "de"),
        ("Kostenloser Versand ab 50 €", "de"),
        ("Livraison gratuite dès 50 €", "fr"),
        ("Envío gratis desde 50 €", "es"),
        ("Gratis verzending vanaf 50 €", "nl"),
        ("You save 20 €", "en-IE"),
        ("Sie sparen 20 €", "de"),
        ("Ahorras 20 €", "es"),
        ("zzgl. Pfand 0,25 €", "de"),
    ],
)
def test_fee_saving_or_threshold_in_an_element_called_price_is_not_the_price(note, language):
    product = shop(f'<p class="price-note">{note}</p><b class="price">38,00 €</b>', language)

    assert product.price == Decimal("38.00")


@pytest.mark.parametrize("text", ["Price incl. shipping: 38,00 €", "inkl. Versand 38,00 €"])
def test_price_that_includes_a_fee_is_the_price(text):
    assert shop(f'<b class="price">{text}</b>', "de").price == Decimal("38.00")


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("49,- Kč", "49", "CZK"),
        ("49,-- €", "49", "EUR"),
        ("1.299,- €", "1299", "EUR"),
        ("49,– €", "49", "EUR"),
        ("CHF 49.–", "49", "CHF"),
        ("₹ 1,500/-", "1500", "INR"),
        ("35,-Kč", "35", "CZK"),
    ],
)
def test_signs_in_place_of_decimals_do_not_hide_the_currency(text, amount, currency):
    assert money.find_currency(text) == currency
    assert money.find_amount(text, currency) == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "availability"),
    [
        ("0 in stock", "out_of_stock"),
        ("0 NEW IN STOCK", "out_of_stock"),
        ("0 Stück auf Lager", "out_of_stock"),
        ("In stock: 0", "out_of_stock"),
        ("10 in stock", "in_stock"),
        ("20 units in stock", "in_stock"),
        ("In stock. Ships tomorrow", "in_stock"),
        ("Out of stock. Notify me", "out_of_stock"),
        ("Not available. See similar items below.", "out_of_stock"),
        ("Nicht verfügbar", "out_of_stock"),
    ],
)
def test_number_and_first_sentence_decide_the_availability(text, availability):
    assert availability_of(f'<div class="availability">{text}</div>') == availability


@pytest.mark.parametrize(
    ("row", "availability"),
    [
        ("<dt>Stock</dt><dd>0</dd>", "out_of_stock"),
        ("<dt>Lagerbestand</dt><dd>12 Stück</dd>", "in_stock"),
        ("<dt>In stock</dt><dd>No</dd>", "out_of_stock"),
        ("<dt>In stock</dt><dd>Yes</dd>", "in_stock"),
        ("<dt>Gift wrap</dt><dd>Not available</dd>", None),
    ],
)
def test_number_behind_a_label_for_the_stock_is_the_availability(row, availability):
    assert availability_of(f"<dl>{row}</dl>") == availability


@pytest.mark.parametrize(
    ("declared", "availability"),
    [
        ("onbackorder", "back_order"),
        ("Available on backorder", "back_order"),
        ("Coming soon", "pre_order"),
        ("Low stock", "limited"),
        ("temporarily out of stock", "out_of_stock"),
    ],
)
def test_names_of_shop_programs_for_the_availability_are_known(declared, availability):
    offer = {"@type": "Offer", "price": "9", "priceCurrency": "EUR", "availability": declared}

    page = pin(ld({"@type": "Product", "name": "Lamp", "offers": offer}))

    assert page.product.availability == availability


@pytest.mark.parametrize(
    "beside",
    [
        '<div class="price-badge">5,00 € Coupon</div>',
        '<div class="price-badge">Gutschein 5,00 €</div>',
        '<div class="price-option">Include 3-Year Protection for 7,47 €</div>',
        '<div class="price-club">33,00 €</div>',
        '<div class="price">Mitgliederpreis 33,00 €</div>',
        '<div class="price-recommended">30,00 €</div>',
    ],
)
def test_coupon_extra_or_price_for_members_is_not_the_price(beside):
    product = shop(f'{beside}<b class="price">38,00 €</b>', "de")

    assert product.price == Decimal("38.00")


def test_recommended_price_that_is_higher_is_the_list_price():
    product = shop('<i class="price-recommended">45 €</i> <b class="price">38 €</b>', "de")

    assert (product.price, product.list_price) == (Decimal(38), Decimal(45))


@pytest.mark.parametrize(
    "price",
    [
        '<div class="price-regular">$38.00</div>',
        '<div class="price__regular"><span class="price-item--regular">$38.00</span></div>',
        (
            '<span class="a-price"><span class="a-offscreen">$38.00</span><span><i>$</i>'
            '<b class="a-price-whole">38<i>.</i></b><b class="a-price-fraction">00</b></span></span>'
        ),
    ],
    ids=["regular", "shopify", "whole and parts"],
)
def test_only_price_of_a_page_is_the_price_whatever_it_is_called(price):
    assert shop(price).price == Decimal("38.00")


@pytest.mark.parametrize(
    ("stock", "availability"),
    [
        ("<p>More on order</p>", "back_order"),
        ("<p>Available on backorder</p>", "back_order"),
        ("<p>Sur commande</p>", "back_order"),
        ("<button>Pre-order now</button>", "pre_order"),
        ("<button>Jetzt vorbestellen</button>", "pre_order"),
        ("<button>Add to cart</button>", "in_stock"),
        ("<p>Out of stock</p><button>Pre-order</button>", "out_of_stock"),
    ],
)
def test_order_before_there_is_stock_is_not_in_stock(stock, availability):
    assert availability_of(stock) == availability
