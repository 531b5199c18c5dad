"""Misleading markup, and text that looks like something else."""

from __future__ import annotations

from datetime import date

import orjson
import pytest

from richpins.extraction import extract
from richpins.rich_pins import RichPin
from richpins.values import durations

URL = "https://www.example.org/a/1"


def pin(head: str = "", body: str = "", *items: dict, url: str = URL) -> RichPin:
    scripts = "".join(
        f'<script type="application/ld+json">{orjson.dumps(item).decode()}</script>'
        for item in items
    )
    page = f"<html><head>{head}{scripts}</head><body>{body}</body></html>"
    return extract(page.encode(), url, "text/html; charset=utf-8")


def recipe(**more: object) -> dict:
    return {"@type": "Recipe", "name": "Soup", "recipeIngredient": ["1 leek", "1 l water"], **more}


def test_attribute_table_in_a_manual_is_not_a_recipe():
    rows = "".join(
        f"<tr><td>{n}</td><td>gr_{name}</td><td>the {name}</td></tr>"
        for n, name in enumerate(("name", "passwd", "gid", "mem"))
    )
    steps = "<p>This module gives access to the database. Entries are tuples of attributes.</p>"
    body = f"<h1>grp</h1><p>Integer ingredients.</p><table>{rows}</table>{steps}"
    assert pin("<title>grp</title>", body).type == "page"


@pytest.mark.parametrize("text", ["-PT10M", "-10 min", "−PT1H"])
def test_negative_duration_is_ignored(text):
    assert durations.minutes(text) is None
    assert durations.seconds(text) is None


@pytest.mark.parametrize(
    "steps",
    [
        'a:2:{i:0;s:13:"Cut the leek.";i:1;s:14:"Boil it "well".";}',
        'Array ( [0] => Cut the leek. [1] => Boil it "well". )',
        "['Cut the leek.', 'Boil it \"well\".']",
        {"0": "Cut the leek.", "2": 'Boil it "well".'},
        {"1": {"@type": "HowToStep", "text": "Cut the leek."},
         "3": {"@type": "HowToStep", "text": 'Boil it "well".'}},
    ],
)  # fmt: skip
def test_steps_in_an_array_of_another_language_are_parsed(steps):
    rich_pin = pin("", "", recipe(recipeInstructions=steps))
    assert rich_pin.recipe.instructions == ("Cut the leek.", 'Boil it "well".')


def test_steps_in_plain_text_are_kept_unchanged():
    rich_pin = pin("", "", recipe(recipeInstructions="Boil [gently], then wait."))
    assert rich_pin.recipe.instructions == ("Boil [gently], then wait.",)


def test_paragraph_inside_an_ingredient_does_not_split_it():
    marked = "".join(
        f"<li itemprop=recipeIngredient><p>{amount}</p><p>{name}</p></li>"
        for amount, name in (("2 cups", "flour"), ("1", "egg"), ("1 l", "milk"))
    )
    rich_pin = pin("", f"<div itemscope itemtype=http://schema.org/Recipe><ul>{marked}</ul></div>")
    assert rich_pin.recipe.ingredients == ("2 cups flour", "1 egg", "1 l milk")
    declared = pin("", "", recipe(recipeIngredient=["<p>2 cups</p> <p>flour</p>", "1 egg"]))
    assert declared.recipe.ingredients == ("2 cups flour", "1 egg")


def test_ingredients_may_be_paragraphs_of_one_text():
    rich_pin = pin("", "", recipe(recipeIngredient="<p>2 cups flour</p><p>1 egg</p>"))
    assert rich_pin.recipe.ingredients == ("2 cups flour", "1 egg")


def test_recipe_named_in_the_page_title_is_preferred():
    salsa = recipe(name="Salsa", cookTime="PT5M", recipeYield="2", author="Ann", image="/s.jpg")
    tacos = recipe(name="Fish Tacos")
    rich_pin = pin("<title>Fish Tacos with Salsa</title>", "", tacos, salsa)
    assert rich_pin.title == "Fish Tacos"


def test_secure_image_url_alone_is_the_image():
    rich_pin = pin("<meta property=og:image:secure_url content=https://a.test/soup.jpg>")
    assert rich_pin.image.url == "https://a.test/soup.jpg"


def test_touch_icon_is_the_fallback_icon():
    rich_pin = pin("<link rel=apple-touch-icon href=/touch.png>")
    assert rich_pin.icon_url == "https://www.example.org/touch.png"
    both = pin("<link rel=apple-touch-icon href=/touch.png><link rel=icon href=/icon.png>")
    assert both.icon_url == "https://www.example.org/icon.png"


def test_date_outside_any_item_belongs_to_the_page():
    body = "<time itemprop=datePublished datetime=2024-05-01>last spring</time>"
    assert pin("", body).published_at == date(2024, 5, 1)


def test_date_of_another_item_does_not_belong_to_the_page():
    body = (
        "<div itemscope itemtype=http://schema.org/Comment>"
        "<time itemprop=datePublished datetime=2024-05-01>x</time></div>"
    )
    assert pin("", body).published_at is None


def test_reviewed_product_does_not_make_its_page_a_product_page():
    review = {
        "@type": "Review", "name": "The X200 tested", "reviewBody": "Good.",
        "itemReviewed": {"@type": "Product", "name": "X200", "sku": "9", "offers": {
            "@type": "Offer", "price": "9", "priceCurrency": "EUR"}},
    }  # fmt: skip
    rich_pin = pin("<title>The X200 tested</title>", "", review)
    assert (rich_pin.type, rich_pin.title) == ("article", "The X200 tested")


def test_publisher_business_does_not_make_an_article_a_place():
    business = {
        "@type": "Dentist", "name": "Dr. Baker", "url": "https://www.example.org/",
        "address": {"@type": "PostalAddress", "streetAddress": "Main St 1"}, "telephone": "12345",
    }  # fmt: skip
    head = "<title>Five tips</title><meta property=og:type content=article>"
    assert pin(head, "<h1>Five tips</h1>", business).type == "article"
    assert pin("<title>Dr. Baker</title>", "", business).type == "place"


PERSON = {
    "@type": "Person",
    "name": "Ann Baker",
    "image": "/ann.jpg",
    "description": "Cooks.",
}
SHOP = {"@type": "Organization", "name": "The Pot", "logo": "/logo.png", "image": "/house.jpg"}


@pytest.mark.parametrize(
    "item",
    [
        PERSON,
        {**PERSON, "@type": "Organization"},
        {**PERSON, "@type": "MusicEvent"},
        {**PERSON, "@type": "WebPage"},
        {**PERSON, "@type": "ItemList"},
        {"@type": "ProfilePage", "mainEntity": PERSON},
    ],
)
def test_other_types_give_title_description_and_image(item):
    rich_pin = pin("", "", item)
    assert (rich_pin.type, rich_pin.title, rich_pin.description) == ("page", "Ann Baker", "Cooks.")
    assert rich_pin.image.url == "https://www.example.org/ann.jpg"
    assert rich_pin.types == ((item if "name" in item else PERSON)["@type"],)


def test_organization_behind_the_site_is_not_the_subject_of_its_pages():
    rich_pin = pin("<title>Contact | The Pot</title>", "<h1>Contact</h1>", SHOP)
    assert (rich_pin.title, rich_pin.types, rich_pin.image) == ("Contact", (), None)


def test_person_in_the_page_title_is_its_subject():
    rich_pin = pin("<title>Ann Baker | The Pot</title>", "<h1>Ann Baker</h1>", SHOP, PERSON)
    assert (rich_pin.types, rich_pin.title) == (("Person",), "Ann Baker")


def test_event_comes_before_its_organizer():
    event = {"@type": "Event", "name": "Soup Day", "startDate": "2026-01-01"}
    rich_pin = pin("", "", SHOP, {"@type": "WebPage", "name": "Dates"}, event)
    assert (rich_pin.types, rich_pin.title) == (("Event",), "Soup Day")


def test_entities_with_digits_in_their_names_are_decoded():
    rich_pin = pin("", "", recipe(recipeIngredient=["2 &amp;frac14; cups", "10 m&sup2;"]))
    assert rich_pin.recipe.ingredients == ("2 ¼ cups", "10 m²")
