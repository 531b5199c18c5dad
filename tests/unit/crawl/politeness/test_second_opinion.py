"""reppy reads a sample of the robots.txt of a running crawl; differences are kept to look at."""

from __future__ import annotations

import json

import pytest

from aragog.crawl.politeness.second_opinion import MAX_FILES, SecondOpinion, is_safe
from tests.support.missing_parts import REPPY

ORIGIN = "https://site.test"
ALIKE = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n"
# Of equally long rules the one that allows wins (RFC 9309, 2.2.2); in reppy, the one that forbids.
DIFFERENT = b"User-agent: *\nDisallow: /page\nAllow: /page\n"


@pytest.fixture(autouse=True)
def _reppy():
    pytest.importorskip("reppy.robots", reason=REPPY.reason)


@pytest.fixture
def second(tmp_path):
    return SecondOpinion(1.0, tmp_path / "differences", "aragog/1.0 (+http://a.test/)")


def test_a_file_that_both_read_alike_leaves_nothing(second):
    assert second.check(ORIGIN, ALIKE) is False
    assert not second.folder.exists()


def test_a_file_that_they_read_differently_is_kept_with_what_each_said(second):
    assert second.check(ORIGIN, DIFFERENT) is True
    assert second.check(ORIGIN, DIFFERENT) is True  # the same file again

    (said,) = second.folder.glob("*.json")
    assert said.with_suffix(".txt").read_bytes() == DIFFERENT
    (difference,) = json.loads(said.read_text())["differences"]
    assert difference == {"url": f"{ORIGIN}/page", "ours": True, "theirs": False}


def test_files_are_kept_up_to_a_bound(second):
    second.folder.mkdir()
    for number in range(MAX_FILES):
        (second.folder / f"{number}.json").touch()

    assert second.check(ORIGIN, DIFFERENT) is True
    assert len(list(second.folder.iterdir())) == MAX_FILES


def test_only_a_sample_is_compared(tmp_path):
    draws = iter([0.5, 0.005])
    second = SecondOpinion(0.01, tmp_path, "aragog/1.0", rng=lambda: next(draws))

    assert second.check(ORIGIN, ALIKE) is None
    assert second.check(ORIGIN, ALIKE) is False


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /*a*b\n",
        b"User-agent: *\nDisallow: /\x00\n",
        b"User-agent: *\nDisallow: /\xff\n",
        b"Disallow: /" + b"a" * 3_000,
        b"#\n" * 70_000,
    ],
)
def test_reppy_never_gets_what_it_could_not_read_safely(second, body):
    assert not is_safe(body)
    assert second.check(ORIGIN, body) is None
