"""Hidden parts of an article, and the captions of its figures."""

from __future__ import annotations

import pytest

from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

FIRST = "Leeks are planted in spring and harvested from late summer on, in most of the country."
MORE = "The valley has grown them for two hundred years, and its soil is dark, deep and heavy. " * 3
LAST = "Whoever waits until the first frost gets the mildest taste, say the growers of the valley."


def found(inner: str, form: str) -> str:
    page = f"<html><title>Leeks | The Garden</title><article><h1>Leeks</h1><p>{FIRST}</p><p>{MORE}</p>{inner}<p>{LAST}</p></article>"
    return find(parse(page.encode(), url="https://a.test/x"), form)


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
@pytest.mark.parametrize(
    "hidden",
    [
        "<span hidden>secret</span>", "<i class=fa aria-hidden=true>secret</i>",
        "<a hidden=hidden href=/x>secret</a>", "<b hidden=''>secret <i>secret</i></b>",
    ],
)  # fmt: skip
def test_hidden_inline_text_is_left_out(hidden, form):
    text = found(f"<p>The town {hidden} has a mayor who was elected for the second time.</p>", form)

    assert "secret" not in text
    assert "The town has a mayor" in text


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
@pytest.mark.parametrize(
    "shown",
    [
        "<span hidden=until-found>found</span>, she said.", "<b aria-hidden=false>found</b>, she said.",
        "<b aria-hidden=true>found, and the whole of this sentence with it, by all of them.</b>",
    ],
)  # fmt: skip
def test_text_that_readers_may_see_is_kept(shown, form):
    assert "found" in found(f"<p>{shown}</p>", form)


PICTURE = '<img src="/a.jpg" alt="Desk" width=800 height=600>'


@pytest.mark.parametrize(
    "figure",
    [
        f"<figure>{PICTURE}<figcaption>My *desk*</figcaption></figure>",
        f"<figure><div><a href=/big>{PICTURE}</a></div><figcaption><p>My *desk*</p></figcaption></figure>",
    ],
)
def test_markdown_has_the_caption_below_the_picture(figure):
    text = found(figure, MARKDOWN)

    assert text.count("![Desk](https://a.test/a.jpg)\n\nMy \\*desk\\*") == 1
    assert text.count("desk") == 1


def test_caption_above_the_picture_stays_above():
    text = found(f"<figure><figcaption>My *desk*</figcaption>{PICTURE}</figure>", MARKDOWN)

    assert "My \\*desk\\*\n\n![Desk](https://a.test/a.jpg)" in text


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_hidden_punctuation_between_two_words_leaves_a_space(form):
    line = "<p><span>The valley<span aria-hidden=true>: </span></span>Rain in the morning.</p>"

    assert "The valley Rain in the morning." in found(line, form)


def test_caption_already_in_the_text_is_not_repeated():
    figure = f"<figure>{PICTURE}<figcaption>Whoever waits</figcaption></figure>"

    assert found(figure, MARKDOWN).count("Whoever waits") == 1


@pytest.mark.parametrize("captions", ["", "<figcaption> </figcaption>"])
def test_picture_without_a_caption_is_written_by_itself(captions):
    text = found(f"<figure>{PICTURE}{captions}</figure>", MARKDOWN)

    assert "![Desk](https://a.test/a.jpg)\n\n" + LAST[:20] in text


INVISIBLE = "<div style='color: red; visibility: hidden'><p>Secret. {}</p></div>"


@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_block_made_invisible_by_its_style_is_left_out(form):
    text = found(INVISIBLE.format(FIRST), form)

    assert "Secret" not in text
    assert LAST.split(maxsplit=1)[0] in text


def test_page_invisible_until_its_script_runs_keeps_its_text():
    body = f"<body style='visibility:hidden'><article><h1>Leeks</h1><p>{MORE}</p></article></body>"

    assert "two hundred years" in find(parse(body.encode(), url="https://a.test/x"), TEXT)


def test_heading_that_repeats_the_title_is_kept_only_in_markdown():
    assert found("<h2>Soil</h2>", TEXT).startswith(FIRST)
    assert found("<h2>Soil</h2>", MARKDOWN).startswith("# Leeks")


def test_page_with_only_a_title_has_it_as_text():
    page = "<article><h1>Leeks are planted in spring and harvested in late summer</h1></article>"

    assert find(parse(page.encode(), url="https://a.test/x"), TEXT) in (
        "",
        "Leeks are planted in spring and harvested in late summer",
    )
