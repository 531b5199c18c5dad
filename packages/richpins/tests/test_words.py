"""Which words a page contains and where, from a single pass."""

import pytest

from richpins.structured_data import words
from richpins.structured_data.words import MAX_OFFSETS, Words


@pytest.mark.parametrize("word", [*words.CARTS, *words.PRICES, "材料", "ingr&e", "itemscope"])
def test_word_is_found_at_any_position_and_in_any_case(word):
    for before in (0, 1, 262_143, 262_144, 300_000):
        body = b"x" * before + word.upper().encode() if word.isascii() else word.encode()
        assert word in Words(body), before
    assert word not in Words(b"nothing of the kind")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<b class="a update-1">', True),
        ("<b class=date>", True),
        ("<b CLASS='x DATE'>", True),
        ('<b class="a" title="date">', False),
        ("<b class=a>update", False),
        ('<a href="update.html">', False),
        ("date", False),
    ],
)
def test_word_in_a_class_is_distinguished_from_one_elsewhere(html, expected):
    assert Words(html.encode()).occurs_in_class("publish", "date") is expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<b data-price="1">', True),
        ("<b>price</b>", False),
        ('<link href="price.css">', False),
        ('<meta name="price">', False),
        ("<!-- price -->", False),
    ],
)
def test_word_in_a_tag_is_distinguished_from_one_elsewhere(html, expected):
    assert Words(html.encode()).occurs_in_tag("price") is expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p typeof=Recipe>", True),
        ('<p title="a > b" typeof = "Recipe">', True),
        ("<p typeof property=name>", True),
        ("<p typeof>", True),
        ("<p typeof", True),
        ('<script>if ("x" == typeof y) z()</script>', False),
        ("the typeof operator", False),
    ],
)
def test_attribute_is_distinguished_from_a_word_in_a_script(html, expected):
    assert Words(html.encode()).is_attribute("typeof") is expected


@pytest.mark.parametrize("text", ["2 tsp", "tsp", "2tsp.", "2 tsps of", "2\u00a0tsp</b>"])
def test_unit_may_be_a_separate_word_or_a_plural(text):
    assert Words(text.encode()).is_whole_word("tsp")


@pytest.mark.parametrize(
    "text", ["getspec", "a_tsp", "<tspan>", "Universit\u00e4tsplatz", "TSP13K", "tsp-id", "tspsy"]
)
def test_unit_within_a_longer_word_is_ignored(text):
    assert not Words(text.encode()).is_whole_word("tsp")


def test_word_with_too_many_occurrences_counts_as_found():
    many = Words(b"date " * (MAX_OFFSETS + 1) + b'<b class="date">')

    assert many.occurs_in_class("date")
    assert not many.occurs_in_class("publish")
