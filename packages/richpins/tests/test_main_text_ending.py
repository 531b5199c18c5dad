"""A text ends with its article, and not with related articles and invitations behind it."""

from __future__ import annotations

import pytest
from lxml import html

from richpins import document, main_text
from richpins.article.container import find_container
from richpins.article.ending import remove_ending
from richpins.article.page_texts import texts_of
from richpins.article.text_blocks import text_blocks

pytest.importorskip("trafilatura")

SENTENCES = (
    "The old mill at the river bend was sold in spring to two brothers from the next valley.",
    "They want to grind rye again, as their grandfather did until the flood took the wheel.",
    "The council gave its leave in June, after three meetings and a long walk along the weir.",
    "A new wheel of larch is being made in a workshop that had closed for eleven years.",
    "The first bread of the mill's own flour is to be sold at the market in the autumn.",
)
STORY = "".join(f"<p>{each} People say it twice.</p>" for each in SENTENCES)
TEASERS = (
    "<ul><li>Weir repaired at last</li><li>Larch is scarce this year</li></ul><p>Old wheel</p>"
)
HEADINGS = (
    "You Might Also Like", "You may also be interested in", "Related articles", "Related:", "Most read", "Top stories",
    "More from The Post", "Read next", "Trending now", "Share this article", "Follow us on Facebook", "3 comments",
    "Comments (12)", "Leave a comment", "Join the conversation", "The Morning newsletter", "Editor's picks",
    "Das könnte Sie auch interessieren", "Mehr zum Thema", "Lesen Sie auch:", "Meistgelesen", "Ähnliche Artikel",
    "À lire aussi", "Sur le même sujet", "Articles similaires", "Les plus lus", "También te puede interesar",
    "Noticias relacionadas", "Lo más leído", "Potrebbe interessarti", "Articoli correlati", "Leia também",
    "Notícias relacionadas", "Lees ook", "Meest gelezen", "Läs också", "Les også", "Læs også", "Czytaj także",
    "Najczęściej czytane", "Читайте также", "Baca juga", "関連記事", "あわせて読みたい", "相关阅读", "관련 기사",
)  # fmt: skip
OF_ARTICLES = (
    "Related work", "The most popular mill", "Comments on the weir", "Share prices fell", "More mills are needed",
    "Trending up again?", "Comments?", "Top of the hill", "See also", "References", "External links", "About the mill",
    "Folgen des Hochwassers", "Mehr Mühlen für das Tal", "Lo más leve", "Les plus grands moulins", "More than a mill",
)  # fmt: skip
INVITATIONS = (
    "Sign up for our daily letter and never miss a story.", "Subscribe to The Post for the news of the valley.",
    "Follow The Post on Facebook for more.", "Read more: The weir that held", "MORE: Larch is scarce this year",
    "Get our newsletter in your inbox each morning.", "Have you got a story? Write to us.", "Loading comments...",
    "Please wait...", "For more stories like this, check our news page.", "Get in touch with our news team by email.",
    "Powered by Tumblr", "Lesen Sie auch: Das Wehr hält", "Hat Ihnen dieser Artikel gefallen?", "Lire aussi : Le barrage",
    "Lee también: La presa", "Leggi anche: La diga", "Leia também: A barragem", "Lees ook: De dam hield",
    "Czytaj też: Tama wytrzymała", "Читайте также: Плотина выдержала", "Baca juga: Bendungan bertahan",
)  # fmt: skip
LAST = (
    "The photo shows the wheel.", "She signs her work with a wheel.", "Follow the path along the weir to see it.",
    "Joining the boards took a week.", "The mill opens at ten.", "© 2024 The Post", "This article first appeared in May.",
    "Log in to the router and set the date.", "Join the two boards with glue.", "Leave a gap of a thumb.",
    "Subscribe a second client by hand.", "Please confirm the date by phone.", "Volg de dijk tot aan de brug.",
    "Read the plaque beside the door.", "Getting there takes an hour.", "Loaded carts may pass the bridge again.",
)  # fmt: skip


def kept_of(body: str) -> str:
    """The text that is left if the whole body was selected."""
    texts = texts_of(html.document_fromstring(f"<html><body>{body}</body></html>"))
    for piece in texts.pieces:
        piece.kept = True
    blocks = list(text_blocks(texts))
    remove_ending(texts, blocks, find_container(texts, blocks))
    parts = ((p.element.tail if p.is_tail else p.element.text) for p in texts.pieces if p.kept)
    return " ".join(" ".join(filter(None, parts)).split())


ALL = kept_of(STORY)


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.parametrize("markup", ["<h3>{}</h3>{}", "<p><b>{}</b></p>{}", "<div>{}</div>{}"])
def test_a_list_of_other_articles_is_left_out_with_its_heading(heading, markup):
    assert kept_of(STORY + markup.format(heading, TEASERS)) == ALL


@pytest.mark.parametrize("heading", OF_ARTICLES)
def test_a_heading_of_the_article_ends_nothing(heading):
    assert "Larch is scarce" in kept_of(f"{STORY}<h3>{heading}</h3>{TEASERS}")


@pytest.mark.parametrize("heading", HEADINGS[:6])
def test_a_box_within_an_article_does_not_end_it(heading):
    body = f"{STORY}<h3>{heading}</h3>{TEASERS}<p>{SENTENCES[0]}</p>"

    assert kept_of(body).endswith(SENTENCES[0])


@pytest.mark.parametrize("heading", HEADINGS[:6])
def test_a_heading_in_the_first_half_ends_nothing(heading):
    teasers = "".join(f"<li>Teaser of another page of the site, number {n}</li>" for n in range(30))

    assert "number 29" in kept_of(f"<p>{SENTENCES[0]}</p><h3>{heading}</h3><ul>{teasers}</ul>")


@pytest.mark.parametrize("line", INVITATIONS)
@pytest.mark.parametrize("twice", [False, True])
def test_invitations_at_the_end_are_left_out(line, twice):
    assert kept_of(STORY + f"<p>{line}</p>" * (1 + twice)) == ALL


@pytest.mark.parametrize("line", LAST)
def test_a_last_line_of_the_article_stays(line):
    assert kept_of(f"{STORY}<p>{line}</p>") == f"{ALL} {line}"


@pytest.mark.parametrize("line", INVITATIONS[:4])
def test_an_invitation_within_the_article_stays(line):
    assert line in kept_of(f"{STORY}<p>{line}</p><p>{SENTENCES[0]}</p>")


@pytest.mark.parametrize("line", ["Related", INVITATIONS[0]])
def test_a_text_of_one_block_stays(line):
    assert kept_of(f"<p>{line}</p>") == line


@pytest.mark.parametrize("form", main_text.FORMS)
def test_both_forms_end_with_the_article(form):
    body = f"<article><h1>A mill grinds again</h1>{STORY}<h3>Most read</h3>{TEASERS}</article>"
    page = document.parse(f"<html><body>{body}</body></html>".encode(), url="https://post.test/")
    text = main_text.find(page, form)

    assert text.rstrip().endswith("People say it twice.")


LISTS = {
    "entries with paragraphs": "<ul><li>Buy the wheel<p></p></li><li>Clean the race<p></p></li></ul>",
    "an ordered list": "<ol><li>Buy the wheel</li><li>Clean the race</li></ol>",
    "a quote": "<blockquote>Buy the wheel. Clean the race.</blockquote>",
}


@pytest.mark.parametrize("markup", LISTS.values(), ids=LISTS)
def test_a_list_behind_a_colon_at_the_end_of_a_cell_is_in_the_text(markup):
    cell = f"<td><p>The brothers have written down what is left to do for them:</p>{markup}</td>"
    body = f"<table><tr><td>{STORY}</td></tr><tr>{cell}</tr><tr><td>{STORY}</td></tr></table>"
    page = document.parse(f"<html><body>{body}</body></html>".encode(), url="https://post.test/")

    assert "Clean the race" in main_text.find(page, main_text.TEXT)


def test_a_menu_behind_a_colon_is_not():
    links = "".join(f'<li><a href="/{n}">Another page, number {n}</a></li>' for n in range(9))
    body = f"<article>{STORY}<p>Pages of the site:</p></article><nav><ul>{links}</ul></nav>"
    page = document.parse(f"<html><body>{body}</body></html>".encode(), url="https://post.test/")

    assert "number 3" not in main_text.find(page, main_text.TEXT)
