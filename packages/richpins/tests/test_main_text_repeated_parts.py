"""Posts and other parts of the same structure complete a text that an extractor mostly missed."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article.page_texts import PageTexts, texts_of
from richpins.article.repeated_parts import complete_from_parts
from richpins.article.text_blocks import text_blocks

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "
NAMES = ("anna", "ben", "cleo", "dora", "emil")


def posts(markup: str = "<div class=post><div><div class=body>{1}</div></div></div>") -> str:
    return "".join(markup.format(name, f"Post of {name}. {SENTENCE * 2}") for name in NAMES)


def page_of(body: str, chosen: str) -> PageTexts:
    """The texts of a page of which the pieces that contain `chosen` were kept."""
    texts = texts_of(html.document_fromstring(f"<html><body>{body}</body></html>"))
    for piece in texts.pieces:
        piece.kept = chosen in (piece.element.text or "")
    return texts


def is_completed(texts: PageTexts) -> bool:
    """Whether the text was completed; if so, all posts are in it."""
    completed = complete_from_parts(texts, list(text_blocks(texts)))
    kept = "".join(texts.letters[piece.start : piece.end] for piece in texts.pieces if piece.kept)
    assert all((f"Postof{name}" in kept) is completed for name in NAMES[1:])
    return completed


def test_signatures_do_not_stand_for_the_posts_of_a_forum() -> None:
    """An extractor returned the signatures, which looked more like one text than the posts."""
    signed = "<div class=post><div class=body>{1}</div><div class=signature>Yours, {0}</div></div>"
    assert is_completed(page_of(posts(signed), "Yours,"))


def test_a_first_post_is_completed_by_the_others() -> None:
    assert is_completed(page_of(posts(), "Post of anna"))


def test_digits_in_class_names_do_not_matter() -> None:
    numbered = "".join(
        f"<div class=item-{number}><div class='cell c{number}'>Post of {name}. {SENTENCE * 2}</div></div>"
        for number, name in enumerate(NAMES)
    )
    assert is_completed(page_of(numbered, "Post of anna"))


def test_comments_below_an_article_do_not_complete_it() -> None:
    comments = posts("<div class=comment><div class=comment-text>{1}</div></div>")
    assert not is_completed(page_of(f"<p>Leeks. {SENTENCE}</p>{comments}", "Leeks."))


def test_comments_of_a_discussion_complete_it() -> None:
    comments = posts("<div class=comment><div class=comment-text>{1}</div></div>")
    body = f"<div id=forum><p>Leeks. {SENTENCE}</p>{comments}</div>"
    assert is_completed(page_of(body, "Leeks."))


def test_a_whole_article_is_not_continued_by_repeated_parts() -> None:
    story = "".join(f"<p>Leeks are back. {SENTENCE * 5}</p>" for _ in range(8))
    others = posts("<div class=card><div><div class=text>{1}</div></div></div>") * 9
    assert not is_completed(page_of(f"<div>{story}</div>{others}", "Leeks are back."))


@pytest.mark.parametrize("name", ["code-block", "highlight"])
def test_examples_of_code_are_no_parts(name: str) -> None:
    blocks = posts(f"<div class={name}><div class=lines>{{1}}</div></div>")
    assert not is_completed(page_of(f"<p>Leeks. {SENTENCE}</p>{blocks}", "Leeks."))


def test_two_parts_are_not_enough() -> None:
    two = "".join(f"<div class=box><p>Box {name}. {SENTENCE * 9}</p></div>" for name in "ab")
    assert not is_completed(page_of(f"<p>Leeks. {SENTENCE}</p>{two}", "Leeks."))


def test_a_text_with_most_of_the_parts_is_left_as_it_is() -> None:
    texts = page_of(posts(), "Post of")
    assert not complete_from_parts(texts, list(text_blocks(texts)))


def test_a_page_without_paragraphs_has_no_parts() -> None:
    texts = page_of("<p>Leeks</p>", "Leeks")
    assert not complete_from_parts(texts, list(text_blocks(texts)))
