"""Amounts beside the price of a product that are not what people pay."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pins import ld, pin


def shop(prices: str, language: str = "en-US", head: str = ""):
    """The product of a page with these prices and a cart."""
    return pin(
        f'<html lang="{language}"><title>Lamp</title><meta property=og:type content=product>{head}'
        f"<h1>Lamp</h1><main>{prices}<button>Add to cart</button></main></html>"
    ).product


def declared(price: str, currency: str = "EUR", **more: object) -> str:
    """JSON-LD of a product with this price."""
    offer = {"@type": "Offer", "price": price, "priceCurrency": currency, **more}
    return ld({"@type": "Product", "name": "Lamp", "offers": offer})


@pytest.mark.parametrize(
    "prices",
    [
        '<p class="price"><del>20,00 €</del> <ins>15,00 €</ins></p>',
        '<div class="prices"><s>20,00 €</s> <b class="price-now">15,00 €</b></div>',
        '<div><span class="old-price">20,00 €</span><span class="price">15,00 €</span></div>',
        '<div><span class="price">15,00 €</span><span class="price--was">20,00 €</span></div>',
        '<p class="price"><span style="text-decoration: line-through">20,00 €</span> 15,00 €</p>',
    ],
)
@pytest.mark.parametrize("amount", ["20", "20.00", "20.0000"])
def test_declared_price_that_the_page_strikes_out_is_the_former_price(prices, amount):
    product = shop(prices, "de-DE", declared(amount))

    assert (product.price, product.list_price) == (Decimal(15), Decimal(20))
    assert product.currency == "EUR"


@pytest.mark.parametrize(
    "prices",
    [
        '<p class="price">20,00 €</p><p class="price-club">Klubpreis 15,00 €</p>',
        '<p class="price"><del>25,00 €</del> <ins>15,00 €</ins></p>',
        '<p class="price">15,00 €</p>',
        '<p class="price">20,00 €</p><div class="price"><s>20,00 €</s> 15,00 € mit Gutschein</div>',
        '<p class="price"><del>20,00 €</del></p>',
    ],
)
def test_declared_price_stays_if_the_page_does_not_replace_it(prices):
    assert shop(prices, "de-DE", declared("20.00")).price == Decimal(20)


def test_declared_price_stays_if_the_page_shows_another_currency():
    product = shop(
        '<p class="price"><del>$20.00</del> <ins>$15.00</ins></p>', head=declared("20.00")
    )

    assert (product.price, product.currency) == (Decimal(20), "EUR")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("cs", "Nejnižší cena za posledních 30 dní: {}"),
        ("sk", "Najnižšia cena za posledných 30 dní {}"),
        ("pl", "Najniższa cena z ostatnich 30 dni: {}"),
        ("pl", "Najniższa cena z 30 dni przed obniżką: {}"),
        ("de", "Niedrigster Preis der letzten 30 Tage: {}"),
        ("de", "30-Tage-Bestpreis: {}"),
        ("en-IE", "Lowest price in the last 30 days: {}"),
        ("fr", "Prix le plus bas des 30 derniers jours : {}"),
        ("es", "Precio más bajo de los últimos 30 días: {}"),
        ("it", "Prezzo più basso degli ultimi 30 giorni: {}"),
        ("pt", "Preço mais baixo dos últimos 30 dias: {}"),
        ("nl", "Laagste prijs van de afgelopen 30 dagen: {}"),
        ("fi", "Alin hinta 30 päivän aikana: {}"),
        ("hu", "Az elmúlt 30 nap legalacsonyabb ára: {}"),
        ("ro", "Cel mai mic preț din ultimele 30 de zile: {}"),
        ("hr", "Najniža cijena u zadnjih 30 dana: {}"),
        ("sl", "Najnižja cena v zadnjih 30 dneh: {}"),
        ("et", "Viimase 30 päeva madalaim hind: {}"),
        ("lv", "Zemākā cena pēdējās 30 dienās: {}"),
        ("lt", "Žemiausia 30 dienų kaina: {}"),
        ("el", "Χαμηλότερη τιμή 30 ημερών: {}"),
        ("sv", "Lägsta pris senaste 30 dagarna: {}"),
        ("da", "Laveste pris seneste 30 dage: {}"),
        ("en", "Lowest recent price: {}"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_lowest_price_of_the_last_days_is_not_the_price(language, words, is_first):
    lowest = f'<div class="price-lowest">{words.format("64,90 €")}</div>'
    current = '<div class="price-current">59,90 €</div>'
    prices = f"{lowest}{current}" if is_first else f"{current}{lowest}"

    assert shop(prices, language).price == Decimal("59.90")


@pytest.mark.parametrize("words", ["30 days free trial, then {}", "Ships in 30 days. {}"])
def test_other_thirty_days_do_not_hide_a_price(words):
    assert shop(f'<div class="price">{words.format("$59.90")}</div>').price == Decimal("59.90")


@pytest.mark.parametrize("tag", ["product:price:amount", "og:price:amount"])
@pytest.mark.parametrize("zero", ["0", "0.00", "0,00"])
def test_zero_in_a_tag_is_not_the_price_if_the_page_shows_one(tag, zero):
    currency = tag.replace("amount", "currency")
    head = (
        f'<meta property="{tag}" content="{zero}"><meta property="{currency}" content="EUR">'
        '<meta property="og:title" content="Lamp">'
    )
    product = shop('<p class="price">Ab 39,95 €</p>', "de", head)

    assert (product.price, product.currency) == (Decimal("39.95"), "EUR")


def test_zero_in_an_offer_is_not_the_price_if_the_page_shows_one():
    assert shop('<p class="price">39,95 €</p>', "de", declared("0.00")).price == Decimal("39.95")


@pytest.mark.parametrize("prices", ["", '<p class="price">Free</p>', '<p class="price">$0.00</p>'])
def test_free_product_stays_free(prices):
    assert shop(prices, head=declared("0", "USD")).price == 0


@pytest.mark.parametrize(
    ("amount", "currency", "price"),
    [
        ("185.130001", "EUR", "185.13"),
        ("19.990000000000002", "USD", "19.99"),
        ("12.396694214876", "EUR", "12.40"),
        ("1499.99999", "JPY", "1500"),
        ("2.345000001", "KWD", "2.345"),
        ("20.0000", "GBP", "20.0000"),
        ("3.350", "EUR", "3.350"),
        ("0.004512", "USD", "0.004512"),
    ],
)
def test_more_decimals_than_a_price_has_are_rounded(amount, currency, price):
    assert str(pin(declared(amount, currency)).product.price) == price


@pytest.mark.parametrize(
    "other",
    [
        '<div class="prod-ad"><span class="price">$129.00</span></div>',
        '<div class="ads"><p class="ad-price price">$129.00</p></div>',
        '<section class="sponsored"><div><b class="price">$129.00</b></div></section>',
        '<div class="advertisement"><b class="price">$129.00</b></div>',
        '<div id="related-products"><b class="price">$129.00</b></div>',
        '<div class="recommendations"><b class="price">$129.00</b></div>',
        '<div class="cross-sell"><b class="price">$129.00</b></div>',
        '<div class="upsell-products"><b class="price">$129.00</b></div>',
        '<div class="similar_items"><b class="price">$129.00</b></div>',
        '<ol><li class="a-carousel-card"><b class="price">$129.00</b></li></ol>',
        '<div id="alternatives"><b class="price">$129.00</b></div>',
    ],
)
def test_price_in_a_block_for_other_products_is_skipped(other):
    assert shop(f'{other}<div class="price">$39.97</div>').price == Decimal("39.97")
    assert shop(other).price is None


@pytest.mark.parametrize("name", ["added", "shadow", "header-ad-free", "gradient", "radio"])
def test_class_that_only_contains_the_letters_of_an_ad_hides_no_price(name):
    prices = f'<div class="{name}"><b class="price">$39.97</b></div>'
    expected = None if name == "header-ad-free" else Decimal("39.97")

    assert shop(prices).price == expected


@pytest.mark.parametrize(
    ("net", "gross", "language"),
    [
        ("bez DPH", "s DPH", "cs"),
        ("bez DPH", "vč. DPH", "cs"),
        ("zzgl. MwSt.", "inkl. MwSt.", "de"),
        ("exkl. MwSt.", "inkl. MwSt.", "de-CH"),
        ("netto", "brutto", "pl"),
        ("HT", "TTC", "fr"),
        ("excl. VAT", "incl. VAT", "en-GB"),
        ("ex. VAT", "inc. VAT", "en-GB"),
        ("excl. btw", "incl. btw", "nl"),
        ("exkl. moms", "inkl. moms", "sv"),
        ("IVA esclusa", "IVA inclusa", "it"),
        ("sin IVA", "con IVA", "es"),
        ("sem IVA", "com IVA", "pt"),
        ("без НДС", "с НДС", "ru"),
    ],
)
@pytest.mark.parametrize("is_after", [True, False])
def test_price_with_taxes_is_the_price_if_both_are_labeled(net, gross, language, is_after):
    def line(amount: str, words: str) -> str:
        price = f'<span class="price">{amount} €</span>'
        return f"<div>{price} {words}</div>" if is_after else f"<div>{words} {price}</div>"

    prices = f'<div class="box">{line("100,00", net)}{line("121,00", gross)}</div>'

    assert shop(prices, language).price == Decimal("121.00")


@pytest.mark.parametrize("words", ["excl. VAT", "bez DPH", "HT", "netto"])
def test_only_price_counts_even_without_taxes(words):
    prices = f'<div><span class="price">100,00 €</span> {words}</div>'

    assert shop(prices, "en-GB").price == Decimal("100.00")


@pytest.mark.parametrize(
    "prices",
    [
        '<p class="text-sm line-through">25,90 €</p><p class="text-xl">19,90 €</p>',
        "<div><s>25,90 €</s> <b>19,90 €</b></div>",
        "<p><del>25,90 €</del></p><p><strong>19,90 €</strong></p>",
        '<p style="text-decoration:line-through">25,90 €</p><p>19,90 €</p>',
        '<p><span class="strike">25,90 €</span> <span>19,90 €</span></p>',
    ],
)
def test_former_price_without_a_class_for_prices_is_read_beside_the_declared_one(prices):
    product = shop(f"<div>{prices}</div>", "de", declared("19.90"))

    assert (product.price, product.list_price) == (Decimal("19.90"), Decimal("25.90"))


@pytest.mark.parametrize(
    "prices",
    [
        "<div><s>25,90 €</s> <b>21,90 €</b></div>",
        "<div><b>19,90 €</b></div><aside><s>25,90 €</s> <b>19,90 €</b></aside>",
        "<div><a href=/x><s>25,90 €</s> <b>19,90 €</b></a></div>",
        "<div><s>15,90 €</s> <b>19,90 €</b></div>",
        "<p><s>A sentence</s> about 25,90 € and 19,90 €</p>",
    ],
)
def test_struck_out_amount_elsewhere_is_not_the_former_price(prices):
    assert shop(prices, "de", declared("19.90")).list_price is None


@pytest.mark.parametrize(
    "previous",
    [
        '<span class="previous-price">2 990 Kč <i class="sr-text">Předchozí cena 2990Kč</i></span>',
        '<div class="price__previous"><b>2 990 Kč</b><i class="vh">Předchozí cena: 2990 Kč</i></div>',
        '<del><b aria-hidden="true">2 990 Kč</b><i>Původní cena 2990 Kč</i></del>',
    ],
)
def test_former_price_that_is_said_twice_is_one(previous):
    prices = f'<div>{previous}<div class="price">2 490 Kč</div></div>'
    product = shop(prices, "cs", declared("2490", "CZK"))

    assert (product.price, product.list_price) == (Decimal(2490), Decimal(2990))


@pytest.mark.parametrize(
    "former",
    [
        '<div id="product-original-amount">€80</div>',
        '<div class="row"><span id="old-price">€80</span></div>',
        '<div class="row"><span id="wasPrice" class="col">€80</span></div>',
    ],
)
def test_former_price_that_only_an_id_names_is_read(former):
    product = shop(f'{former}<div class="row"><b class="price-now">€60</b></div>', "en-IE")

    assert (product.price, product.list_price) == (Decimal(60), Decimal(80))
