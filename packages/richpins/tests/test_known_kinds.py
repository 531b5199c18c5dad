"""Common faults from reports and real pages, reproduced on pages written for these tests.

`known_kinds.toml` has about ten pages for each kind of fault: numbers of products, categories,
brands, authors, dates of other articles, pictures, yields, microformats, several lists, and lines
that are not entries.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest
from pins import pin

from richpins.rich_pins import to_fields

_FILE = Path(__file__).with_name("known_kinds.toml")
_CASES: list[dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["case"]
_NUMBERS = ("price", "quantity", "quantity_min", "value")


def _fields_of(case: dict[str, Any]) -> dict[str, Any]:
    """The fields of a page by name, and the members of structured fields."""
    written, _ = to_fields(pin(case["html"], case.get("url", "https://www.example.com/page")))
    fields = {name: orjson.loads(value) for name, value in written.items()}
    members = {
        f"{name}.{key}": part
        for name, value in fields.items()
        if isinstance(value, dict)
        for key, part in value.items()
    }
    return {**fields, **members}


def _comparable(name: str, found: Any, right: Any) -> Any:
    if found is not None and name.rpartition(".")[2] in _NUMBERS:
        return str(Decimal(found).normalize())
    if isinstance(found, dict):
        return found["url"]
    return str(found)[: len(right)] if name.endswith("_at") else found


@pytest.mark.parametrize(
    "case", _CASES, ids=[f"{case['kind']}-{n}" for n, case in enumerate(_CASES)]
)
def test_page_of_a_known_kind_gives_the_right_facts(case):
    fields = _fields_of(case)
    right = case.get("right", {})
    found = {name: _comparable(name, fields.get(name), value) for name, value in right.items()}
    expected = {name: _comparable(name, value, value) for name, value in right.items()}

    assert found == expected
    assert not {name: fields[name] for name in case.get("absent", ()) if fields.get(name)}
