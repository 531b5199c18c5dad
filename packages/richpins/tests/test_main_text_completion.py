"""An incomplete text is completed from the element marked as the article."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article import completion, page_texts, selection
from richpins.article.page_texts import ChosenBlock
from richpins.article.text_blocks import text_blocks

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "
LINKED = f"<p><a href=/x>{SENTENCE * 2}</a></p>"
GALLERY = f"<li><img src=/a.jpg><p>A picture of the day. {SENTENCE * 3}</p></li>"
COMMENT = f"<div class=comments><p>I never liked them. {SENTENCE * 3}</p></div>"


def paragraph(name: str) -> str:
    return f"Part {name}, of many. {SENTENCE * 3}"


STORY = "".join(f"<p>{paragraph(name)}</p>" for name in "abcdef")


def texts_of(body: str, chosen: str) -> page_texts.PageTexts:
    """The texts of a page after an extractor has chosen one of them."""
    page = page_texts.texts_of(html.document_fromstring(f"<body>{body}</body>"))
    letters = page_texts.letters_of(chosen)
    selection.select(page, [ChosenBlock("", letters, (letters,))])
    return page


def kept(page: page_texts.PageTexts) -> str:
    return "".join(page.letters[each.start : each.end] for each in page.pieces if each.kept)


@pytest.mark.parametrize(
    "around", ["<article>{}</article>", "<main>{}</main>", "<div itemprop=articleBody>{}</div>",
               "<div role=main>{}</div>", "<article></article><main>{}</main>"],
)  # fmt: skip
def test_missing_paragraphs_of_the_article_are_added(around):
    page = texts_of(around.format(STORY + LINKED + COMMENT), paragraph("a"))
    is_completed = "<article></article>" not in around

    assert completion.complete(page, list(text_blocks(page))) is is_completed
    assert all((f"Part{name}ofmany" in kept(page)) is is_completed for name in "bcdef")
    assert "Ineverliked" not in kept(page)
    assert page_texts.letters_of(SENTENCE * 2) not in kept(page).replace(
        page_texts.letters_of(SENTENCE * 3), ""
    )


@pytest.mark.parametrize(
    ("body", "chosen"),
    [
        (f"<article>{STORY}</article>", "".join(map(paragraph, "abcd"))),
        (f"<p>{paragraph('z')}</p><article>{STORY}</article>", paragraph("z")),
        (f"<article>{STORY}</article><article>{STORY}</article>", paragraph("a")),
        (f"<div>{STORY}</div>", paragraph("a")),
        (f"<article><p>{paragraph('a')}</p>{COMMENT * 3}</article>", paragraph("a")),
        (f"<article><p>{paragraph('a')}</p><ul>{GALLERY * 3}</ul></article>", paragraph("a")),
    ],
    ids=["mostly complete", "elsewhere", "two articles", "no article", "comments", "a gallery"],
)
def test_complete_or_ambiguous_text_is_left_unchanged(body, chosen):
    page = texts_of(body, chosen)
    before = kept(page)

    assert not completion.complete(page, list(text_blocks(page)))
    assert kept(page) == before


def test_page_without_text_is_not_completed():
    page = page_texts.texts_of(html.document_fromstring("<main><br></main>"))

    assert not completion.complete(page, list(text_blocks(page)))
