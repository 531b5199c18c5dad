"""Markup made to hurt is cut before the parser sees it; other markup is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.pages.markup_limits import MAX_DEPTH, limit_markup
from tests.support.forked import printed

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
    "end tags that a scope stops": b"<div><object></div></object>" * 80_000,
    "end tags that a block stops": b"<span><div></span></div>" * 80_000,
    "templates": b"<template>x" * 60_000,
    "cells without rows": b"<table><td>" * 60_000,
    "markers": b"".join(b"<i id=%d><object>" % n for n in range(60_000)),
    "formatting behind a marker": b"".join(
        b"<b x%d><object></b></object><p>" % n for n in range(4_000)
    ),
    "formatting in capitals": b"".join(
        b"<B X%d><OBJECT></B></OBJECT><P>" % n for n in range(4_000)
    ),
    "formatting that seems closed": b"".join(
        b"<b =\"a='></b>\" id=%d><object></b></object><p>'" % n for n in range(4_000)
    ),
    "formatting of few spellings": b"<p>"
    + b"<b><i><u><s><em><tt><big><code><font><small><strong>" * 3
    + b"<p>x" * 28_900,
    "formatting around blocks": (b"<b>" + b"<div>" * 10 + b"</b>") * 2_400,
    "paths that are no SVG": b"<svg><p></p>" + b"<path/>" * 60_000,
    "named lists in each other": b"<div class=ingredient>" * 400 + b"<ul><li>1 cup x" * 50_000,
    "named elements in each other": b"<div class=ingredient>" * 400 + b"<p>x</p>" * 50_000,
}
MOST_CPU_S = 4.0
"""Without its limits each of them takes 10 s or more, or gigabytes."""
MOST_BYTES = 400_000_000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_becomes_a_document_within_bounds_of_time_and_memory(name, tmp_path):
    page = tmp_path / "page.html"
    page.write_bytes(b"<title>T</title>" + HOSTILE[name])
    code = (
        "import pathlib, resource, sys; from tests.fuzz.fuzz_pages import one_input\n"
        "def used():\n"
        "    u = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    return u.ru_utime + u.ru_stime, u.ru_maxrss * 1024\n"
        "before = used()\n"
        "page = one_input(b'\\1' + pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print(*(b - a for a, b in zip(before, used())), page.title)"
    )
    cpu_s, more_bytes, title = printed(code, str(page)).split()

    assert title == "T"
    assert float(cpu_s) < MOST_CPU_S
    assert float(more_bytes) < MOST_BYTES


def test_formatting_that_stays_open_is_left_out_and_what_closes_at_once_is_kept():
    problems: list[str] = []
    open_ones = b"".join(b"<b x%d><object></b></object><p>" % n for n in range(2_000))

    kept = limit_markup(b"<p><em itemprop=name>N</em>" + open_ones, problems)

    assert kept.startswith(b"<p><em itemprop=name>N</em>")
    assert b"<b" not in kept
    assert problems == ["formatting tags left out: too many stay open"]


@pytest.mark.parametrize(
    "tag", [b"<b x%d>", b"<B x%d>", b"<sTrong\tx%d>", b"<TT/x%d>", b"<biG\nx%d>", b"<i x='%d>'>"]
)
def test_formatting_that_stays_open_is_found_however_it_is_spelled(tag):
    problems: list[str] = []
    body = b"".join(tag % n + b"<object></object><p>x" for n in range(2_000))

    assert tag[:3] not in limit_markup(body, problems)
    assert problems == ["formatting tags left out: too many stay open"]


def test_documentation_full_of_formatting_passes_untouched():
    problems: list[str] = []
    body = b'<p>See <code class="x"><span class="pre">f(x)</span></code>, <em>always</em>.' * 3_000

    assert limit_markup(body, problems) is body
    assert problems == []


def test_open_formatting_of_few_spellings_passes_untouched():
    problems: list[str] = []
    body = b'<p><b>one<p class=x><font color="red">two' * 5_000

    assert limit_markup(body, problems) is body
    assert problems == []


def test_spellings_whose_end_is_in_doubt_count_one_by_one():
    problems: list[str] = []
    body = b"".join(b'<p><b title=">%d">x' % n for n in range(5_000))

    assert b"<b" not in limit_markup(body, problems)
    assert problems == ["formatting tags left out: too many stay open"]


def test_nesting_stops_where_browsers_stop():
    problems: list[str] = []

    kept = limit_markup(b"<div>" * 40_000 + b"<p>end", problems)

    assert kept.count(b"<div>") == MAX_DEPTH
    assert kept.endswith(b"<p>end")
    assert "left out" in problems[0]


@given(
    st.lists(st.sampled_from([b"<div>", b"</div>", b"<b>", b"</b>", b"<p>", b"x", b"<a b='>'>"]))
)
def test_ordinary_markup_is_not_touched(pieces):
    problems: list[str] = []
    body = b"".join(pieces)

    assert limit_markup(body, problems) is body
    assert problems == []
