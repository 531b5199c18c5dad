"""Words, single list items and code headings that trafilatura joins, drops or renames."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

URL = "https://cook.example/soup"
SENTENCE = "Leeks are planted in spring and harvested from late summer on, in most of the country. "


def found(content, form=TEXT):
    body = f"<html><body><article><h1>Leeks</h1><p>{SENTENCE * 3}</p>{content}<p>{SENTENCE}</p></article>"
    return find(parse(body.encode(), url=URL), form)


def test_blocks_in_a_list_item_are_separate_words():
    text = found(
        "<ul><li><div class=t>Finitions</div><div class=s>Ajoutez l'huile et sortez la casserole.</div></li>"
        "<li><div class=t>Service</div><div class=s>Versez la soupe dans les bols chauds.</div></li></ul>"
    )

    assert "Finitions Ajoutez" in " ".join(text.split())
    assert "Service Versez" in " ".join(text.split())


def test_nested_blocks_are_separate_words():
    lines = "<div class=b><div>LETTER WITH DIAERESIS</div><div>RIGHT DOUBLE QUOTE</div><div>MARK AT END</div></div>"

    assert "DIAERESISRIGHT" not in found(lines)


def test_line_breaks_in_code_are_kept():
    text = found("<p>Type these:</p><p><code>rehash<br>which openssl<br>openssl version</code></p>")

    assert "rehash\nwhich openssl\nopenssl version" in text


def test_list_of_one_item_is_a_list():
    html = MarkdownIt().render(
        found("<ul><li>Use leeks that were washed in cold water.</li></ul>", MARKDOWN)
    )

    assert "<li>Use leeks that were washed in cold water.</li>" in html


def test_heading_that_is_only_code_is_a_heading():
    code = '<h2><code class="x"><span class="pre">autoescape</span></code><a class="headerlink" href="#a">¶</a></h2>'

    assert "## autoescape" in found(code, MARKDOWN)


@pytest.mark.parametrize("tag", ["p", "div", "blockquote"])
def test_repeated_paragraph_is_repeated_in_the_text(tag):
    paragraph = f"The leeks are green and white. {SENTENCE}"
    paragraphs = f"<{tag}>{paragraph}</{tag}>" * 2
    page = f"<html><body><article><h1>Leeks</h1>{paragraphs}</article></body></html>"

    assert find(parse(page.encode(), url=URL), TEXT).count("green and white") == 2


def test_teaser_that_repeats_a_paragraph_is_left_out():
    paragraph = "The harvest of leeks begins in late summer and lasts until the end of the winter."
    article = f"<article><h1>Leeks</h1><p>{paragraph}</p><p>{SENTENCE * 3}</p></article>"
    teaser = f"<aside><h4><a href=/a>Leeks</a></h4><p>{paragraph}</p></aside>"
    page = f"<html><body>{article}{teaser}</body></html>"

    assert find(parse(page.encode(), url=URL), TEXT).count(paragraph) == 1


def test_code_in_a_figure_is_kept():
    listing = "<figure class=listing><span>soup.py</span><pre><code>leeks = 2\nsalt = 1</code></pre></figure>"

    assert "leeks = 2\nsalt = 1" in found(f"<p>{SENTENCE * 2}</p>{listing}<p>{SENTENCE * 2}</p>")


def test_caption_of_a_picture_between_paragraphs_stays_out_of_plain_text():
    picture = (
        "<figure><img src=/a.jpg><figcaption>Leeks in a row near the town</figcaption></figure>"
    )

    assert "row near the town" not in found(f"<p>{SENTENCE * 2}</p>{picture}<p>{SENTENCE * 2}</p>")


LINKS = "".join(
    f'<li><a href="/{n}">{name}</a></li>' for n, name in enumerate(("Elbe", "Oder", "Rhine"))
)
ANNOUNCEMENT = "These are the rivers whose water is good enough for the fields of the valley:"


@pytest.mark.parametrize("tag", ["ul", "ol"])
def test_list_of_links_after_a_sentence_that_announces_it_is_kept(tag):
    text = found(f"<p>{ANNOUNCEMENT}</p><{tag}>{LINKS}</{tag}>")

    assert [name in text for name in ("Elbe", "Oder", "Rhine")] == [True] * 3


def test_list_of_links_near_the_start_is_not_breadcrumbs_after_an_announcement():
    body = f"<article><h1>Leeks</h1><p>{ANNOUNCEMENT}</p><ul>{LINKS}</ul><p>{SENTENCE * 3}</p></article>"

    assert "Oder" in find(parse(f"<html><body>{body}".encode(), url=URL), TEXT)


@pytest.mark.parametrize("announcement", ["Read also:", "More on this topic:"])
def test_list_of_links_after_a_few_words_is_left_out(announcement):
    assert "Oder" not in found(f"<p>{announcement}</p><ul>{LINKS}</ul>")
