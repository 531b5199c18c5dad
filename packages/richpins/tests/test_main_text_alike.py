"""Paragraphs that look like the kept ones are kept, and other articles of a page are left out."""

from __future__ import annotations

import pytest

from richpins.document import parse
from richpins.main_text import TEXT, find

ONE = "The harbor opens its new reading room next week, and three hundred people asked for a seat."
TWO = "The director says that the room stays open until midnight, because many readers come late."
THREE = "The old hall is being repaired, so that both buildings can be joined by a bridge of glass."
FERRY = "The ferry to the islands will not go after noon, because its engine needs new parts now."
FISH = "The price of fish rose by two cents at noon, the third time in a row within this one week."


def text_of(body: str) -> str:
    """The main text of a page."""
    markup = f"<html lang=en><title>A room</title><body>{body}</body></html>"
    return find(parse(markup.encode(), url="https://a.test/x", content_type="text/html"), TEXT)


def test_sentence_that_is_a_link_between_paragraphs_of_its_class_is_kept():
    text = text_of(
        f'<article><h1>A room</h1><p class="m">{ONE}</p><p class="m"><a href="/x">{FERRY}</a></p>'
        f'<p class="m">{TWO}</p><p class="m">{THREE}</p></article>'
    )

    assert FERRY in text


def test_invitation_to_read_on_between_paragraphs_of_its_class_is_left_out():
    invitation = "Read more: The ferry to the islands does not go after noon from Monday on"
    text = text_of(
        f'<article><h1>A room</h1><div class="m"><p>{ONE}</p></div>'
        f'<div class="m"><p><a href="/x">{invitation}</a></p></div>'
        f'<div class="m"><p>{TWO}</p></div><div class="m"><p>{THREE}</p></div></article>'
    )

    assert "ferry" not in text


def test_paragraph_in_a_second_part_of_the_same_class_is_kept():
    text = text_of(
        f'<h1>A room</h1><section class="part"><div class="in"><p class="par">{ONE}</p>'
        f'<div class="par">{TWO}</div><div class="par">{FISH}</div></div></section>'
        f'<section class="part"><div class="rest"><div class="par">{THREE}</div></div></section>'
    )

    assert THREE in text


@pytest.mark.parametrize("name", ["col", "about-us", "related", "comments", "sidebar"])
def test_paragraph_of_the_same_class_in_another_part_is_left_out(name):
    text = text_of(
        f'<div><div class="main"><h1>A room</h1><p class="par">{ONE}</p><p class="par">{TWO}</p>'
        f'<p class="par">{THREE}</p></div><div class="{name}"><h3>More</h3>'
        f'<p class="par">{FERRY}</p></div></div>'
    )

    assert THREE in text
    assert FERRY not in text


def test_articles_below_that_of_the_page_are_left_out():
    text = text_of(
        f"<div><article><h1>A room</h1><p>{ONE}</p><p>{TWO}</p><p>{THREE}</p></article>"
        f"<article><h2>Ferry</h2><p>{FERRY}</p><p>{FERRY}</p></article>"
        f"<article><h2>Fish</h2><p>{FISH}</p></article></div>"
    )

    assert THREE in text
    assert FERRY not in text
    assert FISH not in text


def test_posts_below_the_first_one_are_kept():
    text = text_of(
        f'<div class="thread"><article class="post"><h1>A room</h1><p>{ONE}</p><p>{TWO}</p></article>'
        f'<article class="post"><p>{FERRY}</p></article>'
        f'<article class="post"><p>{FISH}</p></article></div>'
    )

    assert ONE in text
    assert FERRY in text
