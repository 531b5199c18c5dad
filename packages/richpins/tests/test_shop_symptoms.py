"""Symptoms of wrong prices and availability, with their neighbors."""

from decimal import Decimal

import pytest
from pins import ld, pin

from richpins.values import money


def _product(*offers, **more):
    return ld({"@type": "Product", "name": "Mug", "offers": list(offers), **more})


def _offer(price, **more):
    return {"@type": "Offer", "price": price, "priceCurrency": "EUR", **more}


@pytest.mark.parametrize(
    ("text", "country", "amount", "currency"),
    [
        ("99¢", "us", "0.99", "USD"),
        ("5 ¢", "ca", "0.05", "CAD"),
        ("25¢ each", "us", "0.25", "USD"),
        ("79p", "gb", "0.79", "GBP"),
    ],
)
def test_price_below_one_dollar_or_pound_is_parsed(text, country, amount, currency):
    assert money.find_currency(text, country) == currency
    assert money.find_amount(text, currency) == Decimal(amount)


@pytest.mark.parametrize("text", ["99¢ per kg", "150p", "0¢", "1080p video"])
def test_other_number_before_a_cent_sign_is_no_price(text):
    assert money.find_currency(text, "us") is None


@pytest.mark.parametrize("kind", ["Used", "Refurbished", "Damaged"])
@pytest.mark.parametrize("is_first", [True, False])
def test_cheaper_piece_that_is_not_new_is_not_the_price(kind, is_first):
    new = _offer("49.00", itemCondition="https://schema.org/NewCondition")
    other = _offer("15.00", itemCondition=f"https://schema.org/{kind}Condition")
    product = pin(_product(*((other, new) if is_first else (new, other)))).product

    assert (product.price, product.price_high) == (Decimal("49.00"), None)


def test_used_piece_in_stock_precedes_a_new_one_that_is_sold_out():
    new = _offer("49.00", availability="OutOfStock")
    used = _offer("15.00", itemCondition="UsedCondition", availability="InStock")

    assert pin(_product(new, used)).product.price == Decimal("15.00")


def test_only_used_pieces_have_a_price_range():
    used = [_offer(price, itemCondition="UsedCondition") for price in ("15.00", "20.00")]
    product = pin(_product(*used)).product

    assert (product.price, product.price_high) == (Decimal("15.00"), Decimal("20.00"))


PAGE = "https://a.test/products/mug"


@pytest.mark.parametrize(
    ("page", "addresses", "price"),
    [
        (f"{PAGE}?variant=2", [f"{PAGE}?variant=1", f"{PAGE}?variant=2"], "10.00"),
        (f"{PAGE}?variant=2", ["/products/mug?variant=1", "/products/mug?variant=2"], "10.00"),
        (f"{PAGE}?variant=2", ["?variant=1", "?variant=2"], "10.00"),
        (f"{PAGE}?utm_x=1&variant=2", [f"{PAGE}?variant=1", f"{PAGE}?variant=2"], "10.00"),
        (f"{PAGE}?variant=2#x", ["http://a.test/products/mug?variant=1", f"{PAGE}?variant=2"],
         "10.00"),
        (f"{PAGE}?variant=3", [f"{PAGE}?variant=1", f"{PAGE}?variant=2"], "8.00"),
        (PAGE, [f"{PAGE}?variant=1", f"{PAGE}?variant=2"], "8.00"),
        (f"{PAGE}?variant=2", [f"{PAGE}-set?variant=2", f"{PAGE}?variant=1"], "8.00"),
        (f"{PAGE}?variant=2", ["https://a.test/cup?variant=1", "https://a.test/cup?variant=2"],
         "8.00"),
    ],
)  # fmt: skip
def test_price_is_that_of_the_variant_in_the_url(page, addresses, price):
    offers = [
        _offer(amount, url=url) for amount, url in zip(("8.00", "10.00"), addresses, strict=True)
    ]
    variants = [
        {"@type": "Product", "name": f"Mug {offer['price']}", "offers": offer} for offer in offers
    ]
    group = ld({"@type": "ProductGroup", "name": "Mug", "hasVariant": variants})

    assert pin(_product(*offers), page).product.price == Decimal(price)
    assert pin(group, page).product.price == Decimal(price)


def test_range_without_a_currency_gets_the_one_shown():
    offer = {"@type": "AggregateOffer", "lowPrice": "10.00", "highPrice": "20.00"}
    shown = "<h1>Mug</h1><p class=price>£10.00 – £20.00</p>"
    product = pin(f"<html lang=en-GB>{_product(offer)}{shown}").product

    assert (product.price, product.price_high) == (Decimal("10.00"), Decimal("20.00"))
    assert product.currency == "GBP"


def test_range_that_differs_from_the_text_gets_no_currency_from_it():
    offer = {"@type": "AggregateOffer", "lowPrice": "10.00", "highPrice": "20.00"}
    product = pin(f"<html lang=en-GB>{_product(offer)}<h1>Mug</h1><p class=price>£8.00</p>").product

    assert (product.price, product.price_high) == (Decimal("8.00"), None)


@pytest.mark.parametrize(
    "prices",
    [
        "<dt>Est Value</dt><dd>$279.99</dd><dt>Outlet Price</dt><dd>$254.79</dd>",
        "<dt>Outlet Price</dt><dd>$254.79</dd><dt>Estimated value</dt><dd>$279.99</dd>",
        "<span>List price</span> <b>$279.99</b> <span>Price</span> <b>$254.79</b>",
        "<span>Regular price:</span> $279.99 <span>Sale:</span> $254.79",
        "<span>Compare at</span> $279.99 $254.79",
        "<span>Normalpreis</span> $279.99 <span>Preis</span> $254.79",
        "<span>Ancien prix</span> $279.99 <span>Prix</span> $254.79",
    ],
)
def test_price_beside_a_labeled_former_price_is_found(prices):
    page = f"<html lang=en-US><h1>Lamp</h1><dl class=prices>{prices}</dl><button>Add to cart"

    assert pin(page).product.price == Decimal("254.79")


def test_two_prices_without_a_label_of_a_former_one_are_ambiguous():
    page = "<html lang=en-US><h1>Lamp</h1><p class=prices>Small $10 Large $20<button>Add to cart"

    assert getattr(pin(page).product, "price", None) is None


@pytest.mark.parametrize(
    "phrase",
    ["Nicht mehr lieferbar", "Sold out online", "No longer available", "Actuellement indisponible",
     "Produto indisponível", "Niet leverbaar", "Momentaneamente non disponibile", "Нет на складе",
     "売り切れ", "已售罄", "일시품절", "Hết hàng", "สินค้าหมด", "غير متوفر", "אזל מהמלאי",
     "Εξαντλημένο"],
)  # fmt: skip
def test_phrase_of_a_shop_says_that_it_is_out_of_stock(phrase):
    page = f'<meta property="og:type" content="product"><h1>Lamp</h1><p>{phrase}</p>'

    assert pin(page).product.availability == "out_of_stock"


@pytest.mark.parametrize("label", ["Not Available", "Unavailable", "Nicht verfügbar"])
def test_button_that_cannot_sell_says_that_it_is_out_of_stock(label):
    page = (
        '<meta property="og:type" content="product"><h1>Lamp</h1>'
        f"<button class=add-to-cart disabled>{label}</button>"
    )

    assert pin(page).product.availability == "out_of_stock"


@pytest.mark.parametrize(
    "buttons",
    [
        "<button class=add-to-cart>Add to cart</button><button class=buy>Not available</button>",
        "<ul class=related><li><button class=add-to-cart>Not available</button></ul>",
        "<button class=add-to-cart>Compare</button>",
    ],
)
def test_button_of_something_else_does_not_say_that_it_is_out_of_stock(buttons):
    page = f'<meta property="og:type" content="product"><h1>Lamp</h1>{buttons}'

    assert pin(page).product.availability != "out_of_stock"


@pytest.mark.parametrize(
    ("lang", "prices"),
    [
        ("cs-CZ", ["od 202 Kč měsíčně", "6 290 Kč"]),
        ("en-US", ["$37.50/mo. for 24 months", "$6,290.00"]),
        ("en-US", ["$37.50 per month", "$6,290.00"]),
        ("en-US", ["4 payments of $1,572.50", "$6,290.00"]),
        ("en-GB", ["£37.50 a month", "£6,290.00"]),
        ("de-DE", ["ab 37,50 € mtl.", "6.290,00 €"]),
        ("de-DE", ["24 Raten à 262,08 €", "6.290,00 €"]),
        ("fr-FR", ["3 x 2 096,67 €", "6 290,00 €"]),
        ("es-ES", ["37,50 €/mes", "6.290,00 €"]),
        ("pt-BR", ["10x de R$ 629,00", "R$ 6.290,00"]),
        ("it-IT", ["37,50 € al mese", "6.290,00 €"]),
        ("pl-PL", ["37,50 zł miesięcznie", "6 290,00 zł"]),
        ("nl-NL", ["€ 37,50 p/m", "€ 6.290,00"]),
    ],
)
def test_installment_before_the_price_is_not_the_price(lang, prices):
    spans = "".join(f"<span class=price{n}>{text}</span>" for n, text in enumerate(prices))
    page = f'<html lang={lang}><meta property="og:type" content="product"><h1>Lamp</h1>{spans}'

    assert pin(page).product.price == Decimal(6290)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("pt-BR", "R$ 999,00 em até 10x de R$ 99,90 sem juros"),
        ("en-US", "$999.00 or 4 payments of $249.75"),
        ("de-DE", "999,00 € oder 41,63 € monatlich"),
        ("es-MX", "$999.00 o 12 cuotas de $83.25"),
    ],
)
def test_price_beside_its_installments_is_found(lang, text):
    page = (
        f'<html lang={lang}><meta property="og:type" content="product"><h1>Lamp</h1>'
        f"<p class=price>{text}</p>"
    )

    assert pin(page).product.price == Decimal(999)


def test_only_price_may_be_one_per_month():
    page = '<meta property="og:type" content="product"><h1>Plan</h1><p class=price>€9.99/month'

    assert pin(page).product.price == Decimal("9.99")


@pytest.mark.parametrize("text", ["$25 each", "$25 a pair", "$25 month-long sale", "2 x $25"])
def test_price_of_a_piece_is_no_installment(text):
    assert money.are_installments(text) is (text == "2 x $25")


@pytest.mark.parametrize(
    ("lang", "price"),
    [
        ("en-US", "<del>$123</del><i class=screen-reader-text>Original price was: $123.</i>$100.00"),
        ("en-US", "<i class=sr-only>Was $123.00, now $100.00</i><b>$100.00</b>"),
        ("en-US", "<i class=visually-hidden>Price:</i> <b>$100.00</b>"),
        ("en-US", "<i class=visually-hidden>$100.00</i><b aria-hidden=true>$<u>one hundred</u></b>"),
        ("es-AR", "$ 100<sup>00</sup>"),
        ("de-DE", "<i class=sr-only>Statt 123,00 €</i> 100,00 €"),
    ],
)  # fmt: skip
def test_words_for_screen_readers_do_not_hide_the_price(lang, price):
    page = (
        f'<html lang={lang}><meta property="og:type" content="product"><h1>Lamp</h1>'
        f"<p class=price>{price}</p>"
    )

    assert pin(page).product.price == Decimal("100.00")


@pytest.mark.parametrize(
    ("lang", "price", "amount"),
    [
        ("es-AR", "$ 1.299<sup>99</sup>", "1299.99"),
        ("en-US", "$1,299<sup>99</sup>", "1299.99"),
        ("en-US", "$12<sup>99</sup>", "12.99"),
        ("de-DE", "12<sup>99</sup> €", "12.99"),
        ("de-CH", "CHF 1'299<sup>90</sup>", "1299.90"),
    ],
)
def test_raised_cents_follow_the_notation_of_the_whole_number(lang, price, amount):
    page = (
        f'<html lang={lang}><meta property="og:type" content="product"><h1>Lamp</h1>'
        f"<p class=price>{price}</p>"
    )

    assert pin(page).product.price == Decimal(amount)
