"""Articles and products without useful markup: titles, names, dates, images and prices."""

from __future__ import annotations

import pytest
from pins import pin

from richpins.page_types.product import gtin

SHOP = "<h1>Pot</h1><button>Add to cart</button>"
STORY = "<p>The council met, and decided to plant more leeks in the town's parks this year.</p>"


def article(body, head=""):
    return pin(f"<meta property=og:type content=article>{head}{body}", url="http://paper.test/a/b")


def test_linked_blog_name_is_not_the_title_of_a_post():
    blog = "<h1><a href='/'>Ann's kitchen diary</a></h1><article><h2>Leeks in June</h2></article>"

    assert article(blog, "<title>Ann's kitchen diary</title>").title == "Leeks in June"
    assert article(blog, "<title>Leeks in June</title>").title == "Leeks in June"


def test_blog_name_is_the_title_of_its_home_page():
    blog = "<title>Ann's kitchen diary</title><h1><a href='/'>Ann's kitchen diary</a></h1>"

    assert pin(blog, url="http://paper.test/").title == "Ann's kitchen diary"


@pytest.mark.parametrize("folder", ["autoren", "autor", "auteurs", "autores", "redakteure"])
def test_author_page_folders_are_recognized_in_other_languages(folder):
    page = article(f"<h1>Leeks</h1><p><a href='/{folder}/ann-lee'>Ann Lee</a></p>{STORY}")

    assert page.authors == ("Ann Lee",)


def test_author_of_a_linked_teaser_is_ignored():
    teaser = "<article><h3><a href='/c'>Carrots</a></h3><span class=author>Bob Ray</span></article>"

    assert article(f"<h1>Leeks</h1>{STORY}{teaser}").authors == ()
    assert article("<h1>Leeks</h1><aside><b class=author>Bob Ray</b></aside>").authors == ()


def test_person_in_a_byline_is_preferred_to_the_paper_in_the_markup():
    head = "<meta property=og:site_name content='The Paper'><meta name=author content='The Paper'>"
    byline = "<p>Von <a href='/autoren/ann-lee'>Ann Lee</a></p>"

    assert article(f"<h1>Leeks</h1>{byline}{STORY}", head).authors == ("Ann Lee",)


def test_person_in_a_byline_is_preferred_to_an_agency_in_the_markup():
    head = (
        '<script type="application/ld+json">{"@type":"NewsArticle","headline":"Leeks",'
        '"author":{"@type":"Organization","name":"The Agency"}}</script>'
    )
    byline = "<p class=byline>By Ann Lee</p>"

    assert article(f"<h1>Leeks</h1>{byline}{STORY}", head).authors == ("Ann Lee",)
    assert article(f"<h1>Leeks</h1>{STORY}", head).authors == ("The Agency",)


@pytest.mark.parametrize(
    "byline",
    ["Ann Lee Korrespondentin", "Ann Lee Political Correspondent", "Kommentar von Ann Lee"],
)
def test_job_title_is_not_part_of_a_name(byline):
    page = article(f"<h1>Leeks</h1><div class=author>{byline}</div>{STORY}")

    assert page.authors == ("Ann Lee",)


def test_login_link_is_not_an_author():
    assert article(f"<h1>Leeks</h1><a class=author href=/l>Log In</a>{STORY}").authors == ()


def test_published_time_may_be_spelled_with_a_colon():
    head = "<meta property='article:published:time' content='2024-05-01T08:00:00Z'>"

    assert article("<h1>Leeks</h1>", head).published_at.isoformat() == "2024-05-01T08:00:00+00:00"


def test_claim_review_date_is_the_page_date():
    review = (
        '<script type="application/ld+json">{"@type":"ClaimReview","datePublished":"2024-05-01",'
        '"author":{"@type":"Organization","name":"Check"}}</script>'
    )

    assert pin(f"<title>Leeks cure</title>{review}").published_at.isoformat() == "2024-05-01"


@pytest.mark.parametrize(
    "shown",
    [
        "01.05.2024", "1. Mai 2024", "1 mai 2024", "1 de mayo de 2024", "May 1, 2024", "2024-05-01",
        "Stand: 01.05.2024, 10:00 Uhr", "Veröffentlicht am 1. Mai 2024",
    ],
)  # fmt: skip
def test_date_is_found_without_a_time_element(shown):
    page = article(f"<h1>Leeks</h1><div>{shown}</div>{STORY}")

    assert page.published_at.isoformat()[:10] == "2024-05-01"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("2024-05-01 10:00 CEST", "2024-05-01T10:00:00+02:00"),
        ("01.05.2024, 10:00 MESZ", "2024-05-01T10:00:00+02:00"),
        ("1 May 2024 10:00 JST", "2024-05-01T10:00:00+09:00"),
        ("Wed May 01 10:00:00 CEST 2024", "2024-05-01T10:00:00+02:00"),
    ],
)
def test_time_zone_abbreviations_are_converted_to_offsets(shown, expected):
    head = f"<meta property=article:published_time content='{shown}'>"

    assert article("<h1>Leeks</h1>", head).published_at.isoformat() == expected


def test_site_icon_is_not_the_image_of_a_page():
    page = article("<h1>Leeks</h1>", "<link rel=apple-touch-icon href=/touch.png>")

    assert (page.image, page.icon_url) == (None, "http://paper.test/touch.png")
    assert [d.reason for d in page.dropped] == ["doubtful: the site's icon"]


@pytest.mark.parametrize(
    "logo",
    [
        "<header><img src=/a.png width=600 height=300 alt='Leeks Times'></header>",
        "<img class=site-logo src=/a.png width=600 height=300>",
        "<div class=logo><img src=/a.png width=600 height=300></div>",
    ],
)
def test_logo_is_not_the_image_of_a_page(logo):
    photo = "<img src=/leeks.jpg width=800 height=600>"

    assert article(f"{logo}<h1>Leeks Times</h1>").image is None
    assert article(f"{logo}<h1>Leeks Times</h1>{photo}").image.url == "http://paper.test/leeks.jpg"


@pytest.mark.parametrize(
    "shown",
    [
        "<span class=price>(12,50 €/kg)</span><span class=price>2,50 €</span>",
        "<span class=price>1,25 € je 100 g</span><span class=price>2,50 €</span>",
        "<span class=price>2,50 € (12,50 €/kg)</span>",
        "<span class=price>2<sup>50</sup> €</span>",
        "<span class=price><b>2</b><b>,50</b> €</span>",
    ],
)
def test_unit_price_is_not_the_price_of_the_product(shown):
    product = pin(SHOP + shown).product

    assert (str(product.price), product.currency) == ("2.50", "EUR")


@pytest.mark.parametrize(
    "shown",
    ["ISBN: 978-3-16-148410-0", "(9783161484100)", "[EAN 9783161484100]", "gtin13:9783161484100"],
)
def test_gtin_may_have_labels_and_brackets(shown):
    assert gtin(shown) == "9783161484100"


def test_brand_logo_confirms_which_word_of_the_title_is_the_brand():
    brand = "<a class=product-brand href=/brands/pot-co><img src=/p.png alt='Pot & Co Logo'></a>"
    price = "<span class=price>2,50 €</span>"

    named = "<title>Pot by Pot &amp; Co</title>"

    assert pin(named + SHOP + price + brand).product.brand == "Pot & Co"
    assert pin(SHOP + price + brand).product.brand is None
    others = "<div class=brands><img alt=Potters><img alt=Panners></div>"
    assert pin(SHOP + price + others).product.brand is None
