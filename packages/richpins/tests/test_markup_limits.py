"""Pathological markup is cut before parsing; other markup is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins._markup_limits import MAX_DEPTH, limit_markup


def test_unclosed_formatting_is_removed_and_closed_formatting_kept():
    problems: list[str] = []
    open_ones = b"".join(b"<b x%d><object></b></object><p>" % n for n in range(2_000))

    kept = limit_markup(b"<p><em itemprop=name>N</em>" + open_ones, problems)

    assert kept.startswith(b"<p><em itemprop=name>N</em>")
    assert b"<b" not in kept
    assert problems == ["formatting tags omitted: too many are not closed"]


@pytest.mark.parametrize(
    "tag", [b"<b x%d>", b"<B x%d>", b"<sTrong\tx%d>", b"<TT/x%d>", b"<biG\nx%d>", b"<i x='%d>'>"]
)
def test_unclosed_formatting_is_found_in_any_spelling(tag):
    problems: list[str] = []
    body = b"".join(tag % n + b"<object></object><p>x" for n in range(2_000))

    assert tag[:3] not in limit_markup(body, problems)
    assert problems == ["formatting tags omitted: too many are not closed"]


def test_documentation_full_of_formatting_is_left_unchanged():
    problems: list[str] = []
    body = b'<p>See <code class="x"><span class="pre">f(x)</span></code>, <em>always</em>.' * 3_000

    assert limit_markup(body, problems) is body
    assert problems == []


def test_unclosed_formatting_with_few_distinct_tags_is_left_unchanged():
    problems: list[str] = []
    body = b'<p><b>one<p class=x><font color="red">two' * 5_000

    assert limit_markup(body, problems) is body
    assert problems == []


def test_tags_with_an_ambiguous_end_are_counted_separately():
    problems: list[str] = []
    body = b"".join(b'<p><b title=">%d">x' % n for n in range(5_000))

    assert b"<b" not in limit_markup(body, problems)
    assert problems == ["formatting tags omitted: too many are not closed"]


def test_nesting_has_the_same_limit_as_in_browsers():
    problems: list[str] = []

    kept = limit_markup(b"<div>" * 40_000 + b"<p>end", problems)

    assert kept.count(b"<div>") == MAX_DEPTH
    assert kept.endswith(b"<p>end")
    assert "omitted" in problems[0]


@given(
    st.lists(st.sampled_from([b"<div>", b"</div>", b"<b>", b"</b>", b"<p>", b"x", b"<a b='>'>"]))
)
def test_ordinary_markup_is_left_unchanged(pieces):
    problems: list[str] = []
    body = b"".join(pieces)

    assert limit_markup(body, problems) is body
    assert problems == []
