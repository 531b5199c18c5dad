"""Permalink signs next to headings are not part of the text."""

import pytest

from richpins._permalinks import heading_text, is_permalink
from richpins.document import parse
from richpins.extraction import extract
from richpins.main_text import MARKDOWN, TEXT, find

SIGNS = {
    "Sphinx": '<a class="headerlink" href="#x" title="Link to this heading">¶</a>',
    "MkDocs": '<a class="headerlink" href="#x" title="Permanent link">&para;</a>',
    "rustdoc": '<a class="anchor" href="#x">§</a>',
    "Docusaurus": '<a href="#x" class="hash-link" aria-label="Direct link">&#8203;</a>',
    "VitePress": '<a class="header-anchor" href="#x">&#8203;</a>',
    "Hugo": '<a class="td-heading-self-link" href="#x">#</a>',
    "Jupyter": '<a class="anchor-link" href="#x">&#182;</a>',
    "a label": '<a class="headerlink" href="#x">Link to this heading</a>',
    "an emoji": '<a href="#x">🔗</a>',
}
LINE = "Leeks are planted in spring and harvested from late summer on, in most of the country."
URL = "https://docs.example/guide/leeks.html"


def page_with(sign):
    body = f"""<html><head><title>Leeks — Guide</title></head><body><main><h1 id=x>Leeks{sign}</h1>
    <p>{LINE}</p><h2>The harvest{sign}</h2><p>{LINE.replace("spring", "autumn")}</p></main>"""
    return body.encode()


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_title_and_heading_have_no_permalink_sign(sign):
    page = parse(page_with(sign), url=URL, content_type="text/html; charset=utf-8")

    assert page.heading == "Leeks"
    assert extract(page.body, URL).title == "Leeks"


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize("form", [TEXT, MARKDOWN])
def test_main_text_has_no_permalink_sign(sign, form):
    page = parse(page_with(sign), url=URL, content_type="text/html; charset=utf-8")

    lines = find(page, form).splitlines()

    assert ("## The harvest" if form == MARKDOWN else "The harvest") in lines


def test_ingredients_heading_may_have_a_permalink_sign():
    body = b"""<h1>Leek soup</h1><h2>Ingredients<a class=headerlink href="#i">#</a></h2>
    <ul><li>3 leeks<li>500 g potatoes<li>1 l stock</ul><h2>Directions &para;</h2>
    <ol><li>Wash the leeks.<li>Cook all for 20 minutes.<li>Blend the soup.</ol>"""

    pin = extract(body, "https://pot.example/soup")

    assert pin.recipe.ingredients
    assert len(pin.recipe.instructions) == 3


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<h1>C#</h1>", "C#"),
        ("<h1>¶</h1>", "¶"),
        ("<h1><a href='#x' class=anchor>Leeks</a></h1>", "Leeks"),
        ("<h1>Note <a href='#fn1'>1</a></h1>", "Note 1"),
        ("<h1><a href='#x' class=anchor aria-hidden=true><svg></svg></a>Leeks</h1>", "Leeks"),
        ("<h1><a class=headerlink href='#x'>#</a> Leeks</h1>", "Leeks"),
    ],
)
def test_text_of_the_heading_itself_is_kept(markup, text):
    assert heading_text(parse(markup.encode(), url=URL).tree.css_first("h1")) == text


@pytest.mark.parametrize(
    ("text", "href", "css_class", "expected"),
    [
        ("¶", "#a", "", True),
        ("¶", "/other", "headerlink", False),
        ("#", "leeks.html#a", "", True),
        ("The harvest", "#a", "anchor", False),
        ("1", "#note", "", False),
        ("permalink", "#a", "permalink", True),
        ("permalink", "#a", "", False),
    ],
)
def test_permalink_has_a_fragment_and_no_words(text, href, css_class, expected):
    assert is_permalink(text, href, css_class) is expected
