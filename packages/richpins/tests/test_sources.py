"""The precedence of the sources of each field, as listed in RULES.md."""

from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import pin

from richpins.document import parse
from richpins.structured_data.sources import Sources

ITEM = '<script type="application/ld+json">{"@type":"Article","headline":"A",%s}</script>'
WEB_PAGE = '<script type="application/ld+json">{"@type":"WebPage",%s}</script>'
ORDERS = {
    "canonical_url": [
        "<head><link rel=canonical href=https://a.test/0></head>",
        "<p>x</p><link rel=canonical href=https://a.test/1>",
        '<meta property="og:url" content="https://a.test/2">',
        ITEM % '"url":"https://a.test/3"',
        '<meta name="twitter:url" content="https://a.test/4">',
    ],
    "description": [
        ITEM % '"description":"0"',
        '<meta property="og:description" content="1">',
        '<meta name="description" content="2">',
        '<meta name="twitter:description" content="3">',
        '<meta name="dc.description" content="4">',
        WEB_PAGE % '"description":"5"',
    ],
    "language": [
        "<html lang=aa>",
        '<meta http-equiv="content-language" content="ab">',
        ITEM % '"inLanguage":"ac"',
        '<meta property="og:locale" content="ad">',
        '<meta name="dc.language" content="ae">',
    ],
    "site_name": [
        '<script type="application/ld+json">{"@type":"WebSite","name":"S0"}</script>',
        '<meta property="og:site_name" content="S1">',
        '<meta name="application-name" content="S2">',
        ITEM % '"publisher":{"@type":"Organization","name":"S3"}',
        '<meta property="al:ios:app_name" content="S4">',
    ],
    "image": [
        ITEM % '"image":"https://a.test/0.jpg"',
        '<meta name="twitter:image" content="https://a.test/1.jpg">',
        WEB_PAGE % '"primaryImageOfPage":{"@type":"ImageObject","url":"https://a.test/2.jpg"}',
        "<link rel=image_src href=https://a.test/3.jpg>",
        '<meta name="thumbnail" content="https://a.test/4.jpg">',
        "<title>Leek soup</title><img alt='Leek soup' src=https://a.test/5.jpg>",
    ],
}


def value_of(field, *sources):
    """The field of an article on a page with these sources; sources in the head come first."""
    head = [each for each in sources if each.startswith("<head>")]
    rest = [each for each in sources if not each.startswith("<head>")]
    value = getattr(pin("".join([*head, ITEM % '"wordCount":5', *rest])), field)
    return value.url if field == "image" else value


@pytest.mark.parametrize("field", ORDERS)
def test_source_is_used_if_no_earlier_one_has_the_field(field):
    sources = ORDERS[field]
    alone = [value_of(field, source) for source in sources]

    assert len(set(alone)) == len(sources)
    # The page has them in reverse order, so that their positions do not decide.
    assert [value_of(field, *reversed(sources[n:])) for n in range(len(sources))] == alone


def test_regular_price_next_to_a_sale_price_is_the_list_price():
    tags = {"sale_price:amount": "80", "price:amount": "100", "price:currency": "EUR"}
    rich_pin = pin("".join(f'<meta property="product:{n}" content="{v}">' for n, v in tags.items()))
    assert rich_pin.product is not None
    assert (str(rich_pin.product.price), str(rich_pin.product.list_price)) == ("80", "100")


def test_sale_price_equal_to_the_price_is_not_a_discount():
    tags = {"sale_price:amount": "100.0", "price:amount": "100", "price:currency": "EUR"}
    rich_pin = pin("".join(f'<meta property="product:{n}" content="{v}">' for n, v in tags.items()))
    assert rich_pin.product is not None
    assert rich_pin.product.list_price is None


segments = st.sampled_from(["a", "b.html", "c-d", "x_y", "..", ".", "", "~u", "g,h"])
paths = st.lists(segments, max_size=4).map("/".join)


@given(
    st.sampled_from(["http://a.test/", "https://a.test:81/", "http://a.test"]),
    paths,
    st.sampled_from(["", "?q=/1", "#f", ";p"]),
    st.sampled_from(["", "/", "../", "../../", "./"]),
    paths,
)
def test_references_are_joined_as_by_the_standard_library(site, page, rest, prefix, reference):
    base = site + page.lstrip("/") + rest if site.endswith("/") else site
    joined = Sources(parse(b"", url=base)).absolute(prefix + reference)

    assert joined == (urljoin(base, prefix + reference) if prefix + reference else None)
