"""Menus, comments and teasers around an article are left out, although an extractor kept them."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article.container import find_container
from richpins.article.page_texts import texts_of
from richpins.article.surroundings import remove_surroundings
from richpins.article.text_blocks import text_blocks

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "
STORY = "".join(f"<p>Part {name}, of many. {SENTENCE * 2}</p>" for name in "abcd")
ARTICLE = f"<div class=story>{STORY}</div>"
MENU = "<div><ul><li>Brands</li><li>Support</li><li>About us</li></ul></div>"
DEEP = "<div><div><div>{}</div></div></div>"
COMMENTS = f"<div class=reader-comments><p>Anna</p><p>I disagree. {SENTENCE}</p></div>"
TEASERS = "".join(
    f"<div><h3><a href=/{name}>The {name} is back on the market</a></h3><p>It was away for years.</p></div>"
    for name in ("carrot", "turnip", "parsnip")
)


def left(body: str) -> str:
    """The texts of a page's blocks after the surroundings were removed; all blocks were kept."""
    texts = texts_of(html.document_fromstring(f"<html><body>{body}</body></html>"))
    blocks = list(text_blocks(texts))
    for piece in texts.pieces:
        piece.kept = True
    container = find_container(texts, blocks) or find_container(texts, blocks, under_any_name=True)
    assert container is not None
    remove_surroundings(texts, blocks, container, ["leeks"])
    return " ".join(block.text for block in blocks if block.is_kept)


def test_a_menu_of_several_entries_far_above_the_article_is_left_out() -> None:
    assert left(MENU + DEEP.format(ARTICLE)).startswith("Part a")


def test_a_lead_far_above_the_article_stays() -> None:
    lead = f"<div><p>By our reporter</p><p>Leeks</p><p>{SENTENCE}</p></div>"
    assert left(lead + DEEP.format(ARTICLE)).startswith("By our reporter")


def test_a_single_line_far_above_the_article_stays() -> None:
    assert left("<div><p>Leeks are back</p></div>" + DEEP.format(ARTICLE)).startswith("Leeks")


def test_what_is_above_the_title_and_not_beside_the_article_is_left_out() -> None:
    cookies = f"<div><p>We have changed our terms. {SENTENCE}</p></div>"
    text = left(f"{cookies}<div><h1>Leeks</h1><div>{ARTICLE}</div></div>")
    assert text.startswith("Leeks Part a")


def test_what_is_above_another_h1_stays() -> None:
    news = f"<div><p>The market. {SENTENCE}</p></div>"
    text = left(f"{news}<div><h1>A second story</h1><div>{ARTICLE}</div></div>")
    assert text.startswith("The market")


def test_a_lead_above_the_title_and_beside_the_article_stays() -> None:
    assert left(f"<p>Good leeks</p><h1>Leeks</h1>{ARTICLE}").startswith("Good leeks")


@pytest.mark.parametrize("name", ["reader-comments", "sf_comment_form", "disqus_thread"])
def test_comments_in_elements_of_any_name_are_left_out(name: str) -> None:
    text = left(f"{ARTICLE}{COMMENTS.replace('reader-comments', name)}")
    assert "Part d" in text
    assert "disagree" not in text


def test_comments_of_a_discussion_stay() -> None:
    assert "disagree" in left(f"<main class=forum-page>{ARTICLE}{COMMENTS}</main>")


def test_comments_that_are_most_of_the_text_stay() -> None:
    assert "disagree" in left(ARTICLE + f"<div class=comments>{COMMENTS * 30}</div>")


def test_teasers_below_the_article_are_left_out() -> None:
    text = left(f"{ARTICLE}<div class=more>{TEASERS}</div>")
    assert "Part d" in text
    assert "carrot" not in text
    assert "away for years" not in text


def test_long_paragraphs_beside_links_stay() -> None:
    more = f"<div><p>{SENTENCE * 3}</p>{TEASERS}</div>"
    assert "carrot" in left(f"<div class=page>{ARTICLE}{more}</div>")


def test_references_with_phrases_as_links_stay() -> None:
    entries = "".join(
        f"<li>Author {number} (2001). <a href=/{number}>On leeks and their soil</a>. A journal.</li>"
        for number in range(5)
    )
    assert "Author 4" in left(f"{ARTICLE}<div><ol>{entries}</ol></div>")


def test_two_links_below_the_article_stay() -> None:
    links = "<p><a href=/a>All about leeks</a></p><p><a href=/b>The soil of the valley</a></p>"
    assert "All about leeks" in left(f"{ARTICLE}<div>{links}</div>")


def test_an_article_in_an_element_called_sidebar_has_surroundings() -> None:
    text = left(f"<div class=sidebar>{ARTICLE}<div class=more>{TEASERS}</div></div>")
    assert "Part d" in text
    assert "carrot" not in text


def test_markup_in_a_frame_is_no_text() -> None:
    texts = texts_of(html.document_fromstring("<p>Leeks</p><iframe>&lt;div&gt; grow</iframe>"))
    assert texts.letters == "Leeks"


SIDEBAR = (
    '<div class="sidebar"><h3>Opening hours</h3><p>Monday to Friday from six to ten.</p></div>'
)


def test_a_sidebar_below_the_article_is_left_out() -> None:
    assert "from six" not in left(f"<div>{ARTICLE}{SIDEBAR}</div>")


def test_an_article_in_an_element_called_with_sidebar_is_found_without_the_sidebar() -> None:
    page = f'<div class="contentWithSidebar"><div class="inner">{STORY}</div>{SIDEBAR}</div>'

    assert left(page).endswith(SENTENCE.strip())
