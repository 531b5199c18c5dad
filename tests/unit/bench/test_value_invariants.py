"""Each value check detects a planted fault, and skips pages without such a value."""

from __future__ import annotations

import pytest

from bench import value_invariants
from bench.value_invariants import QUICK, occurs_in_page, repeated_values_agree
from richpins.extraction import extract

URL = "https://pot.example/pot"
ARTICLE = (
    b"<title>A</title><meta property=article:published_time content=2024-05-01>"
    b'<script type="application/ld+json">{"@type":"Article","headline":"A","datePublished":'
    b'"2024-05-01T10:00:00Z","author":"Ann Lee"}</script>'
)


@pytest.mark.parametrize("check", [occurs_in_page, repeated_values_agree])
def test_page_with_consistent_values_passes(check):
    assert check(QUICK, URL) == []
    assert check(ARTICLE, URL) == []


@pytest.mark.parametrize("check", [occurs_in_page, repeated_values_agree])
def test_page_without_such_values_is_not_counted(check):
    assert check(b"<title>A</title><p>Nothing.", URL) is None


@pytest.mark.parametrize(
    ("page", "value", "field"),
    [
        (QUICK, b"1.25E2", "product.price"), (QUICK, b"P-7", "product.sku"),
        (ARTICLE, b"2024", "page.published_at or modified_at"), (ARTICLE, b"Ann Lee", "page.authors"),
    ],
)  # fmt: skip
def test_value_missing_in_the_page_is_found(page, value, field):
    pin = extract(page, URL)
    without = page.replace(value, b"").replace(b"125", b"")

    assert field in [violation.field for violation in occurs_in_page(without, URL, pin)]


def test_unreported_second_value_is_found():
    pin = extract(QUICK, URL)
    other = QUICK.replace(b"content=125", b"content=99")

    assert [violation.field for violation in repeated_values_agree(other, URL, pin)] == [
        "product.price"
    ]


def test_second_value_reported_as_a_conflict_passes():
    assert repeated_values_agree(QUICK.replace(b"content=125", b"content=99"), URL) == []


MICRODATA = (
    b"<title>Pot</title><div itemscope itemtype=https://schema.org/Product><h1 itemprop=name>Pot</h1><p itemprop=offers "
    b"itemscope itemtype=https://schema.org/Offer><b itemprop=price content=125>125.00</b>"
    b"<meta itemprop=priceCurrency content=EUR></p></div>"
)
POST = (
    b"<title>A</title><article itemscope itemtype=https://schema.org/BlogPosting><h1 itemprop=headline>A</h1>"
    b"<time itemprop=datePublished datetime=2024-05-01>May 1, 2024</time></article>"
)


@pytest.mark.parametrize("page", [MICRODATA, POST])
def test_equal_microdata_and_visible_values_agree(page):
    assert repeated_values_agree(page, URL) == []


@pytest.mark.parametrize(
    ("page", "shown", "other", "field"),
    [
        (MICRODATA, b">125.00<", b">99.00<", "product.price"),
        (MICRODATA, b"content=125", b"content=99", "product.price"),
        (POST, b"May 1, 2024", b"May 9, 2024", "page.published_at"),
        (POST, b"2024-05-01", b"2024-05-09", "page.published_at"),
    ],
)
def test_different_microdata_and_visible_values_are_found(page, shown, other, field):
    pin = extract(page, URL)

    found = repeated_values_agree(page.replace(shown, other), URL, pin)

    assert [violation.field for violation in found] == [field]


def test_different_json_ld_and_microdata_are_a_conflict():
    both = MICRODATA + (
        b'<script type="application/ld+json">{"@type":"Product","name":"Pot","offers":{"price":"99",'
        b'"priceCurrency":"EUR"}}</script>'
    )

    assert repeated_values_agree(both, URL) == []
    assert repeated_values_agree(both, URL, extract(MICRODATA, URL)) != []


def test_date_of_a_comment_or_the_next_day_is_not_a_second_value():
    comment = b"<i itemscope itemtype=https://schema.org/Comment><b itemprop=datePublished>2024-06-09</b></i>"

    assert repeated_values_agree(POST.replace(b"<time", comment + b"<time"), URL) == []
    assert repeated_values_agree(POST.replace(b"May 1,", b"May 2,"), URL) == []


def test_author_found_only_in_a_meta_element_counts_as_present():
    page = (
        b"<title>A</title><meta name=author content='Ann Lee'><p>Leeks are planted in spring.</p>"
    )

    assert occurs_in_page(page, URL) == []


def test_output_counts_only_pages_with_a_value(capsys):
    pages = iter([("a", QUICK, URL), ("b", b"<p>Nothing.", URL)])

    assert value_invariants.run(pages, show=1) == 0
    assert "0 of 1 pages fail" in capsys.readouterr().out
