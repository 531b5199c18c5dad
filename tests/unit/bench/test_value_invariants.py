"""Each check of values fails on a planted fault, and does not count pages without such a value."""

from __future__ import annotations

import pytest

from aragog.pages.extraction import extract
from bench import value_invariants
from bench.value_invariants import QUICK, said_twice_agrees, stands_in_page

URL = "https://pot.example/pot"
ARTICLE = (
    b"<title>A</title><meta property=article:published_time content=2024-05-01>"
    b'<script type="application/ld+json">{"@type":"Article","headline":"A","datePublished":'
    b'"2024-05-01T10:00:00Z","author":"Ann Lee"}</script>'
)


@pytest.mark.parametrize("check", [stands_in_page, said_twice_agrees])
def test_a_page_whose_values_are_its_own_passes(check):
    assert check(QUICK, URL) == []
    assert check(ARTICLE, URL) == []


@pytest.mark.parametrize("check", [stands_in_page, said_twice_agrees])
def test_a_page_without_such_values_is_not_counted(check):
    assert check(b"<title>A</title><p>Nothing.", URL) is None


@pytest.mark.parametrize(
    ("page", "value", "field"),
    [
        (QUICK, b"1.25E2", "product.price"), (QUICK, b"P-7", "product.sku"),
        (ARTICLE, b"2024", "page.published_at or modified_at"), (ARTICLE, b"Ann Lee", "page.authors"),
    ],
)  # fmt: skip
def test_a_value_that_the_page_lacks_is_found(page, value, field):
    pin = extract(page, URL)
    without = page.replace(value, b"").replace(b"125", b"")

    assert field in [violation.field for violation in stands_in_page(without, URL, pin)]


def test_a_second_value_that_is_no_conflict_is_found():
    pin = extract(QUICK, URL)
    other = QUICK.replace(b"content=125", b"content=99")

    assert [violation.field for violation in said_twice_agrees(other, URL, pin)] == [
        "product.price"
    ]


def test_a_second_value_that_is_a_conflict_passes():
    assert said_twice_agrees(QUICK.replace(b"content=125", b"content=99"), URL) == []


def test_counts_say_how_many_pages_have_a_value(capsys):
    pages = iter([("a", QUICK, URL), ("b", b"<p>Nothing.", URL)])

    assert value_invariants.run(pages, show=1) == 0
    assert "0 of 1 pages fail" in capsys.readouterr().out
