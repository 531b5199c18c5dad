"""What is read of a file of an item: its headers, and no byte of its body."""

import pytest

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.file_analysis import file_analysis, is_file
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
def test_a_file_is_what_an_item_names_and_has_no_type_of_pages(content_type, file, expected):
    assert is_file(result(content_type, file=file), PAGE_TYPES) is expected


def test_the_headers_of_a_file_say_what_may_be_done_with_it():
    headers = (("X-Robots-Tag", "noindex, noai, unavailable_after: 2030-01-01"),)

    analysis = file_analysis(result("image/png", headers=headers), agent="aragog")

    assert (analysis.fields, analysis.links, analysis.noindex) == ({}, (), True)
    assert analysis.unavailable_after_ms is not None
    assert any(said.purpose == "ai-train" for said in analysis.preferences)
