"""A second extractor is asked where the first one seems to have missed most of an article."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article import page_texts, second_opinion, selection
from richpins.article.page_texts import ChosenBlock

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "
PAGE = (
    "<body><div class=menu><a href=/a>News</a> <a href=/b>Sports</a></div>"
    "<div class=content>"
    + "".join(f"<p>Part {number}, of many. {SENTENCE * 3}</p>" for number in "abcdefgh")
    + "</div><div class=footer>{}</div></body>"
)


def read(chosen: str, footer: str = "Imprint") -> tuple[object, page_texts.PageTexts]:
    """The tree of the page and its texts, of which the first extractor chose some."""
    tree = html.document_fromstring(PAGE.replace("{}", footer))
    texts = page_texts.texts_of(tree)
    letters = page_texts.letters_of(chosen)
    selection.select(texts, [ChosenBlock("", letters, (letters,))])
    return tree, texts


def kept(texts: page_texts.PageTexts) -> str:
    return "".join(texts.letters[each.start : each.end] for each in texts.pieces if each.kept)


def test_a_text_of_which_most_was_missed_is_completed():
    tree, texts = read(f"Part a, of many. {SENTENCE * 3}")
    assert second_opinion.may_be_cut(texts)

    second_opinion.add(tree, texts)

    assert all(f"Part{number}ofmany" in kept(texts) for number in "abcdefgh")
    assert "Sports" not in kept(texts)


def test_what_the_second_extractor_does_not_have_stays_as_it_was():
    footer = (
        f"{SENTENCE.upper()} All rights are reserved by the owners of this newspaper, of course."
    )
    tree, texts = read(footer, footer)
    before = kept(texts)

    second_opinion.add(tree, texts)

    assert kept(texts) == before


def test_it_is_not_asked_where_little_was_left_out():
    everything = "".join(f"Part {number}, of many. {SENTENCE * 3}" for number in "abcdef")

    assert not second_opinion.may_be_cut(read(everything)[1])


@pytest.mark.parametrize("page", ["<body></body>", "<body><br></body>", "<html></html>"])
def test_a_page_that_the_second_extractor_cannot_read_is_not_a_fault(page):
    tree = html.document_fromstring(page)
    texts = page_texts.texts_of(tree)

    second_opinion.add(tree, texts)

    assert not kept(texts)
