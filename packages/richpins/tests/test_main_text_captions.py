"""Images with captions that are not in a figure element, and quotations in figures."""

from __future__ import annotations

import pytest

from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

pytest.importorskip("trafilatura")

ONE = "The harbor opens its new reading room next week, and three hundred people asked for a seat."
TWO = "The director says that the room stays open until midnight, because many readers come late."
THREE = "The old hall is being repaired, so that both buildings can be joined by a bridge of glass."
CAPTION = "The room in winter"
IMAGE = '<img src="/room.jpg" alt="A room" width="800" height="400">'
LINKED = f'<a href="/room.jpg">{IMAGE}</a>'


def page_with(body: str, form: str = MARKDOWN) -> str:
    """The main text of a page."""
    markup = f"<html lang=en><title>A room</title><body>{body}</body></html>"
    return find(parse(markup.encode(), url="https://a.test/x", content_type="text/html"), form)


def between(box: str) -> str:
    """A page with a box between its paragraphs."""
    return f'<div class="post"><h1>A room</h1><p>{ONE}</p>{box}<p>{TWO}</p><p>{THREE}</p></div>'


BOXES = {
    "WordPress": f'<div class="wp-caption">{IMAGE}<p class="wp-caption-text">{CAPTION}</p></div>',
    "a link": f'<div class="wp-caption">{LINKED}<p class="wp-caption-text">{CAPTION}</p></div>',
    "two elements": f'<div class="image-block"><div class="wrap">{IMAGE}</div><div class="c">{CAPTION}</div></div>',
    "a figure": f'<figure>{IMAGE}<p class="caption">{CAPTION}</p></figure>',
    "Blogger": f'<table class="tr-caption-container"><tbody><tr><td>{LINKED}</td></tr><tr><td class="tr-caption">'
    f"{CAPTION}</td></tr></tbody></table>",
    "a button": f"<div><div><figure><button><span>View fullsize</span><div class='w'>{IMAGE}</div></button>"
    f"<figcaption><p>{CAPTION}</p></figcaption></figure></div></div>",
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_image_is_kept_with_the_caption_in_its_box(box):
    text = page_with(between(box))

    assert f"![A room](https://a.test/room.jpg)\n\n{CAPTION}" in text
    assert "fullsize" not in text


def test_image_above_the_text_is_kept_with_its_caption():
    hero = f'<div class="hero-wrap">{IMAGE}<div class="caption">{CAPTION}</div></div>'
    body = f'<div class="post"><h1>A room</h1>{hero}<div class="text"><p>{ONE}</p><p>{TWO}</p></div></div>'

    assert f"![A room](https://a.test/room.jpg)\n\n{CAPTION}\n\n{ONE}" in page_with(body)


def test_two_images_in_a_row_are_kept_with_their_captions():
    first = '<div class="image"><img src="/1.jpg" width="400"><p class="caption">First</p></div>'
    second = '<div class="image"><img src="/2.jpg" width="400"><p class="caption">Second</p></div>'
    text = page_with(between(f"<div>{first}{second}</div>"))

    assert [part in text for part in ("/1.jpg", "First", "/2.jpg", "Second")] == [True] * 4


@pytest.mark.parametrize(
    "box",
    [
        f'<div class="author-photo">{IMAGE}<span>Ann Lee</span></div>',
        f'<div class="teaser-image"><a href="/other">{IMAGE}<span>Another story</span></a></div>',
        f'<div class="image"><a href="/other">{IMAGE}<span>Another story</span></a></div>',
    ],
)
def test_image_with_a_name_or_a_teaser_is_left_out(box):
    assert "room.jpg" not in page_with(between(box))


def test_plain_text_has_no_captions():
    assert CAPTION not in page_with(between(BOXES["WordPress"]), TEXT)


QUOTATION = "We will not let the water get cold."


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_quotation_in_a_figure_is_kept_with_its_speaker(form):
    figure = f"<figure><blockquote><p>{QUOTATION}</p></blockquote><figcaption>Ida Holm</figcaption></figure>"
    text = page_with(between(figure), form)

    assert QUOTATION in text
    assert "Ida Holm" in text


def test_quotation_in_a_figure_that_repeats_the_text_is_left_out():
    figure = f"<figure><blockquote><p>{ONE[4:60]}</p></blockquote></figure>"

    assert page_with(between(figure), TEXT).count(ONE[4:60]) == 1
