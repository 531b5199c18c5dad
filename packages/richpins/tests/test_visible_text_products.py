"""Product facts that only the visible page has: brand, numbers and stock."""

from __future__ import annotations

import pytest
from pins import ld, pin

from richpins.structured_data.shop_texts import MAX_BYTES
from richpins.visible_text.product_details import MAX_REPEATS

OFFER = {"@type": "Offer", "price": "9.50", "priceCurrency": "EUR"}
KETTLE = ld({"@type": "Product", "name": "Kettle Blue", "offers": OFFER})
HEAD = f"{KETTLE}<h1>Kettle Blue</h1>"


def product(markup):
    return pin(f"{HEAD}{markup}").product


@pytest.mark.parametrize(
    "row",
    [
        "<table><tr><th>{}</th><td>{}</td></tr></table>",
        "<table><tr>\n <td> <b>{}</b>\n </td>\n <td><a href=/b><span>{}</span></a></td></tr></table>",
        "<dl><dt>{}</dt><dd>{}</dd></dl>",
        "<ul><li><strong>{}:</strong> {}</li></ul>",
        "<ul><li><span>{}</span><div><span>{}</span></div></li></ul>",
        "<p>{}: {}</p>",
        "<label>{}</label><span>{}</span>",
        "<h4>{}:</h4><div>{}</div>",
        "<div>{}<!-- -->: <!-- -->{}</div>",
        "<div><span>{} </span>:&nbsp;<span>{}</span></div>",
    ],
)
def test_value_is_found_next_to_its_label(row):
    shown = product("".join(row.format(*each) for each in (
        ("Brand", "Pot &amp; Co"), ("Art.-Nr.", "PK 17-b"), ("EAN", "4006381333931"),
        ("Model number", "KB/200"), ("Availability", "In stock"),
    )))  # fmt: skip

    assert (shown.brand, shown.sku, shown.gtin) == ("Pot & Co", "PK 17-b", "4006381333931")
    assert (shown.mpn, shown.availability) == ("KB/200", "in_stock")


@pytest.mark.parametrize(
    "label", ["Marke", "Hersteller", "Výrobca", "Märke", "Бренд", "Производитель", "品牌"]
)
def test_brand_labels_are_recognized_in_many_languages(label):
    assert product(f"<p>{label}: Kannenwerk</p>").brand == "Kannenwerk"


@pytest.mark.parametrize(
    ("label", "field"),
    [
        ("Артикул", "sku"), ("Référence", "sku"), ("Šifra", "sku"), ("商品编号", "sku"),
        ("Kod producenta", "mpn"), ("Hersteller-Artikelnummer", "mpn"), ("型番", "mpn"),
    ],
)  # fmt: skip
def test_number_labels_are_recognized_in_many_languages(label, field):
    shown = product(f"<table><tr><th>{label}</th><td>K-0417</td></tr></table>")

    assert {"sku": shown.sku, "mpn": shown.mpn} == {"sku": None, "mpn": None, field: "K-0417"}


@pytest.mark.parametrize(
    "markup",
    [
        "<table><tr><td>Brand</td><td></td></tr><tr><td>Weight</td><td>2 kg</td></tr></table>",
        "<div><span>Brand</span><span></span></div><div><span>Weight</span></div>",
        "<ul><li>Brand</li><li>Weight</li></ul>",
        "<dl><dt>Brand</dt><dt>Weight</dt><dd>2 kg</dd></dl>",
        "<p>Our brand is Kannenwerk</p>",
        "<h2>Brand</h2><h3>Weight</h3>",
        "<label>Brand</label><select><option>Kannenwerk</option></select>",
        "<table><tr><th>Brand</th><td>Kannenwerk</td></tr><tr><th>Brand</th><td>Topf</td></tr></table>",
        "<table><tr><th>Brand</th><td>Unbranded</td></tr></table>",
        "<p>Brand: {{ brand }}</p>",
        "<script>document.write('<p>Brand: Kannenwerk</p>')</script>",
        "<p>Brand: a name that takes so many words that nobody would put it on a kettle</p>",
        "<p>Hersteller: Kannenwerk GmbH, Am Markt 7</p>",
    ],
)
def test_text_not_next_to_the_label_is_not_a_brand(markup):
    assert product(markup).brand is None


def test_label_above_the_heading_is_ignored():
    assert pin(f"{KETTLE}<p>Brand: Kannenwerk</p><h1>Kettle Blue</h1>").product.brand is None


def test_number_must_have_digits_and_a_bar_code_a_valid_check_digit():
    shown = product("<p>SKU: ask us</p><p>EAN: 4006381333932</p><p>MPN: see the box</p>")

    assert (shown.sku, shown.gtin, shown.mpn) == (None, None, None)


def test_markup_takes_precedence_over_visible_text():
    marked = ld({"@type": "Product", "name": "K", "brand": "Marked", "sku": "M1", "offers": OFFER})
    shown = pin(f"{marked}<h1>K</h1><p>Brand: Shown</p><p>SKU: S1</p>")

    assert (shown.product.brand, shown.product.sku) == ("Marked", "M1")


def test_article_has_no_brand_or_stock():
    article = ld({"@type": "NewsArticle", "headline": "Kettles"})
    rich_pin = pin(f"{article}<h1>Kettles</h1><p>Brand: Kannenwerk</p><p>In stock</p>")

    assert (rich_pin.type, rich_pin.product) == ("article", None)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<span class=a>In stock</span>", "in_stock"),
        ("<span>Only 3 left in stock!</span>", "in_stock"),
        ("<div>Auf Lager.</div>", "in_stock"),
        ("<b>В наличии</b>", "in_stock"),
        ("<p>Sold out</p>", "out_of_stock"),
        ("<div> Derzeit nicht verfügbar. </div>", "out_of_stock"),
        ("<p>Verfügbarkeit: <b>nicht verfügbar</b></p>", "out_of_stock"),
        ("<button>Add to cart</button>", "in_stock"),
        ("<form action=/cart><input type=submit value='In den Warenkorb'></form>", "in_stock"),
        ("<a class=btn-cart href=/cart/add><span>Do</span> <span>košíka</span></a>", "in_stock"),
        ("<p>In stock</p><p>Out of stock</p>", None),
        ("<p>250 in stock</p><aside><p>Out of stock</p></aside>", "in_stock"),
        ("<p>In stock</p><ul><li><a href=/2>Pi 3</a><p>Out of stock</p></li></ul>", "in_stock"),
        ("<p>Out of stock</p><ul><li><a href=/2>Pi 3</a><p>In stock</p></li></ul>", "out_of_stock"),
        ("<p>Sold out</p><div class=related-items><p>In stock</p></div>", "out_of_stock"),
        ("<ul><li><p>In stock</p></li><li><p>Out of stock</p></li></ul>", None),
        ("<p>Out of stock</p><button>Add to cart</button>", None),
        (
            "<p class=overflow-x-hidden><button class='buy disabled:opacity-50'>Add to cart</button>",
            "in_stock",
        ),
        ("<p class=hidden><button>Add to cart</button></p>", None),
        ("<button class='buy disabled'>Add to cart</button>", None),
        ("<button disabled>Add to cart</button>", None),
        ("<div style='display: none'><button>Add to cart</button></div>", None),
        ("<div class=related-products><button>Add to cart</button></div>", None),
        ("<nav><a class=cart href=/cart>Add to cart</a></nav>", None),
        ("<a class=cart href=/cart>Cart</a>", None),
        ("<p>We keep it in stock for you.</p>", None),
        ("<script>say('<p>In stock</p>')</script>", None),
    ],
)
def test_phrase_or_button_gives_the_availability(markup, expected):
    assert product(markup).availability == expected


def test_phrase_repeated_for_many_items_is_ignored():
    others = "<li><p>In stock</p><button class=b>Add to cart</button></li>" * (MAX_REPEATS + 1)

    assert product(f"<ul>{others}</ul>").availability is None


def test_label_search_is_bounded():
    far = f"<p>{'x' * MAX_BYTES}</p><p>Brand: Kannenwerk</p>"
    scripts = f"<script>{'x' * MAX_BYTES}</script><style>{'x' * MAX_BYTES}</style>"

    assert product(far).brand is None
    assert product(f"{scripts}<p>Brand: Kannenwerk</p>").brand == "Kannenwerk"
