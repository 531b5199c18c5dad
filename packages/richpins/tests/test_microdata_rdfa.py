"""Microdata and RDFa Lite."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.extraction import extract


def pin(markup: str):
    return extract(
        f"<html><body>{markup}</body></html>".encode(),
        "https://a.test/x",
        "text/html; charset=utf-8",
    )


BOOK = "itemscope itemtype=https://schema.org/Book"


def test_each_element_gives_its_value_from_the_right_attribute():
    rich_pin = pin(
        f"<div {BOOK}><meta itemprop=name content=N><time itemprop=datePublished datetime=2020-01-02>"
        "then</time><data itemprop=numberOfPages value=90>ninety</data><img itemprop=image src=/i.jpg>"
        "<a itemprop=author href=/ann>Ann</a><span itemprop=isbn content=9780306406157>x</span></div>"
    )

    assert rich_pin.title == "N"
    assert rich_pin.book.published_at.isoformat() == "2020-01-02"
    assert rich_pin.book.pages == 90
    assert rich_pin.image.url == "https://a.test/i.jpg"
    assert rich_pin.authors == ("Ann",)
    assert rich_pin.book.isbn == "9780306406157"


def test_property_belongs_to_the_closest_item():
    rich_pin = pin(
        f"<div {BOOK}><b itemprop=name>N</b><p itemprop=author itemscope><i itemprop=name>Ann</i></p></div>"
    )

    assert (rich_pin.title, rich_pin.authors) == ("N", ("Ann",))


def test_itemref_adds_elements_by_id():
    rich_pin = pin(
        f"<p id=a><b itemprop=name>N</b></p><div {BOOK} itemref='missing a b'></div><i id=b itemprop=author>Ann</i>"
    )

    assert (rich_pin.title, rich_pin.authors) == ("N", ("Ann",))


def test_itemref_loops_terminate():
    rich_pin = pin(
        f"<div id=a {BOOK} itemref='a b'><b itemprop=name>N</b></div>"
        "<div id=b itemprop=author itemscope itemref='a b'><b itemprop=name>Ann</b></div>"
    )

    assert rich_pin.title == "N"


def test_property_with_several_or_full_names_is_understood():
    rich_pin = pin(f"<div {BOOK}><b itemprop='http://schema.org/name alternateName'>N</b></div>")

    assert rich_pin.title == "N"


def test_rdfa_is_parsed_with_prefix_vocabulary_and_resource():
    rich_pin = pin(
        '<div prefix="schema: http://schema.org/" typeof="schema:Book" about="#b">'
        '<b property="schema:name">N</b><span rel="schema:author" resource="#ann"></span></div>'
        '<p typeof="schema:Person" resource="#ann"><i property="schema:name">Ann</i></p>'
    )

    assert (rich_pin.type, rich_pin.title, rich_pin.authors) == ("book", "N", ("Ann",))


def test_open_graph_tags_are_not_rdfa():
    rich_pin = pin(
        '<div vocab="http://schema.org/" typeof="Book"><meta property="og:title" content="x">'
        '<b property="name">N</b></div>'
    )

    assert rich_pin.title == "N"


def test_steps_in_one_element_become_lines():
    rich_pin = pin(
        "<div itemscope itemtype=http://schema.org/Recipe><b itemprop=name>N</b>"
        "<i itemprop=ingredients>salt</i>"
        "<div itemprop=recipeInstructions><ol><li>Stir.<li>Wait <b>long</b>.</ol></div></div>"
    )

    assert rich_pin.recipe.instructions == ("Stir.", "Wait long.")


def test_microdata_adds_facts_missing_in_json_ld():
    rich_pin = pin(
        '<script type="application/ld+json">{"@type":"Book","name":"N"}</script>'
        f"<div {BOOK}><b itemprop=name>N</b><b itemprop=numberOfPages>90</b></div>"
    )

    assert rich_pin.book.pages == 90
    assert rich_pin.provenance["book.pages"].syntax == "microdata"
    assert rich_pin.provenance["page.title"].syntax == "json-ld"


ATTRIBUTES = ["itemscope", "itemprop=name", "itemprop=author", "itemtype=http://schema.org/Recipe",
    "itemref='a b'", "id=a", "id=b", "typeof=Recipe", "property=name", "resource=#x", "vocab=x"]  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["<div ", "</div>", "<a ", "text"]),
            st.lists(st.sampled_from(ATTRIBUTES), max_size=4),
        ),
        max_size=30,
    )
)
def test_any_annotated_page_gives_a_pin(pieces):
    markup = "".join(
        f"{tag}{' '.join(attributes)}>" if tag[-1] == " " else tag for tag, attributes in pieces
    )

    assert pin(markup).url == "https://a.test/x"


@pytest.mark.parametrize(
    "advertisement",
    [
        '<script type="advertisement-parameters">{"position":"dynamic"}</script>',
        "<style>.ad { position: fixed }</style>",
        "<template>position</template>",
        '<noscript><img src="https://ad.example/position"></noscript>',
    ],
)
def test_article_body_has_no_advertising_parameters(advertisement):
    body = f"""<article itemscope itemtype="https://schema.org/NewsArticle"><h1 itemprop=headline>Leeks</h1>
    <div itemprop="articleBody"><p>Leeks are planted.</p>{advertisement}<p>They grow.</p></div>"""

    assert (
        extract(body.encode(), "https://a.example/leeks").article.body
        == "Leeks are planted. They grow."
    )


def test_article_body_in_json_ld_has_no_script():
    body = b"""<script type="application/ld+json">{"@type": "NewsArticle", "headline": "Leeks", "articleBody":
    "<p>Leeks are planted.</p><script>!function(){}()<\\/script><p>They grow.</p>"}</script>"""

    assert extract(body, "https://a.example/leeks").article.body == "Leeks are planted. They grow."
