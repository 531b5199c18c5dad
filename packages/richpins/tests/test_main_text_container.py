"""The element around an article's paragraphs completes its text, and shows where it ends."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article.completion import complete_from_container, fill_gaps, fill_lines
from richpins.article.container import find_container
from richpins.article.ending import remove_ending
from richpins.article.page_texts import PageTexts, texts_of
from richpins.article.text_blocks import TextBlock, text_blocks

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "


def paragraph(name: str) -> str:
    return f"Part {name}, of many. {SENTENCE * 2}"


STORY = "".join(f"<p>{paragraph(name)}</p>" for name in "abcdef")
FAR = "<div><div><div><div>{}</div></div></div></div>"


def selected(body: str, *chosen: str) -> tuple[PageTexts, list[TextBlock]]:
    """The texts and blocks of a page of which an extractor has chosen the blocks with some words."""
    texts = texts_of(html.document_fromstring(f"<html><body>{body}</body></html>"))
    blocks = list(text_blocks(texts))
    for block in blocks:
        if any(word in block.text for word in chosen):
            for piece in block.pieces:
                piece.kept = True
    return texts, blocks


def names_of(blocks: list[TextBlock]) -> str:
    """The names of the kept paragraphs."""
    return "".join(block.text[5] for block in blocks if block.is_kept)


def completed(body: str, *chosen: str) -> str:
    texts, blocks = selected(body, *chosen)
    container = find_container(texts, blocks)
    if container is not None:
        complete_from_container(container, blocks)
    return names_of(blocks)


def filled(body: str, *chosen: str) -> str:
    texts, blocks = selected(body, *chosen)
    container = find_container(texts, blocks)
    if container is not None:
        fill_gaps(container, blocks)
    return names_of(blocks)


def ended(body: str) -> str:
    texts, blocks = selected(body, "")
    remove_ending(texts, blocks, find_container(texts, blocks))
    return names_of(blocks)


@pytest.mark.parametrize(
    "story",
    [
        STORY,
        STORY.replace("<p>", "<div>").replace("</p>", "</div>"),
        STORY.replace("<p>", "").replace("</p>", "<br><br>"),
        STORY.replace("<p>", "<section><p>").replace("</p>", "</p></section>"),
        STORY.replace("<p>", "<table><tr><td>").replace("</p>", "</td></tr></table>"),
    ],
    ids=["paragraphs", "divs", "line breaks", "sections", "tables"],
)
def test_article_without_an_article_element_is_completed_if_one_box_was_selected(story):
    body = f"<div class=box><p>{paragraph('z')}</p></div><div class=text>{story}</div>"
    kept = completed(body, "Part z")

    assert kept[0] == "z"
    assert kept[1:] in {"abcdef", "a"}  # with line breaks, the story is one block


@pytest.mark.parametrize(
    "name",
    ["comments", "sidebar", "related", "popmake-content", "pop-up", "newsletter", "author-bio"],
)
def test_article_is_not_completed_with_another_part_of_the_page(name):
    body = f"<div><p>{paragraph('z')}</p></div><div class='x {name}'>{STORY}</div>"

    assert completed(body, "Part z") == "z"


@pytest.mark.parametrize("tag", ["aside", "nav", "footer", "form", "ul", "dl", "header"])
def test_article_is_not_completed_with_an_element_for_other_texts(tag):
    assert completed(f"<div><p>{paragraph('z')}</p></div><{tag}>{STORY}</{tag}>", "Part z") == "z"


@pytest.mark.parametrize("chosen", ["abcd", "abcdef", "bcdef"])
def test_article_that_is_mostly_selected_is_not_completed(chosen):
    body = f"<div>{STORY}</div>"

    assert completed(body, *(f"Part {name}" for name in chosen)) == chosen


def test_page_of_links_has_no_container():
    links = "".join(f"<p><a href=/{name}>{paragraph(name)}</a></p>" for name in "abc")
    texts, blocks = selected(f"<div>{links}</div>", "Part a")

    assert find_container(texts, blocks) is None


def test_sentences_whose_phrases_are_links_are_paragraphs():
    sentence = "<a href=/a>The valley</a> has grown <a href=/b>leeks for two hundred years</a>. "
    texts, blocks = selected(f"<div><p>Part a. {sentence * 4}</p></div>")
    container = find_container(texts, blocks)

    assert container is not None
    assert [block.text[5] for block in container.paragraphs] == ["a"]


@pytest.mark.parametrize(
    "gap",
    [
        f"{paragraph('c')}",
        f"<div class=note>{paragraph('c')}</div>",
        f"<div class=pull-quote>{paragraph('c')}</div>",
        f"<p>{paragraph('c')}</p>",
    ],
    ids=["loose text", "note", "pull quote", "paragraph"],
)
def test_paragraph_missed_between_two_others_is_kept(gap):
    body = f"<div><p>{paragraph('a')}</p><p>{paragraph('b')}</p>{gap}<p>{paragraph('d')}</p></div>"

    assert filled(body, "Part a", "Part b", "Part d") == "abcd"


def test_loose_text_before_the_first_paragraph_is_kept():
    body = f"<div>{paragraph('a')}<p>{paragraph('b')}</p><p>{paragraph('c')}</p></div>"

    assert filled(body, "Part b", "Part c") == "abc"


@pytest.mark.parametrize(
    "gap",
    [
        f"<div><div>{paragraph('c')}</div></div>",
        f"<div class=promo>{paragraph('c')}</div>",
        f"<aside>{paragraph('c')}</aside>",
        f"<figure><figcaption>{paragraph('c')}</figcaption></figure>",
        f"<div><a href=/x>{paragraph('c')}</a></div>",
        "<div>Advertisement</div>",
    ],
    ids=["nested box", "promotion", "aside", "caption", "link", "short"],
)
def test_box_between_two_paragraphs_stays_out(gap):
    body = f"<div><p>{paragraph('a')}</p><p>{paragraph('b')}</p>{gap}<p>{paragraph('d')}</p></div>"

    assert filled(body, "Part a", "Part b", "Part d") == "abd"


def test_paragraph_behind_the_last_one_stays_out():
    assert filled(f"<div>{STORY}</div>", *(f"Part {name}" for name in "abcde")) == "abcde"


@pytest.mark.parametrize(
    "behind",
    [
        f"<p>{paragraph('y')}</p>",
        "<h3>Part y</h3><p>Part z</p>",
        "<ul><li>Part y</li><li>Part z</li></ul>",
        f"<div><div><div><p>{paragraph('y')}</p></div></div></div>",
    ],
    ids=["paragraph", "headlines", "list", "deep"],
)
def test_text_far_behind_the_article_is_not_part_of_it(behind):
    assert ended(f"<div>{FAR.format(STORY)}</div><div>{behind}</div>") == "abcdef"


@pytest.mark.parametrize(
    "body",
    [
        f"<div>{STORY}</div><p>{paragraph('y')}</p>",
        f"<div><div><div>{STORY}</div></div></div><div><p>{paragraph('y')}</p></div>",
        f"<div>{STORY}<div><div><div><div><p>{paragraph('y')}</p></div></div></div></div></div>",
    ],
    ids=["beside", "three levels", "nested in it"],
)
def test_text_near_the_article_stays_at_its_end(body):
    assert ended(body) == "abcdefy"


def test_two_far_parts_of_similar_length_both_stay():
    other = STORY.replace("<p>Part ", "<p>Part x")

    assert ended(f"<div>{FAR.format(STORY)}</div><div>{FAR.format(other)}</div>") == "abcdefxxxxxx"


def test_title_far_above_the_article_stays():
    assert ended(f"<h1>Part t</h1><div>{FAR.format(STORY)}</div>") == "tabcdef"


CODE = "<div>for leek in valley:</div><div>    water(leek)</div><div>    harvest(leek)</div>"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (CODE, "for leek in valley: water(leek) harvest(leek)"),
        ("<div>Advertisement</div><div>Photo: A. Gray</div>", ""),
        (CODE.replace("leek in", "<a href=/leek>leek</a> in"), ""),
        (f"<div>{CODE}</div>", ""),
    ],
    ids=["code", "two lines", "a link", "a box"],
)
def test_lines_of_code_in_elements_of_their_own_are_kept_between_paragraphs(
    lines: str, expected: str
) -> None:
    half = STORY.index("<p>Part c")
    texts, blocks = selected(f"<main>{STORY[:half]}{lines}{STORY[half:]}</main>", "Part")
    container = find_container(texts, blocks)
    assert container is not None
    fill_lines(container, blocks)
    assert (
        " ".join(each.text for each in blocks if each.is_kept and "Part" not in each.text)
        == expected
    )
