"""Data that schema.org allows in several forms, in each syntax."""

from __future__ import annotations

import pytest
from pins import ld, pin

from richpins.rich_pins import to_fields

ROLES = (
    ld({"@type": "Movie", "name": "M", "actor": {"@type": "PerformanceRole", "actor": {"name": "Ann Lee"}}}),
    ("<div itemscope itemtype='https://schema.org/Movie'><b itemprop=name>M</b><div itemprop=actor itemscope "
    "itemtype='https://schema.org/PerformanceRole'><div itemprop=actor itemscope "
    "itemtype='https://schema.org/Person'><b itemprop=name>Ann Lee</b></div></div></div>"),
    ("<div vocab='https://schema.org/' typeof=Movie><b property=name>M</b><div property=actor "
    "typeof=PerformanceRole><div property=actor typeof=Person><b property=name>Ann Lee</b></div></div></div>"),
)  # fmt: skip


@pytest.mark.parametrize("markup", ROLES, ids=["json-ld", "microdata", "rdfa"])
def test_actor_in_a_role_is_the_person(markup):
    assert pin(markup).movie.actors == ("Ann Lee",)


def test_item_that_is_a_property_of_another_is_read_once():
    rich_pin = pin(
        "<div itemscope itemtype='https://schema.org/Recipe'><b itemprop=name>S</b><p itemprop=recipeIngredient>x</p>"
        "<span itemprop=aggregateRating itemscope itemtype='https://schema.org/AggregateRating'>"
        "<b itemprop=ratingValue>4</b><b itemprop=ratingCount>9</b></span></div>"
    )

    assert rich_pin.recipe.rating.count == 9
    assert rich_pin.provenance["recipe.rating"].position == "microdata[0].aggregaterating"
    assert not rich_pin.conflicts


def test_item_with_only_text_uses_it_as_its_name():
    rich_pin = pin(
        "<div itemscope itemtype='https://schema.org/Book'><b itemprop=name>B</b>"
        "<b itemprop=author itemscope itemtype='https://schema.org/Person'>Ann Lee</b></div>"
    )

    assert rich_pin.authors == ("Ann Lee",)


def test_item_referenced_by_id_takes_the_data_given_elsewhere():
    rich_pin = pin(
        "<div itemscope itemtype='https://schema.org/Book'><b itemprop=name>B</b>"
        "<b itemprop=author itemscope itemid='#ann'>the author</b></div>"
        "<p itemscope itemtype='https://schema.org/Person' itemid='#ann'><b itemprop=name>Ann Lee</b></p>"
    )

    assert rich_pin.authors == ("Ann Lee",)


def test_author_given_as_an_id_is_resolved():
    graph = [
        {"@id": "#ann", "@type": "Person", "name": "Ann Lee"},
        {"@type": "Book", "name": "B", "author": "#ann"},
    ]

    assert pin(ld({"@graph": graph})).authors == ("Ann Lee",)


def test_rel_around_an_item_makes_it_a_value():
    rich_pin = pin(
        "<div vocab='https://schema.org/' typeof=TouristDestination><b property=name>Route</b>"
        "<div rel=geo><div typeof=GeoCoordinates><b property=latitude content='41.5'></b>"
        "<b property=longitude content='-3.5'></b></div></div>"
        "<div rel=includesAttraction><div typeof=TouristAttraction><b property=name>Castle</b></div></div></div>"
    )

    assert (rich_pin.title, str(rich_pin.place.coordinates.latitude)) == ("Route", "41.5")


@pytest.mark.parametrize(
    "name", ["EducationalOrganization", "DefinedRegion", "SportsClub", "Optician"]
)
def test_every_subtype_of_place_is_a_place(name):
    assert pin(ld({"@type": name, "name": "X", "address": "Main Street 1"})).type == "place"


def test_topic_of_an_article_is_not_the_subject():
    about = {"@type": "Drug", "name": "Met"}

    rich_pin = pin(ld({"@type": "MedicalScholarlyArticle", "headline": "New", "about": about}))

    assert (rich_pin.type, rich_pin.title) == ("article", "New")


def test_topic_of_a_web_page_is_the_subject():
    rich_pin = pin(ld({"@type": "WebPage", "name": "P", "about": {"@type": "Drug", "name": "Met"}}))

    assert (rich_pin.type, rich_pin.title) == ("product", "Met")


def test_place_has_the_url_of_its_map_and_an_email_without_mailto():
    place = pin(
        ld(
            {
                "@type": "Place",
                "name": "P",
                "hasMap": {"@type": "Map", "url": "/map"},
                "email": "mailto:p@a.test",
            }
        )
    ).place

    assert (place.map_url, place.email) == ("https://a.test/map", "p@a.test")


def test_unit_codes_become_readable_units():
    rich_pin = pin(
        ld({"@type": "Recipe", "name": "S", "recipeIngredient": [
            {"@type": "PropertyValue", "value": "3/4", "unitCode": "G21", "name": "sugar"},
            {"@type": "PropertyValue", "value": 2, "unitCode": "C62", "name": "eggs"},
        ]})
    )  # fmt: skip

    assert rich_pin.recipe.ingredients == ("3/4 cup sugar", "2 eggs")


@pytest.mark.parametrize(("reported", "stored"), [("2001", b'"2001"'), ("2001-05", b'"2001-05"')])
def test_date_is_stored_with_the_precision_given(reported, stored):
    fields, _ = to_fields(pin(ld({"@type": "Book", "name": "B", "datePublished": reported})))

    assert fields["book.published_at"] == fields["page.published_at"] == stored


def test_full_date_from_a_lower_source_is_preferred_to_a_year():
    rich_pin = pin(
        ld({"@type": "Article", "headline": "A", "datePublished": "2001"})
        + "<meta property='article:published_time' content='2001-05-06'>"
    )

    assert rich_pin.published_at.isoformat() == "2001-05-06"


@pytest.mark.parametrize("reported", ["0999", "2201", "2001-13", "20011", "soon"])
def test_invalid_year_is_not_a_date(reported):
    assert pin(ld({"@type": "Book", "name": "B", "datePublished": reported})).published_at is None


@pytest.mark.parametrize(
    ("opens", "closes", "hours"),
    [
        ("8:00:00", "18:00:00", "8:00-18:00"),
        ("T20:00", "T02:00:00+01:00", "20:00-02:00"),
        ("08:00 AM", "6:30 pm", "08:00 AM-6:30 pm"),
        ("2020-01-01T09:00:00", "2020-01-01T17:30:00Z", "09:00-17:30"),
        ("9", "noon", "9-noon"),
    ],
)
def test_opening_hours_keep_their_minutes_and_am_or_pm(opens, closes, hours):
    opening = {"dayOfWeek": ["https://schema.org/Monday"], "opens": opens, "closes": closes}
    place = {"@type": "Bakery", "name": "C", "openingHoursSpecification": opening}
    rich_pin = pin(ld(place))
    assert rich_pin.place is not None
    assert rich_pin.place.opening_hours == (f"Mo {hours}",)
