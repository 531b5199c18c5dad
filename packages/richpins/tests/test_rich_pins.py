"""What a page is about, its fields, and the record of their sources."""

from __future__ import annotations

import json
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from pins import ld, pin

from richpins.extraction import extract
from richpins.provenance import Candidate, Ledger
from richpins.rich_pins import EXTRACTOR_VERSION, to_fields

RECIPE = {
    "@type": "Recipe",
    "name": "Soup",
    "recipeIngredient": ["salt"],
    "recipeInstructions": "Stir.",
}


def test_page_without_data_has_type_page():
    rich_pin = pin("<title>T</title>")

    assert (rich_pin.type, rich_pin.title, rich_pin.recipe) == ("page", "T", None)


def test_complete_recipe_is_preferred_to_the_article_around_it():
    rich_pin = pin(
        ld({"@type": "BlogPosting", "headline": "My Soup"}, RECIPE)
        + "<meta property=og:type content=article>"
    )

    assert (rich_pin.type, rich_pin.title) == ("recipe", "Soup")


def test_publisher_is_not_the_subject_of_its_article():
    rich_pin = pin(
        ld({"@type": "NewsArticle", "headline": "H", "publisher": {"@type": "Store", "name": "S"}})
    )

    assert (rich_pin.type, rich_pin.article.publisher) == ("article", "S")


def test_item_with_the_url_of_the_page_is_chosen_of_several():
    items = [{"@type": "Product", "name": f"P{n}", "url": f"https://a.test/{n}"} for n in range(5)]

    assert pin(ld(*items), "https://a.test/3").title == "P3"


def test_other_item_types_give_the_page_its_title():
    rich_pin = pin(ld({"@type": "Event", "name": "Fair", "description": "Once a year."}))

    assert (rich_pin.type, rich_pin.types, rich_pin.title, rich_pin.description) == (
        "page", ("Event",), "Fair", "Once a year.",
    )  # fmt: skip


def test_open_graph_alone_makes_a_product():
    rich_pin = pin(
        "<meta property=og:type content=product><meta property=og:title content=Boot>"
        "<meta property=product:price:amount content='1,299.00'><meta property=product:price:currency content=usd>"
        "<meta property=product:availability content='in stock'><meta property=product:condition content=new>"
    )

    assert (rich_pin.product.price, rich_pin.product.currency) == (Decimal("1299.00"), "USD")
    assert (rich_pin.product.availability, rich_pin.product.condition) == ("in_stock", "new")


def test_price_without_a_currency_is_dropped_with_a_reason():
    rich_pin = pin(ld({"@type": "Product", "name": "Boot", "offers": {"price": "12.00"}}))

    assert rich_pin.product.price is None
    assert [(each.field, each.reason) for each in rich_pin.dropped] == [
        ("product.price", "not a price")
    ]


def test_offers_give_a_price_range_and_the_best_availability():
    offers = [
        {"price": 30, "priceCurrency": "EUR", "availability": "OutOfStock"},
        {"price": "20", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"},
        {"price": "1", "priceCurrency": "USD"},
    ]

    product = pin(ld({"@type": "Product", "name": "Boot", "offers": offers})).product

    assert (product.price, product.price_high, product.availability) == (20, 30, "in_stock")


def test_price_specification_gives_the_list_price():
    offer = {
        "priceCurrency": "EUR",
        "priceSpecification": [
            {"price": "80.00"}, {"price": "100.00", "priceType": "https://schema.org/ListPrice"},
        ],
    }  # fmt: skip

    product = pin(ld({"@type": "Product", "name": "Boot", "offers": offer})).product

    assert (product.price, product.list_price) == (Decimal("80.00"), Decimal("100.00"))


def test_movie_has_people_and_minutes():
    movie = pin(ld({
        "@type": "Movie", "name": "M", "duration": "PT2H5M", "datePublished": "1999",
        "director": {"@type": "Person", "name": "D"}, "actor": [{"name": "A"}, "B"], "genre": ["Drama"],
        "trailer": {"@type": "VideoObject", "embedUrl": "/t"},
    })).movie  # fmt: skip

    assert (movie.directors, movie.actors, movie.duration_minutes) == (("D",), ("A", "B"), 125)
    assert movie.trailer_url == "https://a.test/t"
    assert movie.released_at.isoformat() == "1999"


def test_video_has_an_embed_url_and_seconds():
    rich_pin = pin(
        "<meta property=og:type content=video.other><meta property=og:title content=V>"
        "<meta property=og:video content=/player><meta property=video:duration content=95>"
        "<meta property=og:video:width content=640>"
    )

    assert rich_pin.type == "video"
    assert (rich_pin.video.duration_s, rich_pin.video.embed_url, rich_pin.video.width) == (
        95,
        "https://a.test/player",
        640,
    )


def test_book_takes_its_isbn_from_an_edition():
    book = pin(
        ld(
            {
                "@type": "Book",
                "name": "B",
                "isbn": "123",
                "workExample": [{"isbn": "978-0-306-40615-7"}],
            }
        )
    ).book

    assert book.isbn == "9780306406157"


def test_largest_image_wins_and_icons_never_do():
    rich_pin = pin(
        "<meta property=og:image content=/logo.png><meta property=og:image content=/small.jpg>"
        "<meta property=og:image:width content=300><meta property=og:image:height content=200>"
        "<meta property=og:image content=/big-1200x900.jpg><meta name=twitter:image content=data:x>"
    )

    assert rich_pin.image.url == "https://a.test/big-1200x900.jpg"
    assert [image.url[15:] for image in rich_pin.images] == [
        "logo.png",
        "small.jpg",
        "big-1200x900.jpg",
    ]


def test_article_uses_its_open_graph_image():
    rich_pin = pin(
        ld(
            {
                "@type": "Article",
                "headline": "H",
                "image": {"url": "/author.jpg", "width": 2000, "height": 2000},
            }
        )
        + "<meta property=og:image content=/lead.jpg>"
    )

    assert rich_pin.image.url == "https://a.test/lead.jpg"


def test_site_name_is_removed_from_titles():
    assert (
        pin(
            "<title>Soup | A Test Kitchen</title><meta property=og:site_name content='A Test Kitchen'>"
        ).title
        == "Soup"
    )
    assert (
        pin("<title>Pot Shop: Soup - Spoons</title>", "https://spoons.test/").title
        == "Pot Shop: Soup"
    )
    assert pin("<title>Soup - Salad</title>").title == "Soup - Salad"


def test_site_name_is_found_in_the_title_by_the_host():
    assert (
        pin("<title>Soup | Bong Eats</title>", "https://www.bongeats.com/soup").site_name
        == "Bong Eats"
    )
    assert pin("<title>Soup | Other</title>", "https://www.bongeats.com/soup").site_name is None


def test_byline_outside_comments_names_the_author():
    markup = "<div class=comments><span class=author>Troll Face</span></div><p class=byline>By Ann Baker | May 1</p>"

    assert pin(markup).authors == ("Ann Baker",)


def test_provenance_and_conflicts_of_a_value_are_kept():
    rich_pin = pin(
        ld(RECIPE) + "<meta property=og:title content='Another soup'><title>Third</title>"
    )

    source = rich_pin.provenance["page.title"]
    assert (source.syntax, source.position) == ("json-ld", "json-ld[0].name")
    assert [(each.value, each.syntax) for each in rich_pin.conflicts if each.field == "page.title"] == [
        ("Another soup", "opengraph"), ("Third", "html"),
    ]  # fmt: skip


def test_alternatives_to_the_chosen_value_are_read_on_demand():
    ledger, read = Ledger(), []

    def candidates():
        for text in ("", "first", "bad", "other"):
            read.append(text)
            yield Candidate(text, "html", "h1")

    chosen = ledger.pick(
        "page.title", lambda text: None if text == "bad" else text or None, candidates()
    )
    read_before = list(read)
    alternatives = ledger.alternatives()

    assert (chosen, read_before) == ("first", ["", "first"])
    assert [each.value for each in alternatives.conflicts] == ["other"]
    assert [each.text for each in alternatives.dropped] == ["bad"]
    assert ledger.alternatives().conflicts == ()


def test_invalid_values_are_dropped_and_the_next_source_is_used():
    rich_pin = pin(
        ld({**RECIPE, "totalTime": "soon", "image": "data:x", "datePublished": "03/04/2024"})
        + "<meta property=article:published_time content=2024-03-04>"
    )

    assert rich_pin.recipe.total_minutes is None
    assert rich_pin.published_at.isoformat() == "2024-03-04"
    assert {each.field for each in rich_pin.dropped} == {
        "recipe.total_minutes",
        "page.published_at",
    }


def test_name_of_a_step_is_not_a_separate_step():
    steps = [
        {"@type": "HowToStep", "name": "Mix", "text": "Put all in a bowl."},
        {"@type": "HowToStep", "name": "Bake", "text": "Bake for an hour."},
    ]

    assert pin(ld({**RECIPE, "recipeInstructions": steps})).recipe.instructions == (
        "Put all in a bowl.", "Bake for an hour.",
    )  # fmt: skip


def test_fields_are_json_and_equal_for_equal_pages():
    fields, provenance = to_fields(pin(ld(RECIPE)))

    assert fields == to_fields(pin(ld(dict(reversed(RECIPE.items())))))[0]
    assert json.loads(fields["recipe.ingredients"]) == ["salt"]
    assert json.loads(fields["page.extractor_version"]) == EXTRACTOR_VERSION
    assert provenance["recipe.ingredients"] == "json-ld json-ld[0].recipeingredient"
    assert all(name.partition(".")[0] in {"page", "recipe"} for name in fields)


def test_page_has_only_the_fields_of_its_type():
    assert {name.partition(".")[0] for name in to_fields(pin("<title>T</title>"))[0]} == {"page"}


@given(st.binary(max_size=1_500))
def test_any_bytes_give_a_pin_with_fields(body):
    rich_pin = extract(body, "https://a.test/x")

    assert to_fields(rich_pin)[0]["page.type"]
