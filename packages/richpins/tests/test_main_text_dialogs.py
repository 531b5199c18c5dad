"""Dialogs, such as windows that ask for consent to cookies, are not part of a main text."""

from __future__ import annotations

import pytest
from lxml import html

from richpins.article.dialogs import remove_dialogs
from richpins.document import parse
from richpins.main_text import TEXT, find

SENTENCE = "The valley has grown leeks for two hundred years, and its soil is dark and heavy. "
STORY = f"<p>{SENTENCE * 3}</p>"
COOKIES = (
    "These technologies are necessary for the website to function and cannot be switched off. "
)


def left(body: str) -> str:
    """The text of a page after its dialogs were removed."""
    tree = html.document_fromstring(f"<html><body>{body}</body></html>")
    remove_dialogs(tree)
    return str(tree.text_content())


@pytest.mark.parametrize(
    "attributes",
    [
        "id=onetrust-consent-sdk", "id=CybotCookiebotDialog", "class=cookie-banner",
        "class='site-cookie-notice is-open'", "id=gdpr-consent", "class=qc-cmp2-container",
        "class=my_consent_layer", "id=cookieconsent", "class='sliding eu-cookie-compliance-banner'",
    ],
)  # fmt: skip
def test_a_window_that_asks_for_consent_is_left_out_even_if_it_is_longer_than_the_page(attributes):
    text = left(f"<div>{STORY}</div><div {attributes}><p>{COOKIES * 20}</p></div>")

    assert "leeks" in text
    assert "technologies" not in text


@pytest.mark.parametrize("names", ["modal", "'modal fade'", "'fade modal'"])
def test_a_modal_is_left_out(names):
    assert "warranty" not in left(f"{STORY}<div class={names}><p>Our warranty.</p></div>")


@pytest.mark.parametrize("attributes", ["role=dialog", "aria-modal=true", "class=modal-opener"])
def test_the_description_of_a_product_in_a_panel_stays(attributes):
    """A shop's panels for descriptions and sizes have the role of a dialog."""
    assert "warranty" in left(f"{STORY}<div {attributes}><p>Our warranty.</p></div>")


@pytest.mark.parametrize(
    "inner", [f"<h1>Leeks</h1>{STORY}", f"<article>{STORY}</article>", STORY * 2]
)
def test_an_article_in_a_modal_stays(inner):
    assert "leeks" in left(f"<p>{COOKIES * 3}</p><div class=modal>{inner}</div>")


def test_a_page_with_nothing_but_a_window_keeps_it():
    assert "technologies" in left(f"<p>Shop</p><div class=cookie-banner><p>{COOKIES * 9}</p></div>")


@pytest.mark.parametrize(
    "body",
    [
        "<body class='cookie-notice-open'>{}</body>",
        "<div class='page gdpr-on'><h1>Leeks</h1>{}</div>",
        "<div class=cookie-recipes>{}</div>",
        "<div class=model>{}</div>",
    ],
)
def test_elements_with_similar_names_stay(body):
    assert "leeks" in left(f"<p>{COOKIES * 9}</p>" + body.format(STORY))


def test_dialogs_inside_of_dialogs_are_left_out():
    dialog = "<div class=cookie-banner><div class=cookie-settings><p>Accept</p></div></div>"
    assert "Accept" not in left(STORY + dialog)


def test_the_text_of_a_question_is_not_the_window_about_cookies():
    """A short question used to lose against the descriptions of each kind of cookie."""
    kinds = "".join(f"<li><h4>Kind {n}</h4><p>{COOKIES * 3}</p></li>" for n in range(8))
    question = f"<div class=post><p>Why do my leeks not grow? {SENTENCE * 3}</p></div>"
    page = f"<title>Leeks</title><h1>Leeks</h1>{question}<div id=onetrust-consent-sdk>{kinds}</div>"

    text = find(parse(page.encode(), url="https://a.test/x"), TEXT)

    assert "Why do my leeks not grow" in text
    assert "technologies" not in text


def test_deeply_nested_dialogs_take_time_in_proportion_to_the_page():
    depth = 200
    nested = "<div class=modal>" * depth + "<p>Accept</p>" + "</div>" * depth
    assert "Accept" not in left(STORY + nested)
