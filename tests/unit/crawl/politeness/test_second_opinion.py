"""reppy parses a sample of the robots.txt files of a crawl; differences are stored for review."""

from __future__ import annotations

import json

import pytest

from aragog.crawl.politeness.second_opinion import MAX_FILES, SecondOpinion, is_safe
from tests.support.missing_parts import REPPY

ORIGIN = "https://site.test"
ALIKE = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n"
# Among equally long rules, Allow wins (RFC 9309, 2.2.2); in reppy, Disallow wins.
DIFFERENT = b"User-agent: *\nDisallow: /page\nAllow: /page\n"


@pytest.fixture(autouse=True)
def _reppy():
    pytest.importorskip("reppy.robots", reason=REPPY.reason)


@pytest.fixture
def second(tmp_path):
    return SecondOpinion(1.0, tmp_path / "differences", "aragog/1.0 (+http://a.test/)")


def test_file_parsed_alike_leaves_nothing(second):
    assert second.check(ORIGIN, ALIKE) is False
    assert not second.folder.exists()


def test_file_parsed_differently_is_stored_with_both_results(second):
    assert second.check(ORIGIN, DIFFERENT) is True
    assert second.check(ORIGIN, DIFFERENT) is True  # the same file again

    (report,) = second.folder.glob("*.json")
    assert report.with_suffix(".txt").read_bytes() == DIFFERENT
    (difference,) = json.loads(report.read_text())["differences"]
    assert difference == {"url": f"{ORIGIN}/page", "ours": True, "theirs": False}


def test_number_of_stored_files_is_limited(second):
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
def test_reppy_never_gets_files_it_cannot_parse_safely(second, body):
    assert not is_safe(body)
    assert second.check(ORIGIN, body) is None
