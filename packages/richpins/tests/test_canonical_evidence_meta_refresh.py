"""The shared declarative refresh steps of the HTML Standard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.canonical_evidence import meta_refresh


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5", (5, None)),
        (" 5\t", (5, None)),
        ("5;", (5, None)),
        ("5, ", (5, None)),
        ("0;url=/next", (0, "/next")),
        ("3 URL = /next", (3, "/next")),
        ("3;\nurl='/a b' rest", (3, "/a b")),
        ('3;"/a"b', (3, "/a")),
        ("3;url=\"/it's", (3, "/it's")),
        ("3; /plain", (3, "/plain")),
        ("3 ;; /two", (3, "; /two")),
        ("3; urk=/x", (3, "urk=/x")),
        ("3; url", (3, "url")),
        ("2.75;/x", (2, "/x")),
        (".5;/x", (0, "/x")),
        ("2..1;/x", (2, "/x")),
        ("3;url=a\tb\nc", (3, "abc")),
    ],
)
def test_refresh_has_a_delay_and_an_optional_target(content, expected):
    assert meta_refresh(content) == expected


@pytest.mark.parametrize(
    "content",
    ["", "  ", "x", ";/x", "-1;/x", "+1;/x", "3x;/x", "3/x", "1e3;/x", "three; /x", "٣;/x"],
)
def test_refresh_must_start_with_a_delay(content):
    assert meta_refresh(content) is None


def test_huge_delay_is_capped():
    delay_s, target = meta_refresh("9" * 5_000 + ";url=/x")

    assert delay_s == 2_147_483_647
    assert target == "/x"


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(content):
    refresh = meta_refresh(content)

    assert refresh is None or refresh[0] >= 0
