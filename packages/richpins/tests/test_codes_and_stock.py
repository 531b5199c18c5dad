"""Product tags, properties outside items, and texts about stock."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pins import ld, pin

HEAD = "<title>Lamp</title><meta property=og:type content=product><meta property=og:title content=Lamp>"


def product_of(head: str, body: str = "", language: str = "en"):
    """The product of a page with this head and body."""
    return pin(f'<html lang="{language}">{HEAD}{head}<h1>Lamp</h1>{body}</html>').product


@pytest.mark.parametrize(
    ("tag", "field", "value"),
    [
        ("product:retailer_item_id", "sku", "LA-7"),
        ("product:retailer_part_no", "sku", "LA-7"),
        ("product:mfr_part_no", "mpn", "X200"),
        ("product:gtin", "gtin", "4006381333931"),
        ("product:ean", "gtin", "4006381333931"),
        ("product:upc", "gtin", "012345678905"),
        ("product:isbn", "gtin", "9783161484100"),
        ("product:color", "color", "Red"),
        ("product:size", "size", "M"),
        ("product:material", "material", "Oak"),
    ],
)
def test_tags_of_a_product_are_read(tag, field, value):
    assert getattr(product_of(f'<meta property="{tag}" content="{value}">'), field) == value


def test_number_in_the_markup_or_the_text_precedes_that_of_a_tag():
    tag = '<meta property="product:retailer_item_id" content="99">'
    item = ld({"@type": "Product", "name": "Lamp", "sku": "LA-7"})

    assert product_of(tag + item).sku == "LA-7"
    assert product_of(tag, "<p>SKU: <b>LA-8</b></p>").sku == "LA-8"


@pytest.mark.parametrize("value", ["available for order", "available_for_order"])
def test_what_is_available_for_order_is_not_in_stock(value):
    tag = f'<meta property="product:availability" content="{value}">'

    assert product_of(tag).availability == "back_order"


def test_properties_outside_items_describe_the_product():
    head = (
        '<meta itemprop="price" content="1215.00"><meta itemprop="priceCurrency" content="INR">'
        '<meta itemprop="availability" content="InStock"><meta itemprop="sku" content="J-1">'
    )
    product = product_of(head)

    assert (product.price, product.currency) == (Decimal("1215.00"), "INR")
    assert (product.availability, product.sku) == ("in_stock", "J-1")


@pytest.mark.parametrize(
    "brand",
    [
        "<p itemprop=brand>ACME</p>",
        "<meta itemprop=brand content=ACME>",
        "<div itemprop=brand itemscope itemtype='https://schema.org/Brand'><b itemprop=name>ACME</b></div>",
        "<a itemprop=brand href=/acme>ACME</a>",
    ],
)
def test_brand_outside_items_is_that_of_the_declared_product(brand):
    item = ld(
        {"@type": "Product", "name": "Lamp", "offers": {"price": "9", "priceCurrency": "USD"}}
    )
    product = product_of(item, brand)

    assert (product.brand, product.price) == ("ACME", Decimal(9))


def test_declared_values_precede_those_outside_items():
    item = ld(
        {
            "@type": "Product",
            "name": "Lamp",
            "brand": "Pot & Co",
            "offers": {"price": "9", "priceCurrency": "USD"},
        }
    )
    product = product_of(item, "<p itemprop=brand>ACME</p><p itemprop=price content=12>")

    assert (product.brand, product.price) == ("Pot & Co", Decimal(9))


def test_properties_of_several_products_outside_items_are_ignored():
    prices = "".join(
        f"<p><b itemprop=price content={n}>${n}</b><b itemprop=brand>B{n}</b></p>"
        for n in (5, 7, 9)
    )

    assert product_of("<meta itemprop=priceCurrency content=USD>", prices).brand is None


def test_price_outside_items_does_not_make_a_page_a_product():
    page = pin("<title>News</title><h1>News</h1><p itemprop=price content=5>five</p>")

    assert page.type != "product"


@pytest.mark.parametrize(
    "item",
    [
        (
            "<link itemprop=itemCondition itemscope itemtype='http://schema.org/OfferItemCondition' "
            "href='http://schema.org/NewCondition'>"
        ),
        (
            "<meta itemprop=itemCondition itemscope itemtype='http://schema.org/OfferItemCondition' "
            "content='http://schema.org/NewCondition'>"
        ),
        (
            "<a itemprop=itemCondition itemscope itemtype='http://schema.org/OfferItemCondition' "
            "href='http://schema.org/NewCondition'>Neuf</a>"
        ),
        (
            "<span itemprop=itemCondition itemscope itemtype='http://schema.org/OfferItemCondition' "
            "content='NewCondition'>Neuf</span>"
        ),
    ],
)
def test_item_without_properties_has_the_value_of_its_attribute(item):
    page = pin(
        "<title>Lamp</title><div itemscope itemtype='https://schema.org/Product'>"
        "<h1 itemprop=name>Lamp</h1><div itemprop=offers itemscope "
        f"itemtype='https://schema.org/Offer'>{item}<meta itemprop=price content=5>"
        "<meta itemprop=priceCurrency content=EUR></div></div>"
    )

    assert page.product.condition == "new"


@pytest.mark.parametrize(
    ("written", "gtin"),
    [
        ("012345678905", "012345678905"),
        ("0012345678905", "0012345678905"),
        ("4006381333931", "4006381333931"),
    ],
)
@pytest.mark.parametrize("name", ["gtin", "gtin12", "gtin13"])
def test_code_without_quotation_marks_keeps_its_zero(written, gtin, name):
    text = (
        '<script type="application/ld+json">{"@type": "Product", "name": "Soap", '
        f'"{name}": {written}, "offers": {{"price": 6.5, "priceCurrency": "USD"}}}}</script>'
    )
    product = pin(f"<title>Soap</title>{text}").product

    assert (product.gtin, product.price) == (gtin, Decimal("6.5"))


@pytest.mark.parametrize("price", ["06.50", "00.50", "0.5", "0"])
def test_price_with_a_zero_in_front_is_a_number(price):
    text = (
        '<script type="application/ld+json">{"@type": "Product", "name": "Soap", "x": 01, '
        f'"offers": {{"price": {price}, "priceCurrency": "USD"}}}}</script>'
    )

    assert pin(f"<title>Soap</title>{text}").product.price == Decimal(price)


@pytest.mark.parametrize(("value", "worst"), [("0", "1"), ("0.0", "1"), ("0", "0.5")])
def test_rating_below_the_worst_one_is_none(value, worst):
    rating = {"ratingValue": value, "worstRating": worst, "bestRating": "5", "reviewCount": "3"}
    item = {"@type": "Product", "name": "Lamp", "aggregateRating": rating}

    assert pin(ld(item)).product.rating is None


@pytest.mark.parametrize(("value", "worst"), [("1", "1"), ("4.5", "1"), ("2", "5")])
def test_rating_in_its_range_is_read_even_if_the_ends_are_swapped(value, worst):
    rating = {"ratingValue": value, "worstRating": worst, "reviewCount": "3"}
    best = {"bestRating": "1"} if worst == "5" else {"bestRating": "5"}
    item = {"@type": "Product", "name": "Lamp", "aggregateRating": rating | best}

    assert pin(ld(item)).product.rating.value == Decimal(value)


@pytest.mark.parametrize(
    ("phrase", "button", "language"),
    [
        ("OUT OF STOCK.", "Auto Notify", "en"),
        ("Out of stock", "Notify me when available", "en"),
        ("Sold out", "Email me when back in stock", "en"),
        ("Sold out", "Join the waitlist", "en"),
        ("Ausverkauft", "Benachrichtigen", "de"),
        ("Nicht auf Lager", "Benachrichtige mich", "de"),
        ("Rupture de stock", "Prévenez-moi", "fr"),
        ("Agotado", "Avísame", "es"),
        ("Esaurito", "Avvisami", "it"),
        ("Esgotado", "Avise-me", "pt-BR"),
        ("Uitverkocht", "Houd mij op de hoogte", "nl"),
        ("Vyprodáno", "Hlídat dostupnost", "cs"),
        ("Brak w magazynie", "Powiadom o dostępności", "pl"),
        ("Нет в наличии", "Уведомить о поступлении", "ru"),
        ("Slutsåld", "Bevaka", "sv"),
    ],
)
def test_notice_in_place_of_the_cart_means_sold_out_despite_the_cart_of_a_set(
    phrase, button, language
):
    body = (
        f"<p><strong>{phrase}</strong></p><div><button>{button}</button></div>"
        '<div class="set"><button class="small">Add to cart</button></div>'
    )

    assert product_of("", body, language).availability == "out_of_stock"


def test_contradicting_texts_without_a_notice_stay_unknown():
    body = "<p>Sold out</p><button>Add to cart</button>"

    assert product_of("", body).availability is None


@pytest.mark.parametrize("number", ["<p>SKU: <b>HD-24</b></p>", "<p>EAN: <b>4006381333931</b></p>"])
@pytest.mark.parametrize(
    "stock",
    [
        "<div id=availability><b>Currently unavailable.</b></div>",
        "<div class=stock-status>Derzeit nicht verfügbar</div>",
        "<p class=availability>Épuisé</p>",
        "<div id=outOfStock><b>Currently unavailable.</b><br>Nobody knows when we have it.</div>",
    ],
)
def test_page_of_a_numbered_product_without_a_price_is_that_of_a_product(number, stock):
    page = pin(f"<title>Disk</title><h1>Disk</h1>{number}{stock}")

    assert (page.type, page.product.availability) == ("product", "out_of_stock")
    assert page.product.price is None


@pytest.mark.parametrize(
    "body",
    [
        "<div id=availability><b>Currently unavailable.</b></div>",
        "<p>SKU: <b>HD-24</b></p>",
        "<p>SKU: <b>HD-24</b></p><p>The disk is sold out.</p>",
    ],
)
def test_number_or_stock_alone_makes_no_product(body):
    assert pin(f"<title>Disk</title><h1>Disk</h1>{body}").type == "page"


@pytest.mark.parametrize(
    ("label", "text", "expected"),
    [
        ("Availability", "In stock", "in_stock"),
        ("Availability:", "Out of stock", "out_of_stock"),
        ("Verfügbarkeit", "Auf Lager", "in_stock"),
        ("Disponibilité", "Rupture de stock", "out_of_stock"),
        ("Beschikbaarheid", "Op voorraad", "in_stock"),
        ("Written by", "In stock", None),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_label_of_a_card_states_the_stock(label, text, expected, number):
    card = (
        f'<meta name="twitter:label{number}" content="{label}">'
        f'<meta name="twitter:data{number}" content="{text}">'
    )

    assert product_of(card).availability == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Artikel kann derzeit nicht gekauft werden.",
        "This item cannot be purchased.",
        "Not available for purchase",
    ],
)
def test_what_cannot_be_bought_is_not_in_stock(sentence):
    body = f'<div class="availability"><span>In stock</span></div><p>{sentence}</p>'

    assert product_of("", body).availability is None
    assert product_of("", f"<p>{sentence}</p>").availability == "out_of_stock"
