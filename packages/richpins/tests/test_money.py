"""Finding the price and its currency in a text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from richpins.extraction import extract
from richpins.values.money import find_amount, find_currency


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("after", None), ("TOPAZ RING 120.00", None), ("RING ON TOP 120.00", None),
        ("TOP 120.00", "TOP"), ("120.00 TRY", "TRY"), ("US$", "USD"), ("US$ 12.00", "USD"),
        ("12 руб", "RUB"), ("12 руб.", "RUB"), ("12 грн.", "UAH"), ("980円", "JPY"),
        ("1,200원", "KRW"), ("R$ 12,00", "BRL"), ("1.299 €", "EUR"), ("12,00 zł", "PLN"),
        ("KD 1.250", "KWD"), ("5 000 Ft", "HUF"), ("eur", "EUR"), ("EUR1,299", "EUR"),
        ("$5", None), ("12 kr", None), ("", None), ("99 Luftballons", None), ("€", "EUR"),
        ("from 12 to 14", None), ("5 ft", "HUF"), ("craft 5", None),
    ],
)  # fmt: skip
def test_currency_is_a_symbol_or_code_alone_or_next_to_a_number(text, code):
    assert find_currency(text) == code


@pytest.mark.parametrize(
    ("text", "country", "code"),
    [("$5", "au", "AUD"), ("$5", "us", "USD"), ("12 kr", "se", "SEK"), ("Rs. 500", "pk", "PKR"),
     ("$5", "de", None), ("US$5", "au", "USD")],
)  # fmt: skip
def test_shared_symbol_is_resolved_by_the_country_of_the_page(text, country, code):
    assert find_currency(text, country) == code


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("40% OFF", None), ("40% OFF $60", "60"), ("Was $120 Now $60", "60"),
        ("Now $60, was $120", "60"), ("2 Litre $3.50", "3.50"), ("2 Litre 3.50", "3.50"),
        ("$12.99 - $15.99", "12.99"), ("1 299,00 zł", "1299.00"), ("12", "12"),
        ("12.00", "12.00"), ("-5", "-5"), ("RRP £20 £15", "15"), ("statt 20 € 15 €", "15"),
        ("free", None), ("980円", "980"), ("Rs. 500", "500"), ("€1.299", "1299"),
        ("١٢٫٥", "12.5"), ("۱٬۲۹۹٫۵۰", "1299.50"), ("1 234 567 ₽", "1234567"), ("3x 12,00 €", "12.00"),
    ],
)  # fmt: skip
def test_current_price_is_taken_from_several_numbers(text, amount):
    price = find_amount(text, find_currency(text) or "XXX")
    assert price == (Decimal(amount) if amount else None)


@pytest.mark.parametrize("text", ["1.250", "1,250", "KD 1.250"])
def test_currency_with_three_decimals_keeps_them(text):
    assert str(find_amount(text, "KWD")) == "1.250"


def test_long_text_of_digits_and_symbols_is_not_a_price():
    assert find_amount("$1 " * 1_000) is None


def test_price_in_open_graph_makes_a_product_without_a_type():
    rich_pin = extract(
        b"<meta property=og:price:amount content=12.50><meta property=og:price:currency "
        b"content=EUR><title>Mug</title>",
        "https://a.test/mug",
    )
    assert (rich_pin.type, rich_pin.product.price, rich_pin.product.currency) == (
        "product", Decimal("12.50"), "EUR",
    )  # fmt: skip


def test_current_price_is_taken_from_a_microdata_text_with_the_old_one():
    rich_pin = extract(
        "<div itemscope itemtype=http://schema.org/Product><b itemprop=name>Mug</b>"
        "<div itemprop=offers itemscope itemtype=http://schema.org/Offer>"
        "<span itemprop=price>Was £120 Now £60</span></div></div>".encode(),
        "https://a.test/mug",
        "text/html; charset=utf-8",
    )
    assert (rich_pin.product.price, rich_pin.product.currency) == (Decimal(60), "GBP")


def test_dollar_is_resolved_by_the_country_of_the_host():
    rich_pin = extract(
        b"<div itemscope itemtype=http://schema.org/Product><b itemprop=name>Mug</b>"
        b"<div itemprop=offers itemscope itemtype=http://schema.org/Offer>"
        b"<span itemprop=price>$60</span></div></div>",
        "https://shop.com.au/mug",
    )
    assert (rich_pin.product.price, rich_pin.product.currency) == (Decimal(60), "AUD")


SHOP = (
    '<h1>Mug</h1><div class="box"><span class="price-old">20,00 €</span>'
    '<span class="price">12,50 €</span></div><button>In den Warenkorb</button>'
)


def mug_pin(body: str, url: str = "https://a.test/mug"):
    return extract(f"<title>Mug</title>{body}".encode(), url, "text/html; charset=utf-8")


def test_price_next_to_a_cart_button_makes_a_product_without_markup():
    rich_pin = mug_pin(SHOP)
    assert (rich_pin.type, rich_pin.title) == ("product", "Mug")
    assert (rich_pin.product.price, rich_pin.product.currency) == (Decimal("12.50"), "EUR")


@pytest.mark.parametrize(
    "css_class", ["price font-bold", "price-holder gold", "price before:block"]
)
def test_styling_classes_do_not_make_a_price_a_former_one(css_class):
    assert mug_pin(SHOP.replace('"price"', f'"{css_class}"')).product.price == Decimal("12.50")


@pytest.mark.parametrize(
    "css_class", ["oldPrice", "price line-through", "compare-price", "priceWas"]
)
def test_former_price_is_recognized_by_its_class(css_class):
    assert mug_pin(SHOP.replace("price-old", css_class)).product.price == Decimal("12.50")


@pytest.mark.parametrize(
    "body",
    [
        SHOP.replace("Warenkorb", "Garten"),
        SHOP.replace("€", "units"),
        SHOP.replace("h1", "h2"),
        "<h1>Mugs</h1>" + '<div class=card><b class="price">5 €</b></div>' * 4 + "add to cart",
        '<h1>Mugs</h1><a href=/x><b class="price">5 €</b></a>add to cart',
    ],
)
def test_prices_on_lists_and_pages_without_a_cart_make_no_product(body):
    assert mug_pin(body).type == "page"


def test_product_without_a_declared_price_gets_the_one_shown():
    markup = "<div itemscope itemtype=http://schema.org/Product><b itemprop=name>Mug</b></div>"
    assert mug_pin(markup + SHOP).product.price == Decimal("12.50")


def test_declared_product_gets_the_price_shown_without_a_cart():
    markup = "<div itemscope itemtype=http://schema.org/Product><b itemprop=name>Mug</b></div>"
    body = '<h1>Mug</h1><p class="cena">12,50 €</p>'
    assert mug_pin(markup + body).product.price == Decimal("12.50")
    assert mug_pin(body).product is None


@pytest.mark.parametrize(
    "metas",
    [
        "<meta property=og:price content='12.50€'>",
        (
            "<meta property=og:type content=product><meta name=twitter:label1 content=Price>"
            "<meta name=twitter:data1 content='€12.50'>"
        ),
    ],
)
def test_price_and_currency_in_one_meta_element_are_parsed(metas):
    product = extract(metas.encode(), "https://a.test/mug", "text/html; charset=utf-8").product
    assert (product.price, product.currency) == (Decimal("12.50"), "EUR")


def test_minus_sign_after_a_currency_belongs_to_the_amount():
    assert [find_amount(text) for text in ("£-5", "USD -5", "-£5")] == [Decimal(-5)] * 3
    assert [find_amount(text) for text in ("EUR 5-10", "CHF 5.-")] == [Decimal(5)] * 2
    assert find_currency("U.S. $") == "USD"
