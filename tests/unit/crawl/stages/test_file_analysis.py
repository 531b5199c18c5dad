"""Analysis of an item's file: its headers, but not its body."""

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.file_analysis import analyze_file, is_file
from tests.support.fetch_results import fetch_result

URL = "http://cdn.test/1.png"
PAGE_TYPES = ("text/html", "application/json")


def result(content_type, *, file=True, headers=()):
    job = UrlJob(url=URL, file=file)
    return fetch_result(job, status=200, content_type=content_type, headers=headers)


@pytest.mark.parametrize(
    ("content_type", "file", "expected"),
    [
        ("image/png", True, True),
        ("image/png", False, False),
        (None, True, True),
        ("text/html; charset=utf-8", True, False),
        ("APPLICATION/JSON", True, False),
    ],
)
def test_file_belongs_to_an_item_and_has_no_page_type(content_type, file, expected):
    assert is_file(result(content_type, file=file), PAGE_TYPES) is expected


def test_headers_of_a_file_give_its_usage_rules():
    headers = (("X-Robots-Tag", "noindex, noai, unavailable_after: 2030-01-01"),)

    analysis = analyze_file(result("image/png", headers=headers), agent="aragog")

    assert (analysis.fields, analysis.links, analysis.noindex) == ({}, (), True)
    assert analysis.unavailable_after_ms is not None
    assert any(preference.purpose == "ai-train" for preference in analysis.preferences)
