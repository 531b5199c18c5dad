"""JSON-LD as found on real pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.extraction import extract
from richpins.structured_data import lenient_json
from richpins.structured_data.graph import Graph, local_name
from richpins.structured_data.jsonld import read


def pin(*blocks: str):
    scripts = "".join(f'<script type="application/ld+json">{block}</script>' for block in blocks)
    return extract(f"<html><head>{scripts}</head></html>".encode(), "https://a.test/x")


@pytest.mark.parametrize(
    "text",
    [
        '{"@type":"Book","name":"N"}',
        '[{"@type":"Book","name":"N"}]',
        '[[{"@type":"Book","name":"N"}]]',
        '{"@graph":[{"@type":"Book","name":"N"}]}',
        '{"@graph":{"@type":"http://schema.org/Book","https://schema.org/name":"N"}}',
        '{"@context":{"s":"https://schema.org/"},"@type":"s:Book","s:name":{"@value":"N"}}',
        '{"@context":{"t":"https://schema.org/name"},"@type":["Thing","Book"],"t":"N"}',
        '{"@type":"Book","Name":["N"]}',
        '{"@type":"Book","name":{"@list":["N","M"]}}',
        '<!-- {"@type":"Book","name":"N"} -->',
        '//<![CDATA[\n{"@type":"Book","name":"N"}\n//]]>',
        '/*<![CDATA[*/{"@type":"Book","name":"N"}/*]]>*/',
        '\ufeff{"@type":"Book","name":"N"};',
        '{"@type":"Book",/* a */"name":"N",}// b',
        '{"@type":"Book" "name":"N"}',
        '{"@type":"Book","name":"N"',
        '{"@type":"Book","name":"N","x":[1,2',
        '{"@type":"Book","name":"N","x":"a\tb\x01\nc"}',
        '{"@type":"Book","name":"N","x":"a \\x b"}',
        '{"@type":"Book","name":"N","x":"say "hello" to"}',
        '{"@type":"Book","name":"N"}{"@type":"Thing"}',
        "{&quot;@type&quot;:&quot;Book&quot;,&quot;name&quot;:&quot;N&quot;}",
        '{"@type":"Book","name":"N","price":01,"z":NaN,"u":undefined}',
        '{"@type":"Book","name":"\\u004e","x":"\\ud83d"}',
    ],
)
def test_block_is_parsed_despite_its_faults(text):
    rich_pin = pin(text)

    assert rich_pin.type == "book"
    assert rich_pin.title == "N"


def test_references_work_across_blocks():
    rich_pin = pin(
        '{"@type":"Book","name":"N","author":{"@id":"#a"},"publisher":{"@id":"#nobody"}}',
        '{"@type":"Person","@id":"#a","name":"Ann"}',
    )

    assert rich_pin.authors == ("Ann",)


def test_item_given_in_two_parts_is_merged():
    rich_pin = pin(
        '{"@type":"Book","@id":"#b","name":"N"}', '{"@type":"Book","@id":"#b","numberOfPages":90}'
    )

    assert rich_pin.book.pages == 90


def test_broken_block_does_not_hide_the_others():
    rich_pin = pin("{{{{", '{"@type":"Book","name":"N"}', "not json")

    assert rich_pin.title == "N"
    assert len(rich_pin.problems) == 2


@pytest.mark.parametrize("text", ["", "   ", "null", "17", '"text"', "no json", "<!-- -->", "//"])
def test_block_without_an_item_gives_nothing(text):
    assert pin(text).type == "page"


def test_cyclic_references_terminate():
    rich_pin = pin(
        json.dumps(
            {
                "@graph": [
                    {
                        "@type": "Recipe",
                        "@id": "#r",
                        "name": {"@id": "#r"},
                        "author": {"@id": "#r"},
                        "image": {"@id": "#r"},
                        "aggregateRating": {"@id": "#r"},
                        "nutrition": {"@id": "#r"},
                        "recipeIngredient": [{"@id": "#r"}, "salt"],
                        "recipeInstructions": [{"@id": "#s"}] * 40,
                    },
                    {
                        "@type": "HowToSection",
                        "@id": "#s",
                        "itemListElement": [{"@id": "#s"}] * 40 + ["Stir."],
                    },
                ]
            }
        )
    )

    assert rich_pin.recipe.instructions == ("Stir.",)


def test_item_limit_is_reported():
    blocks = json.dumps([{"@type": "Book", "name": f"n{n}"} for n in range(25_000)])

    assert "items: the rest were ignored" in pin(blocks).problems[0]


def test_vocabulary_is_removed_from_names():
    assert local_name("http://www.schema.org/Recipe") == "Recipe"
    assert local_name("schema:name") == "name"
    assert local_name("https://purl.org/x#y") == "y"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["@id", "@type", "@graph", "@list", "name", "author", "x:y", "@context"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_any_json_becomes_nodes(value):
    graph = Graph()

    read([json.dumps(value)], graph)

    assert all(node.graph is graph for node in graph.nodes)


@given(st.text(alphabet='{}[]",:\\ab/*<!-\n 1', max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        values, _ = lenient_json.loads(text)
    except lenient_json.UnreadableJson:
        return
    assert isinstance(values, list)


@given(json_values, st.integers(0, 200))
def test_truncated_block_keeps_its_start(value, cut):
    text = json.dumps({"first": 1, "second": value})

    values, _ = lenient_json.loads(text[: max(12, len(text) - cut)])

    assert values[0]["first"] == 1


@pytest.mark.parametrize("depth", [5_000, 50_000])
def test_deep_nesting_is_cut_by_every_version_of_python(depth):
    """Python 3.14 parses it into a value that is too deep for other code."""
    _, reason = lenient_json.loads('{"a":' * depth + '"\n"' + "}" * depth)

    assert reason.startswith("nested too deep")


def test_brackets_in_strings_do_not_count_as_nesting():
    text = '{"name": "' + "[{" * 2_000 + '\\" [\n"}'

    (value,), reason = lenient_json.loads(text)

    assert value["name"].endswith('" [\n')
    assert reason == "marks around it or raw control characters"


@pytest.mark.parametrize(
    "text",
    ["{'@type': 'Product', 'name': “Pot”, 'sku': “7”}", '{"@type": "Product", "name": “Pot”, "sku": ‘7’}',
     "{‘@type’: ‘Product’, ‘name’: ‘Pot’, ‘sku’: ‘7’}", '{"@type": "Product", “name”: "Pot", “sku”: "7"}',
     '{"@type": "Product", "name": “Pot", "sku": "7"}'],
)  # fmt: skip
def test_typographic_quotes_from_an_editor_are_accepted(text):
    page = pin(text)

    assert (page.title, page.product.sku) == ("Pot", "7")


def test_typographic_quotes_inside_a_string_are_kept():
    text = '{"@type": "Product", "name": “The “big” pot”, "sku": "‘7’"}'
    page = pin(text)

    assert (page.title, page.product.sku) == ("The “big” pot", "‘7’")
