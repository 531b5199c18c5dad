"""JSON-LD that was escaped as a whole, and JSON inside text values."""

from __future__ import annotations

import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import ld, pin

from richpins.extraction import extract
from richpins.structured_data.escaped_json import unescape
from richpins.structured_data.lenient_json import loads


@pytest.mark.parametrize(
    "text",
    [
        "{&#34;name&#34;:&#34;12&amp;#34; cup&#34;}", "{&#034;name&#034;:&#034;12&quot; cup&#034;}",
        "{&#x22;name&#X22;:&quot;12&amp;quot; cup&quot;}", "{&QUOT;name&quot;:&quot;12&amp;quot; cup&quot;}",
        "&#123;&quot;name&quot;:&quot;12&amp;quot; cup&quot;&#125;",
        "{&amp;quot;name&amp;quot;:&amp;quot;12&amp;amp;quot; cup&amp;quot;}",
        r'{\"name\":\"12\\\" cup\"}', r'"{\"name\":\"12\\\" cup\"}"', r"\x7b\x22name\x22:\x2212\\\x22 cup\x22}",
        r"{\u0022name\u0022:\u002212\\\u0022 cup\u0022}", "%7B%22name%22%3A%2212%5C%22%20cup%22%7D",
        "{“name”: “12&quot; cup”}", "{&ldquo;name&rdquo;:&ldquo;12&amp;quot; cup&rdquo;}",
        '{<br />\n"name": "12&quot; cup"<br />\n}', "{'name': '12\" cup'}", '{\'name\': "12\\" cup"}',
    ],
)  # fmt: skip
def test_block_escaped_as_a_whole_is_parsed(text):
    values, reason = loads(text)

    assert [html.unescape(value["name"]) for value in values] == ['12" cup']
    assert reason


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "12&quot; cup"}', '{"a": "{\\"b\\": 1}"}', '{"url": "%7B%22"}', '{"a": "“b”"}',
        "{}", "", "plain", "{ name: 1 }", '{"a": "x<br>"}',
    ],
)  # fmt: skip
def test_escapes_inside_strings_are_left_alone(text):
    assert unescape(text) is None


def test_block_with_escaped_quotes_gives_a_recipe():
    block = html.escape(json.dumps({"@type": "Recipe", "name": "Soup", "recipeYield": "4"}))
    page = pin(f'<script type="application/ld+json">{block.replace("&quot;", "&#34;")}</script>')

    assert (page.type, page.title, str(page.recipe.yields)) == ("recipe", "Soup", "4 servings")
    assert page.problems == ("json-ld[0]: escaped",)


VALUES = st.recursive(
    st.text(max_size=8) | st.integers(-9, 9) | st.booleans(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=5), parts),
    max_leaves=8,
)
ESCAPES = [
    html.escape, lambda text: html.escape(text).replace("&quot;", "&#34;"),
    lambda text: html.escape(html.escape(text)), json.dumps, lambda text: json.dumps(text)[1:-1],
    quote,
]  # fmt: skip


@given(VALUES, st.sampled_from(ESCAPES))
def test_object_is_parsed_under_each_escape(value, escape):
    given_value = {"key": value}

    assert loads(escape(json.dumps(given_value)))[0] == [given_value]


STEPS = [{"@type": "HowToStep", "text": "Chop it."}, {"@type": "HowToStep", "text": "Boil it."}]
PLAIN = ["Chop it.", "Boil it."]


@pytest.mark.parametrize("steps", [STEPS, PLAIN, {"@type": "ItemList", "itemListElement": STEPS}])
@pytest.mark.parametrize("indent", [None, 1])
def test_json_in_a_content_attribute_is_decoded(steps, indent):
    content = html.escape(json.dumps(steps, indent=indent))
    body = (
        "<div itemscope itemtype='http://schema.org/Recipe'><h1 itemprop=name>Soup</h1>"
        f'<meta itemprop=recipeInstructions content="{content}">'
        f'<meta itemprop=author content="{html.escape(json.dumps({"name": "Ann Lee"}))}"></div>'
    )
    page = extract(body.encode(), "https://a.test/soup")

    assert page.recipe.instructions == ("Chop it.", "Boil it.")
    assert page.authors == ("Ann Lee",)


def test_json_in_a_json_ld_text_is_decoded():
    steps = json.dumps(STEPS, indent=1)
    page = pin(ld({"@type": "Recipe", "name": "Soup", "recipeInstructions": steps}))

    assert page.recipe.instructions == ("Chop it.", "Boil it.")


@pytest.mark.parametrize("broken", ['[{"@type":', "[{]", '{"text": "Chop"', "[{\n}]"])
def test_broken_json_in_a_content_attribute_is_not_a_step(broken):
    content = html.escape(broken)
    body = (
        "<div itemscope itemtype='http://schema.org/Recipe'><h1 itemprop=name>Soup</h1>"
        f'<meta itemprop=recipeInstructions content="{content}"></div>'
    )

    steps = extract(body.encode(), "https://a.test/soup").recipe.instructions
    assert not any(step.startswith(("[", "{")) for step in steps)


def test_article_about_json_keeps_its_text():
    page = pin(ld({"@type": "Article", "headline": "A", "articleBody": '{"a": "is an object"}'}))

    assert page.article.body == '{"a": "is an object"}'
