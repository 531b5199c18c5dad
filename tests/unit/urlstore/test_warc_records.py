"""The head of a page's record: its HTTP headers, and its entry in the pack's index."""

from dataclasses import replace

import pytest

from aragog.urlstore.warc_records import (
    Original,
    WarcPage,
    capture_of,
    http_head,
    page_head,
    read_beginning,
    revisit_head,
)
from tests.support.pack_harness import fetched
from tests.support.stores import NOW_MS

URL = "http://a.example/"
REPORT = fetched(URL, "body").report
ORIGINAL = Original(URL, "2026-11-29T10:15:02Z")


def a_page(report, **meta):
    return WarcPage(URL, NOW_MS, "ab" * 32, 4, meta, report)


@pytest.mark.parametrize(
    "head",
    [
        page_head(a_page(REPORT)),
        page_head(a_page(replace(REPORT, headers=()))),
        page_head(a_page(replace(REPORT, headers=(("content-type", "Text/Plain; charset=x"),)))),
        page_head(a_page(None, content_type="image/png")),
        page_head(a_page(None)),
        revisit_head(a_page(REPORT), ORIGINAL),
        revisit_head(a_page(None), ORIGINAL),
    ],
)
def test_index_entry_of_a_new_record_is_that_of_its_bytes(head):
    block, _ = read_beginning(head.with_body(b"body"))

    assert head.capture(100) == capture_of(block, 0, 100, "")


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nX-Injected: 1", "a\rb", "a\n\rb"])
def test_line_break_in_a_header_does_not_start_another_header(value):
    report = replace(REPORT, headers=(("Server", " nginx "), ("X-Odd", value)))

    lines = http_head(report, 4).decode("latin-1").split("\r\n")

    assert lines[1] == "Server: nginx"
    assert lines[2].startswith("X-Odd: a ")
    assert lines[3:] == ["Content-Length: 4", "", ""]


def test_page_with_other_content_keeps_everything_else():
    page = fetched(URL, "body")
    other = replace(page.content, digest="cd" * 32)

    assert page.with_content(other) == replace(page, content=other)
    assert page.content.digest != other.digest
