"""Pages built to exhaust resources: bounded work, a partial pin, and reported problems."""

from __future__ import annotations

import json

import pytest

from richpins.extraction import extract
from richpins.rich_pins import to_fields

RECIPE = {
    "@type": "Recipe",
    "name": "Soup",
    "recipeIngredient": ["salt"],
    "recipeInstructions": "Stir.",
}


def ld(text: str) -> bytes:
    return f'<title>T</title><script type="application/ld+json">{text}</script>'.encode()


def nested(depth: int) -> str:
    return '{"@type":"Recipe","name":"Soup","x":' + '{"a":' * depth + "1" + "}" * depth + "}"


PAGES = {
    "ten megabytes of text": ld(json.dumps({**RECIPE, "description": "x" * 10_000_000})),
    "three megabytes of list": ld(json.dumps({**RECIPE, "keywords": ["pot"] * 450_000})),
    "three megabytes truncated": ld(json.dumps({**RECIPE, "keywords": ["pot"] * 450_000})[:-9]),
    "deep objects": ld(nested(50_000)),
    "unclosed brackets": ld("[" * 2_000_000),
    "stray quotes": ld('{"@type":"Recipe","name":"Soup","d":"' + 'a"b' * 300_000),
    "comments in json": ld('{"@type":"Recipe",' + "/*" * 500_000),
    "nested items": b"<div itemscope itemprop=a itemtype=http://schema.org/Recipe>" * 10_000,
    "flat items": b"<p itemscope itemtype=http://schema.org/Recipe><b itemprop=name>x</b>" * 10_000,
    "itemref to all": (
        b"<div id=x>" + b"<b itemprop=name>x</b>" * 500 + b"</div>"
        + b"<p itemscope itemtype=http://schema.org/Recipe itemref='x x x x'></p>" * 500
    ),
    "itemref to text": (
        b"<div id=x>" + b"<b>x</b>" * 20_000 + b"</div>"
        + (b"<p itemscope itemtype=http://schema.org/Recipe itemref='%s'></p>" % (b"x " * 100)) * 500
    ),
    "entities": b"<title>" + b"&amp;" * 200_000 + b"</title><meta name=description content='"
    + b"&amp;amp;" * 200_000 + b"'>",
    "meta tags": b"".join(b"<meta property=og:image content=/%d.png>" % n for n in range(5_000)),
    "headings": b"<div><h2>Ingredients</h2>" * 400 + b"<li>x" * 5_000,
    "nested ingredients": b"<div itemprop=recipeIngredient>1 cup" * 4_000,
    "nested steps": b"<div itemscope itemtype=http://schema.org/Recipe>"
    + b"<div itemprop=recipeInstructions>Mix. " * 4_000,
    "bylines": b"<i class=author>Aa Bb Cc</i>" * 5_000,
    "wrong charset": "<title>привет</title>".encode("utf-16-be"),
    "binary": bytes(range(256)) * 2_000,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_hostile_page_gives_a_pin(name):
    rich_pin = extract(PAGES[name], "https://a.test/x", "text/html; charset=utf-8")

    fields, _ = to_fields(rich_pin)

    assert fields["page.type"]
    assert len(rich_pin.conflicts) + len(rich_pin.dropped) + len(rich_pin.problems) < 500


def test_every_limit_reached_is_reported():
    assert "nested too deep" in extract(PAGES["deep objects"], "https://a.test/x").problems[0]
    assert "characters of values" in extract(PAGES["nested steps"], "https://a.test/x").problems[0]
    assert "the rest was not read" in extract(PAGES["meta tags"], "https://a.test/x").problems[0]
    assert (
        "characters were read"
        in extract(PAGES["three megabytes truncated"], "https://a.test/x").problems[0]
    )


def test_comparisons_of_titles_and_prices_are_bounded():
    names = ", ".join(f'"name {n} {"x" * 300}"' for n in range(2_000))
    metas = "".join(f"<meta property=og:title content='{n} {'y' * 300}'>" for n in range(500))
    cards = "<div class=c><b class=price>was 5</b></div>" * 60
    nested = f"<div class=n>{cards}" * 40 + "</div>" * 40
    page = (
        f"<title>{'a | b - ' * 9_000}</title>{metas}"
        f'<script type="application/ld+json">{{"@type":"Article","name":[{names}]}}</script>'
        f"<h1>x</h1>{nested}add to cart"
    )
    assert extract(page.encode(), "https://a.test/").type == "article"


def test_broken_arrays_are_parsed_in_linear_time():
    # Takes a tenth of a second, but minutes if every quote rescans the rest.
    for text in (
        "a:2:{" + 's:1:"' * 20_000,
        "[" + " 'a" * 60_000 + "]",
        "{" + "'a:" * 60_000,
        "Array (" * 20_000,
    ):
        block = json.dumps({"@type": "Recipe", "name": "x", "recipeInstructions": text})
        page = f'<script type="application/ld+json">{block}</script>'
        assert extract(page.encode(), "https://a.test/").type == "recipe"
