"""What the pages' documentation says is so."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from aragog.pages.richpins import FIELDS_VERSION, model
from aragog.pages.richpins.assemble import _KINDS
from aragog.pages.richpins.fields import _PAGE_FIELDS
from aragog.pages.richpins.model import RichPin

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ["extraction.md", "fields.md"])
def test_examples_print_what_they_say(name):
    found = doctest.testfile(str(DOCS / name), module_relative=False)

    assert found.attempted > 0
    assert found.failed == 0


def test_every_stored_field_is_in_the_table():
    text = (DOCS / "fields.md").read_text()
    types = {kind.name: RichPin.__annotations__[kind.name].split()[0] for kind in _KINDS}
    names = {name.rpartition(".")[2] for name in _named(text)}

    for kind, cls in types.items():
        for each in fields(getattr(model, cls)):
            assert each.name in names, f"{kind}.{each.name}"
    assert names >= set(_PAGE_FIELDS)
    assert f"Format version: {FIELDS_VERSION} " in text


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("page.type", model.PinType),
        ("product.availability", model.Availability),
        ("product.condition", model.Condition),
    ],
)
def test_the_values_of_a_field_are_those_of_the_code(field, values):
    text = (DOCS / "fields.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {field} |")]

    assert set(re.findall(r"\w+", row.split("|")[2])) - {"or"} == set(get_args(values))


def _named(text: str) -> list[str]:
    """The names in the first column of the table."""
    rows = (line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    return [name.strip() for row in rows for name in row.split(",")]
