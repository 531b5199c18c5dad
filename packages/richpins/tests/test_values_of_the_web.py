"""Values in the spellings of many sites: durations, yields, steps, icons, items and encodings."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import ld, pin, recipe_ld

from richpins.encodings.detection import encoding
from richpins.extraction import extract
from richpins.values import durations
from richpins.values.yields import read_yield


@pytest.mark.parametrize(
    "text", ["PT-15M", "PT1H-5M", "P-1DT2H", "-PT15M", "PT−15M", "PT-1H-5M", "P0DT0H-45M"]
)
def test_duration_with_a_negative_part_is_ignored(text):
    assert durations.minutes(text) is None
    assert pin(recipe_ld(totalTime=text)).recipe.total_minutes is None


@pytest.mark.parametrize(("text", "minutes"), [("PT15-20M", 20), ("PT15M", 15), ("15-20 min", 20)])
def test_range_of_durations_is_not_negative(text, minutes):
    assert durations.minutes(text) == minutes


@given(
    st.integers(0, 99),
    st.sampled_from([("½", "0.5"), ("¼", "0.25"), ("¾", "0.75"), ("⅛", "0.12"), ("⅔", "0.67")]),
    st.sampled_from(["", " "]),
)
def test_unicode_fraction_is_added(whole, fraction, gap):
    sign, decimal = fraction
    number = f"{whole}{gap}{sign}" if whole else sign

    read = read_yield(f"{number} dozen")

    assert read.quantity == whole + Decimal(decimal)
    assert read.unit == "dozen"


@pytest.mark.parametrize("kind", ["HowToStep", "HowToDirection", "ListItem"])
@pytest.mark.parametrize("text", ["text", "description"])
def test_name_of_a_step_is_its_heading(kind, text):
    steps = [
        {"@type": kind, "name": "Rice", text: "Boil it."},
        {"@type": kind, "name": "Serve hot."},
    ]
    for written in (steps, {"@type": "ItemList", "itemListElement": steps},
                  [{"@type": "HowToSection", "name": "Dish", "itemListElement": steps}]):  # fmt: skip
        recipe = pin(recipe_ld(recipeInstructions=written)).recipe

        assert recipe.instructions == ("Boil it.", "Serve hot.")


_INGREDIENTS = "<h1>Soup</h1><h2>Ingredients</h2><ul><li>2 leeks<li>1 l water<li>1 tsp salt</ul>"


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("<b>1</b> Chop the leeks.", "<b>2</b> Fry them in butter."),
        ("<span class=n>1.</span>Chop the leeks.", "<span class=n>2.</span>Fry them in butter."),
        (
            "<div><i>1)</i></div><p>Chop the leeks.</p>",
            "<div><i>2)</i></div><p>Fry them in butter.</p>",
        ),
    ],
)
def test_step_number_in_a_separate_element_is_left_out(first, other):
    steps = f"<h2>Directions</h2><ul><li>{first}<li>{other}</ul>"

    assert pin(_INGREDIENTS + steps).recipe.instructions == (
        "Chop the leeks.",
        "Fry them in butter.",
    )


def test_other_number_at_the_start_of_a_step_is_kept():
    steps = "<h2>Directions</h2><ul><li><b>2</b> leeks are chopped into small rings.<li><b>4</b> eggs are beaten well until they foam.</ul>"

    assert pin(_INGREDIENTS + steps).recipe.instructions == (
        "2 leeks are chopped into small rings.",
        "4 eggs are beaten well until they foam.",
    )


@pytest.mark.parametrize(
    "shown", ["Elkészítési idő: 1 óra 30 perc", "Teljes idő 90 perc", "Összidő: 1,5 óra"]
)
def test_hungarian_time_is_parsed(shown):
    page = (
        f"<html lang=hu>{recipe_ld(recipeIngredient=['1 tojás', '2 hagyma'])}<main>{shown}</main>"
    )

    assert pin(page).recipe.total_minutes == 90


@pytest.mark.parametrize(
    "others", ["<link rel='alternate icon' href=/a.png>", "<link rel=mask-icon href=/m.svg>"]
)
def test_icon_is_preferred_to_its_alternates(others):
    assert (
        pin(f"<title>x</title>{others}<link rel=icon href=/i.svg>").icon_url
        == "https://a.test/i.svg"
    )
    alone = "<title>x</title><link rel='alternate icon' href=/a.png>"
    assert pin(alone).icon_url == "https://a.test/a.png"


@pytest.mark.parametrize("role", ["review", "comment", "isRelatedTo"])
@pytest.mark.parametrize("before", [True, False])
def test_orphaned_property_is_not_the_subject(role, before):
    place = (
        '<div itemscope itemtype="https://schema.org/Restaurant"><h1 itemprop=name>Paseo</h1></div>'
    )
    loose = (
        f'<div itemprop={role} itemscope itemtype="https://schema.org/Review">'
        "<b itemprop=name>Great</b></div>"
    )
    page = pin(loose + place if before else place + loose)

    assert (page.type, page.title) == ("place", "Paseo")


@pytest.mark.parametrize("card", ["h-card", "vcard"])
def test_organization_in_an_author_card_is_not_part_of_the_name(card):
    name = {"h-card": "p-name", "vcard": "fn"}[card]
    page = pin(
        f'<h1>Note</h1><a class="p-author author {card}" href=/k><span class="{name}">Kyle West</span>'
        ' <span class="p-org org">Acme</span></a>'
    )

    assert page.authors == ("Kyle West",)


@pytest.mark.parametrize("kind", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", ["", "<meta charset=utf-16>", "<meta charset=iso-8859-1>"])
@pytest.mark.parametrize("title", ["Grüße", "Привет", "橋"])
def test_utf16_is_recognized_by_its_null_bytes(kind, declared, title):
    body = f"<!doctype html><html><head>{declared}<title>{title}</title>".encode(kind)

    assert extract(body, "https://a.test/", "text/html").title == title


@pytest.mark.parametrize(
    "body", [b"<title>a\0b</title>", b"\0<title>x</title>", b"<\0t", b"\0\0\0\0"]
)
def test_single_null_bytes_do_not_make_utf16(body):
    assert encoding(body + b"<p>caf\xe9</p>", None) not in {"utf-16le", "utf-16be"}


def test_post_of_an_undeclared_blog_is_an_article():
    page = pin('<div itemprop=blogPost itemscope itemtype="https://schema.org/BlogPosting">'
               "<h1 itemprop=headline>Bridge</h1></div>")  # fmt: skip

    assert page.type == "article"
    assert pin(ld({"@type": "Review", "name": "Great"})).title == "Great"
