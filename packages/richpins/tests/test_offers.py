"""Offers of every shape: which price a buyer pays, and in which currency."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pins import ld, pin

from richpins.extraction import extract

IN_STOCK, SOLD_OUT = "https://schema.org/InStock", "https://schema.org/SoldOut"


def product_with(offers, **properties):
    return pin(ld({"@type": "Product", "name": "Mug", "offers": offers, **properties})).product


def price_offer(price, **properties):
    return {"@type": "Offer", "price": price, "priceCurrency": "EUR", **properties}


def offer_with(*specifications):
    return {"@type": "Offer", "priceSpecification": list(specifications)}


def specification(price, kind="UnitPriceSpecification", **properties):
    return {"@type": kind, "price": price, "priceCurrency": "EUR", **properties}


DELIVERY = specification(5, "DeliveryChargeSpecification")
MEMBERS = specification(9, validForMemberTier={"name": "Gold"})
LITERS = {"value": "4.5", "unitCode": "LTR"}


@pytest.mark.parametrize(
    ("offer", "price"),
    [
        (offer_with(DELIVERY, specification(20)), "20"),
        (offer_with(specification(3, "PaymentChargeSpecification"), specification(20)), "20"),
        (offer_with(MEMBERS, specification(20)), "20"),
        (offer_with(specification(9, eligibleQuantity={"minValue": 10}), specification(20)), "20"),
        (offer_with(specification(9, priceComponentType="Installment"), specification(20)), "20"),
        (offer_with(specification(30, priceType="ListPrice"), specification(20)), "20"),
        (offer_with(specification(8, priceType="InvoicePrice"), specification(20)), "20"),
        (offer_with({"minPrice": 20, "maxPrice": 25, "priceCurrency": "EUR"}), "20"),
        (offer_with(specification(20, referenceQuantity=LITERS | {"valueReference": LITERS})), "20"),
        (offer_with(specification(20, referenceQuantity=LITERS)), None),
        (offer_with(specification(20, unitCode="KGM")), None),
        (offer_with(specification(20, unitCode="C62")), "20"),
        (offer_with(DELIVERY), None),
        (offer_with(MEMBERS), None),
        ({"minPrice": 20, "maxPrice": 25, "priceCurrency": "EUR"}, "20"),
        ({"price": {"value": "20", "currency": "EUR"}}, "20"),
        ({"price": "call us", "lowPrice": 20, "priceCurrency": "EUR"}, "20"),
        ({"price": "20", "priceCurrency": "http://schema.org/EUR"}, "20"),
        ({"price": "$20", "priceCurrency": "EUR"}, "20"),
        ({"price": "US$20", "priceCurrency": "EUR"}, None),
        ({"price": "€20", "priceCurrency": "US dollars"}, None),
        ({"@type": "AggregateOffer", "priceCurrency": "EUR", "offers": [{"price": 20}]}, "20"),
        ({"@type": "AggregateOffer", "priceCurrency": "EUR", "minPrice": 20, "maxPrice": 25}, "20"),
        ([price_offer(9, eligibleQuantity={"minValue": 10}), price_offer(20)], "20"),
        ([price_offer(9, businessFunction="http://purl.org/goodrelations/v1#LeaseOut"), price_offer(20)], "20"),
        (price_offer("2 for €5"), None),
    ],
)  # fmt: skip
def test_price_is_what_a_buyer_pays_for_one_piece(offer, price):
    product = product_with(offer)

    assert product.price == (Decimal(price) if price else None)
    assert product.currency == ("EUR" if price else None)


def test_currency_of_the_product_applies_to_its_offers():
    assert product_with({"price": 3}, priceCurrency="EUR").currency == "EUR"


SELLERS = [
    price_offer(8, availability=SOLD_OUT, seller={"name": "A"}, itemCondition="UsedCondition"),
    price_offer(10, availability=IN_STOCK, seller={"name": "B"}, itemCondition="NewCondition"),
    price_offer(12, availability=IN_STOCK, seller={"name": "C"}, itemCondition="UsedCondition"),
]


@pytest.mark.parametrize(
    "offers",
    [
        SELLERS,
        SELLERS[::-1],
        {"@type": "AggregateOffer", "lowPrice": 8, "priceCurrency": "EUR", "offers": SELLERS},
    ],
)
def test_price_availability_and_seller_come_from_the_same_available_offer(offers):
    product = product_with(offers)

    assert (product.price, product.availability) == (10, "in_stock")
    assert (product.seller, product.condition) == ("B", "new")


def test_price_takes_no_availability_from_a_rejected_offer():
    product = product_with([price_offer(8), price_offer(6, availability=SOLD_OUT)])

    assert (product.price, product.availability) == (8, None)


def test_lowest_price_is_used_if_all_offers_are_sold_out():
    product = product_with(
        [price_offer(8, availability=SOLD_OUT), price_offer(6, availability=SOLD_OUT)]
    )

    assert (product.price, product.price_high, product.availability) == (6, 8, "sold_out")


def test_list_price_below_the_price_is_ignored():
    offer = offer_with(specification(20), specification(15, priceType="ListPrice"))

    assert product_with(offer).list_price is None


MICRODATA, RDFA = ("itemscope itemtype", "itemprop"), ("typeof", "property")


@pytest.mark.parametrize(("item", "name"), [MICRODATA, RDFA])
@pytest.mark.parametrize(
    ("shown", "price"),
    [
        ("<b {n}=price>$<b>12</b><sup>99</sup></b>", "12.99"),
        ("<b {n}=price>$<b>12</b><i class=cents>99</i></b>", "12.99"),
        ("<b {n}=price>$<b>12</b><b>99</b></b>", "12.99"),
        ("<b {n}=price>$229<i class=rightEndPrice>99</i></b>", "229.99"),
        ("<b {n}=price>$<b>1</b><b>,299</b></b>", "1299"),
        ("<b {n}=price><del>20</del><ins>15</ins></b>", "15"),
        ("<b {n}=price>15 <i>($30 / kg)</i></b>", "15"),
        ("<b {n}=price content='.75'>x</b>", "0.75"),
        ("<data {n}=price value=1.25E7>x</data>", "12500000"),
        ("<b {n}=minPrice>5</b><b {n}=maxPrice>9</b>", "5"),
    ],
)
def test_cents_and_former_prices_are_read_as_shown(item, name, shown, price):
    body = (
        f"<div {item}='http://schema.org/Product'><h1 {name}=name>Mug</h1>"
        f"<div {name}=offers {item}='http://schema.org/Offer'><meta {name}=priceCurrency content=USD>"
        f"{shown.format(n=name)}</div></div>"
    )

    product = extract(f"<title>Mug</title>{body}".encode(), "https://a.test/mug").product
    assert product.price == (Decimal(price) if price else None)


def test_meta_amount_in_another_currency_gives_no_price():
    body = (
        b"<title>Mug</title><meta property=og:type content=product>"
        b"<meta property=product:price:amount content='&pound;12'>"
        b"<meta property=product:price:currency content=EUR>"
    )

    assert extract(body, "https://a.test/mug").product.price is None


@pytest.mark.parametrize(
    ("item", "name"), [("itemscope itemtype", "itemprop"), ("typeof", "property")]
)
@pytest.mark.parametrize(
    ("shown", "price", "listed"),
    [
        ("<b {n}=price>20</b><b {n}=price>15</b>", None, None),
        ("<b {n}=price>15</b><meta {n}=price content=15.00>", "15", None),
        ("<b {n}=price>15</b><meta {n}=price content=15.99>", "15.99", None),
        ("<b {n}=price>0</b><b {n}=price>15</b>", "15", None),
        ("<meta {n}=price content=''><b {n}=price>15</b>", "15", None),
        ("<del><b {n}=price>20</b></del><b {n}=price>15</b>", "15", "20"),
        ("<s {n}=price>20</s><b {n}=price>15</b>", "15", "20"),
        ("<b class=old-price {n}=price>20</b><b class=special-price {n}=price>15</b>", "15", "20"),
        ("<i class=wasPrice><b {n}=price>20</b></i><b {n}=price>15</b>", "15", "20"),
        ("<i class=regular-price><b {n}=price>15</b></i>", "15", None),
        ("<b class=oldprice {n}=price>20</b><b {n}=price>15</b>", "15", "20"),
        ("<i class=bold><b class=wash {n}=price>15</b></i>", "15", None),
        ("<b {n}=price>$15</b><b {n}=price>14 EUR</b>", "15", None),
        ("<b class=excl {n}=price>12.50</b><b class=incl {n}=price>15</b>", None, None),
    ],
)
def test_several_prices_of_one_offer_are_resolved_or_ignored(item, name, shown, price, listed):
    key = f"{item}=" if " " in item else "typeof="
    body = (
        f"<div {key}'http://schema.org/Product'><h1 {name}=name>Mug</h1>"
        f"<div {name}=offers {key}'http://schema.org/Offer'><meta {name}=priceCurrency content=USD>"
        f"{shown.format(n=name)}</div></div>"
    )

    product = extract(f"<title>Mug</title>{body}".encode(), "https://a.test/mug").product

    assert product.price == (Decimal(price) if price else None)
    assert product.list_price == (Decimal(listed) if listed else None)


def test_two_different_prices_of_a_json_ld_offer_are_ignored():
    assert product_with({"price": ["20.00", "12.50"], "priceCurrency": "EUR"}).price is None
    assert product_with({"price": ["12.50", 12.5], "priceCurrency": "EUR"}).price == Decimal("12.5")
    several = [{"value": 14, "currency": "USD"}, {"value": 12, "currency": "EUR"}]
    assert product_with({"price": several, "priceCurrency": "EUR"}).price == 12


@pytest.mark.parametrize(("day", "expected"), [("1970-01-01", None), ("2020-01-01", "2020-01-01")])
def test_price_valid_until_before_the_web_is_ignored(day, expected):
    offer = {"@type": "Offer", "price": "1", "priceCurrency": "EUR", "priceValidUntil": day}
    until = pin(ld({"@type": "Product", "name": "Pot", "offers": offer})).product.price_valid_until

    assert (until and until.isoformat()) == expected


def availability_of_sizes(*states, names=("Boots", "Boots", "Boots"), prices=(70, 70, 70)):
    items = (
        {"@type": "Product", "name": name, "sku": f"b-{number}", "offers": price_offer(price, availability=state)}
        for number, (name, price, state) in enumerate(zip(names, prices, states, strict=False))
    )  # fmt: skip
    return pin(ld(*items)).product.availability


def test_product_is_in_stock_if_one_size_is():
    assert availability_of_sizes(SOLD_OUT, SOLD_OUT, IN_STOCK) == "in_stock"
    assert availability_of_sizes(IN_STOCK, SOLD_OUT) == "in_stock"


def test_stock_of_another_product_or_price_is_ignored():
    assert availability_of_sizes(SOLD_OUT, SOLD_OUT) == "sold_out"
    assert availability_of_sizes(SOLD_OUT, IN_STOCK, names=("Boots", "Shoes")) == "sold_out"
    assert availability_of_sizes(SOLD_OUT, IN_STOCK, prices=(70, 90)) == "sold_out"
