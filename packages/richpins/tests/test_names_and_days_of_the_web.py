"""Names in lists and catalogs, names that are not authors, and days above the heading."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from pins import ld, pin

from richpins.page_facts.inverted_names import given_name_first
from richpins.values.numbers import count

TEXT = "<p>The valley has grown leeks for two hundred years, and its soil is dark and heavy.</p>"


def article(byline: str = "", head: str = "", language: str = "en"):
    """The pin of an article with a byline below its heading."""
    return pin(
        f'<html lang="{language}"><head><title>Leeks</title>{head}</head>'
        f"<body><article><h1>Leeks</h1>{byline}{TEXT * 3}</article></body></html>"
    )


DAY = '<time datetime="2020-01-10T02:11:47Z">10 January 2020</time>'


@pytest.mark.parametrize(
    ("byline", "language"),
    [
        (f"<p>By <a href='/by/ann'>Ann Fox</a></p><p>Posted {DAY}</p>", "en"),
        (f"<p>Ann Fox</p><p>Posted {DAY}</p>", "en"),
        (f"By Ann Fox Last Updated {DAY}", "en"),
        (f"By Ann Fox Updated on {DAY}", "en"),
        ("By Ann Fox Updated 2 hours ago", "en"),
        ("Published by Ann Fox on May 3, 2020", "en"),
        ("Von Ann Fox Stand: 10.01.2020", "de"),
        ("<span>Par Ann Fox</span> <span>Mis à jour le 10 janvier 2020</span>", "fr"),
        ("<span>Av Ann Fox</span> <span>Publicerad 10 januari 2020</span>", "sv"),
    ],
)
def test_label_of_a_date_is_not_part_of_the_name_before_it(byline, language):
    assert article(f'<div class="byline">{byline}</div>', language=language).authors == ("Ann Fox",)


def test_label_of_a_date_is_not_part_of_the_second_name():
    byline = f'<div class="byline"><div>By Ann Fox</div><div>and Bo Reed</div>Posted {DAY}</div>'

    assert article(byline).authors == ("Ann Fox", "Bo Reed")


@pytest.mark.parametrize(
    "byline",
    [
        '<ul class="byline"><li>Ann Fox</li><li>Bo Reed</li></ul>',
        '<ul class="authors author-list"><li><a href="/a">Ann Fox</a></li><li>Bo Reed</li></ul>',
        '<div class="byline"><a href="/by/ann">Ann Fox</a> <a href="/by/bo">Bo Reed</a></div>',
        '<div class="byline">By <a href="/by/ann">Ann Fox</a> and <a href="/by/bo">Bo Reed</a></div>',
    ],
)
def test_names_in_entries_or_links_are_several_authors(byline):
    assert article(byline).authors == ("Ann Fox", "Bo Reed")


@pytest.mark.parametrize(
    "byline",
    [
        '<div class="byline">By <a href="/by/ann">Ann Fox</a> <a href="/in/port">Old Port</a></div>',
        '<ul class="byline"><li>By Ann Fox</li><li>May 3, 2020</li></ul>',
        '<blockquote><p class="author">Old Reader</p></blockquote><p class="byline">By Ann Fox</p>',
        (
            '<div class="testimonials"><p class="author">Old Reader</p></div>'
            '<p class="byline">By Ann Fox</p>'
        ),
    ],
    ids=["place", "day", "quotation", "testimonial"],
)
def test_place_day_or_quoted_person_beside_a_name_is_not_an_author(byline):
    assert article(byline).authors == ("Ann Fox",)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Temple, Wolfram", "Wolfram Temple"),
        ("Temple, W. J.", "W. J. Temple"),
        ("van der Westen, Jason M.", "Jason M. van der Westen"),
        ("García Márquez, Gabriel", "Gabriel García Márquez"),
        ("O’Neil-Reed, Ann-Marie", "Ann-Marie O’Neil-Reed"),
        ("Fox, Ann; Reed, Bo", "Ann Fox; Bo Reed"),
        ("Ann Fox, Bo Reed", "Ann Fox, Bo Reed"),
        ("Smith, Jr.", "Smith, Jr."),
        ("Ann Fox, PhD", "Ann Fox, PhD"),
        ("李, 明", "李, 明"),
        ("World Health Organization", "World Health Organization"),
        ("", ""),
    ],
)
def test_surname_before_a_comma_moves_behind_the_given_name(written, expected):
    assert given_name_first(written) == expected


def test_journals_name_the_surname_first_but_news_sites_name_a_city():
    journal = (
        '<meta name="citation_title" content="Leeks"><meta name="dc.creator" content="Fox, Ann">'
    )
    news = '<meta name="dc.creator" content="Reuters, Berlin">'

    assert article(head=journal).authors == ("Ann Fox",)
    assert article(head=news).authors == ("Reuters, Berlin",)


@pytest.mark.parametrize(
    ("above", "language"),
    [
        ("<p>May 22, 2026</p>", "en-US"),
        ("<span>22. Mai 2026</span>", "de"),
        ("<p>Published: 22 May 2026</p><p>News</p>", "en"),
        ("<div>2026年5月22日</div>", "ja"),
    ],
)
def test_day_just_above_the_heading_is_that_of_the_article(above, language):
    page = pin(
        f'<html lang="{language}"><title>Leeks</title><main><div>{above}<h1>Leeks</h1></div>'
        f"{TEXT * 3}</main>"
        '<a href="/other"><div>Another story</div><time datetime="2026-03-05">Mar 5, 2026</time></a>'
    )

    assert page.published_at == date(2026, 5, 22)


def test_day_in_the_header_of_the_site_is_not_that_of_the_article():
    page = pin(
        "<html lang=en><title>Leeks</title><header><div>Monday, November 30, 2026</div></header>"
        f"<main><h1>Leeks</h1><p class=date>May 22, 2026</p>{TEXT * 3}</main>"
    )

    assert page.published_at == date(2026, 5, 22)


@pytest.mark.parametrize("sign", "|-–—·•›»‹«⋆★◆~")
def test_name_of_the_site_behind_a_sign_is_not_part_of_the_title(sign):
    head = '<meta property="og:site_name" content="Harbor News">'

    assert pin(f"<title>Leeks {sign} Harbor News</title>{head}").title == "Leeks"


def test_premiere_is_the_release_of_a_movie():
    event = {"@type": "PublicationEvent", "startDate": "2019-05-01"}

    page = pin(ld({"@type": "Movie", "name": "Leeks", "releasedEvent": [event]}))

    assert page.movie.released_at in {date(2019, 5, 1), datetime(2019, 5, 1)}


def test_place_has_the_coordinates_of_its_address_and_hours_of_days_with_a_hash():
    geo = {"@type": "GeoCoordinates", "latitude": "40.75", "longitude": "-73.98"}
    address = {"@type": "PostalAddress", "addressLocality": "Denver", "geo": geo}
    hours = [
        {
            "dayOfWeek": f"http://purl.org/goodrelations/v1#{day}",
            "opens": "22:00",
            "closes": "03:00",
        }
        for day in ("Monday", "PublicHolidays")
    ]

    page = pin(
        ld({"@type": "BarOrPub", "name": "Leeks", "url": "https://a.test/x", "address": address,
            "openingHoursSpecification": hours})
    )  # fmt: skip

    assert str(page.place.coordinates.latitude) == "40.75"
    assert page.place.opening_hours == ("Mo 22:00-03:00", "PH 22:00-03:00")


@pytest.mark.parametrize("text", ["1/2 cup", "1⁄2 cup", "½ cup"])
def test_half_has_one_decimal_in_every_spelling(text):
    page = pin(
        ld({"@type": "Recipe", "name": "Soup", "recipeYield": text, "recipeIngredient": ["1 leek"],
            "recipeInstructions": "Boil."})
    )  # fmt: skip

    assert str(page.recipe.yields.quantity) == "0.5"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.234", 1234),
        ("1.234.567 Aufrufe", 1_234_567),
        ("34 640", 34_640),
        ("1,234 reviews", 1234),
        ("4.5", None),
        ("1.2345", None),
        ("0.123", None),
    ],
)
def test_points_before_three_digits_group_the_thousands_of_a_count(text, number):
    assert count(text) == number


@pytest.mark.parametrize(
    "name", ["og:article:modified_time", "article:updated_time", "article:modified"]
)
def test_time_of_a_change_is_read_under_its_wrong_names(name):
    page = article(head=f'<meta name="{name}" content="2026-06-07T11:00:00+00:00">')

    assert page.modified_at.isoformat() == "2026-06-07T11:00:00+00:00"
