"""A small part of the fuzz run."""

import pytest

from tests.fuzz.fuzz_pages import mutations, one_input
from tests.support.forked import printed, python

WITHIN_LIMITS = """
import sys
from aragog.crawl.stages.page_limits import PageTooExpensive, limit_resources, make_expendable
from tests.fuzz.fuzz_pages import grown, one_input
make_expendable()
for page in grown(int(sys.argv[1]), int(sys.argv[2])):
    print(page[:200], flush=True)
    with limit_resources(5.0, 300_000_000):
        one_input(page)
"""


def test_mutated_pages_are_read():
    results = [one_input(data) for data in mutations(seed=7, count=300)]

    assert sum(page.title is not None for page in results) > 30


def test_pages_that_repeat_a_few_tags_keep_time_and_memory_limits():
    run = python(WITHIN_LIMITS, "7", "12")

    assert run.returncode == 0, (run.stdout.splitlines()[-1:], run.stderr[-2000:])


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
    "formatting after a marker": b"".join(
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
MAX_CPU_S = 4.0
"""Without the markup limits, each of them takes 10 s or more, or gigabytes."""
MAX_BYTES = 400_000_000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_is_parsed_within_time_and_memory_limits(name, tmp_path):
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
    assert float(cpu_s) < MAX_CPU_S
    assert float(more_bytes) < MAX_BYTES
