"""Which bodies are pages, by their type and their first bytes."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.content_types import (
    content_refusal,
    effective_content_type,
    type_refusal,
)

ALLOWED = ("text/html", "application/json")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([""], None),
        (["text/html"], "text/html"),
        (["text/html", "text/plain"], "text/plain"),
        (["text/html", "garbage"], "text/html"),
        (["text/html", "*/*"], "text/html"),
        (["text/html, text/html; charset=utf-8"], "text/html; charset=utf-8"),
        (["text/html; charset=utf-8", "text/html"], "text/html; charset=utf-8"),
        (["text/html; charset=utf-8", "text/plain"], "text/plain"),
        (['text/html; title="a,b"; charset=utf-8'], 'text/html; title="a,b"; charset=utf-8'),
        (['text/html; v="a;charset=gbk"', "text/html"], "text/html"),
        (['text/html; v="a;charset=gbk"; charset=big5', "text/html"], "text/html; charset=big5"),
        (['text/html; Charset="gbk"', "text/html"], 'text/html; Charset="gbk"'),
        (
            ["text/html; charset=gbk", 'text/html; v=";charset=x"'],
            'text/html; v=";charset=x"; charset=gbk',
        ),
        (["text/html; charset=; charset=gbk", "text/html"], "text/html; charset=gbk"),
        (["html"], None),
        (["text/"], None),
        (["/html"], None),
        (["text/html/page"], None),
        (["text/ht ml"], None),
        (["charset=utf-8"], None),
        (["unknown/unknown"], None),
        (["Application/Unknown; charset=x"], None),
        (["*/*"], None),
        (["text/html", "unknown/unknown"], None),
    ],
)
def test_last_usable_content_type_counts(values, expected):
    assert effective_content_type(values) == expected


def test_types_are_compared_without_parameters_and_case():
    assert type_refusal("TEXT/HTML ; charset=x", ALLOWED) is None
    assert type_refusal(None, ALLOWED) is None
    assert type_refusal("image/png", ALLOWED) == "content type image/png"
    assert type_refusal("image/png", ("image/*",)) is None
    assert type_refusal("image/png", ("*/*",)) is None


@pytest.mark.parametrize(
    ("first", "claimed", "refused"),
    [
        (b"<html>", "text/html", False),
        (b"<html>", None, False),
        (b"", None, False),
        (b"%PDF-1.4", "text/html", True),
        (b"%PDF-1.4", None, True),
        (b"\x89PNG\r\n\x1a\n", "text/html", True),
        (b"\0\1\2\3", None, True),
        (b"\0\1\2\3", "text/html", True),
        (b"<p>a stray \x01 in a long enough paragraph of text", "text/html", False),
        (b"a stray \x01 in a long enough paragraph of text", "text/plain", True),
        ("<html>".encode("utf-16-le"), "text/html", False),
        ("plain text".encode("utf-16-be"), "text/plain", False),
        (b"\xff\xfe<\0h\0", None, False),
        (b"BMW is a car", "text/html", False),
        (b"BM\0\0\0\0", "text/html", True),
        (b"\x1b$B\x1b(B", None, False),
    ],
)
def test_first_bytes_reveal_what_is_not_a_page(first, claimed, refused):
    assert bool(content_refusal(first, claimed, ALLOWED)) == refused


def test_pdf_is_accepted_if_allowed_and_declared_correctly():
    """Regression: PDF was refused as binary although `fetch.content_types` allowed it."""
    pdf = b"%PDF-1.7\n%\xb5\xed\xae\xfb\n" + bytes(range(256)) * 4
    allowed = ("text/html", "application/pdf")

    assert content_refusal(pdf, "application/pdf", allowed) is None
    assert content_refusal(pdf, None, allowed) is None
    assert content_refusal(pdf, "text/html", allowed) == (
        "the content is binary, declared as text/html"
    )
    assert "application/pdf" in content_refusal(pdf, "application/pdf", ("text/html",))
