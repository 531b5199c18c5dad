"""Indexes of web archives."""

import io
import json

import pytest

from aragog.transfer.captures import read_captures
from aragog.urlstore.cdxj import Capture, line

NEW_YEAR_MS = 1_767_225_600_000
ELEVEN = (
    " CDX N b a m s k r M S V g\n"
    "example,a)/ 20260101000000 http://a.example/ text/html 200 ABC - - 1043 333 x.warc.gz\n"
    "example,a)/old 20260101000000 http://a.example/old text/html 404 ABC - - 1043 333 x.warc.gz\n"
    "example,a)/to 20260101000000 http://a.example/to text/html 301 ABC - - 1043 333 x.warc.gz\n"
)
NINE = "example,a)/ 20260101000000 http://a.example/ text/html 200 ABC - 333 x.warc.gz\n"
OTHER_ORDER = " CDX a b k\nhttp://a.example/ 2026 ABC\n"


def read(text, after=0):
    return list(read_captures(io.BytesIO(text.encode()), after=after))


@pytest.mark.parametrize(
    "text",
    [
        ELEVEN,
        NINE,
        line(
            Capture(
                "http://a.example/", "2026-01-01T00:00:00Z", "text/html", "200", "ABC", 1, 2, "f"
            )
        ),
    ],
)
def test_capture_has_its_url_and_facts_at_its_time(text):
    ((_, record),) = read(text)

    assert record.url == "http://a.example/"
    assert {name: json.loads(value) for name, value in record.fields.items()} == {
        "archive.captured_at": "2026-01-01T00:00:00Z",
        "archive.mime": "text/html",
        "archive.digest": "ABC",
    }
    assert set(record.at_ms.values()) == {NEW_YEAR_MS}


def test_first_line_names_the_columns():
    with_status = OTHER_ORDER.replace("a b k", "a b s").replace("ABC", "200")
    ((number, record),) = read(with_status)

    assert (number, record.url) == (2, "http://a.example/")
    assert record.at_ms["archive.captured_at"] == NEW_YEAR_MS


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a b c\n", "has 3 columns, so it is neither CDXJ nor CDX with 9 or 11"),
        (
            NINE.replace("20260101000000", "20261301000000"),
            "has no valid timestamp: '20261301000000'",
        ),
        (NINE.replace("20260101000000", "yesterday"), "has no valid timestamp: 'yesterday'"),
        ('k 2026 {"status": "200"}\n', "has no 'url'"),
        ("k 2026 {\n", "is not CDXJ: unexpected end of data: line 2 column 1 (char 2)"),
    ],
)
def test_bad_line_is_reported(text, reason):
    ((number, bad),) = read(text)

    assert (number, str(bad)) == (1, reason)


def test_import_continues_after_a_line():
    assert read(ELEVEN, after=2) == []


@pytest.mark.parametrize("key", ["test,a)/my cover.jpg", "test,a)/a 2015 b", "test,a)/x"])
def test_key_with_spaces_is_accepted_in_cdxj(key):
    text = f'{key} 20150302104602 {{"url": "http://a.test/my cover.jpg", "status": "200"}}\n'

    ((_, record),) = read(text)

    assert record.url == "http://a.test/my cover.jpg"
    assert record.fields["archive.captured_at"] == b'"2015-03-02T10:46:02Z"'
