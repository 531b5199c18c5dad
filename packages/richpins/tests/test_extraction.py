"""Whole pages with expected results, in html/."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from richpins.extraction import extract
from richpins.rich_pins import to_fields

PAGES = sorted((Path(__file__).parent / "html").glob("*.html"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_gives_the_expected_fields(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    pin = extract(path.read_bytes(), expected.pop("url"), "text/html; charset=utf-8")

    fields = {name: json.loads(value) for name, value in to_fields(pin)[0].items()}

    assert {name: fields.get(name) for name in expected} == expected
