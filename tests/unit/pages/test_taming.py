"""Markup made to hurt is cut before the parser sees it; other markup is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.pages.document import parse
from aragog.pages.taming import MAX_DEPTH, tame

HOSTILE = {
    "nested": b"<div>" * 60_000,
    "nested with others": b"<div><b>" * 30_000 + b"</b>" * 30_000,
    "attributes": b"<div " + b"".join(b"a%d=1 " % n for n in range(40_000)) + b">",
    "attributes with brackets": b"<div " + b"".join(b"a%d='>' " % n for n in range(40_000)) + b">",
    "formatting": b"<p>" + b"".join(b"<b id=%d>" % n for n in range(4_000)) + b"<p>x" * 4_000,
    "tables": b"<table><tr><td>" * 40_000,
    "quotes": b"<a \"'" * 60_000,
    "comments": b"<!--" * 200_000,
    "raw text": b"<style></style" * 60_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_still_becomes_a_document(name):
    page = parse(b"<title>T</title>" + HOSTILE[name], url="https://a.test/")

    assert page.title == "T"


def test_nesting_stops_where_browsers_stop():
    problems: list[str] = []

    kept = tame(b"<div>" * 20_000 + b"<p>end", problems)

    assert kept.count(b"<div>") == MAX_DEPTH
    assert kept.endswith(b"<p>end")
    assert "left out" in problems[0]


@given(
    st.lists(st.sampled_from([b"<div>", b"</div>", b"<b>", b"</b>", b"<p>", b"x", b"<a b='>'>"]))
)
def test_ordinary_markup_is_not_touched(pieces):
    problems: list[str] = []
    body = b"".join(pieces)

    assert tame(body, problems) is body
    assert problems == []
