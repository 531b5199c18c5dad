"""Field values as JSON and in columns, with their exact bytes."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.field_formats import FieldFormats, parse
from richpins.field_types import NUMBER, FieldType, extracted_types

TYPES = TypedFields(
    FieldFormats(
        {"team.count": "integer", "team.weight": "decimal", "team.raw": "bytes", "own.*": "json"}
    ),
    {"site.height": NUMBER},
)
NAMES = st.sampled_from(
    [
        "team.count", "team.weight", "team.raw", "team.note", "own.x", "site.height", "page.title",
        "product.price", "product.rating", "product.price_valid_until", "page.images",
        "page.app_links", "article.is_free", "recipe.total_minutes", "page.keywords",
    ]
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MEMBERS = st.sampled_from(["value", "count", "url", "width", "x"])
DIGITS = st.sampled_from(["0", "-0", "19.90", "4.5", "1e3", "007", "1" * 30, "1" * 500, "-2.0"])


def json_values(integers):
    return st.recursive(
        st.none() | st.booleans() | integers | st.floats(allow_nan=False) | TEXTS | DIGITS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=3),
        max_leaves=5,
    )


VALUES = (
    st.binary(max_size=12)
    | DIGITS.map(str.encode)
    | json_values(st.integers(-(2**63), 2**64 - 1)).map(orjson.dumps)
    | json_values(st.integers()).map(lambda value: json.dumps(value).encode())
    | st.sampled_from(
        [b'"2026-01-31"', b'"\\ud800"', b"NaN", b'{"value":"4.5","count":10}', b"[" * 2000]
    )
)


@given(NAMES, VALUES)
@example("product.price", b'"19.90"')
@example("team.weight", b"1e999")
def test_json_value_keeps_its_bytes_or_is_marked_inexact(name, value):
    try:
        shown, exact = TYPES.to_json(name, value)
    except ValueError:
        return
    line = orjson.dumps(shown)

    assert b"\n" not in line
    assert json.loads(line) is not NotImplemented  # orjson reads no number like 1e999
    if exact:
        assert TYPES.from_json(name, parse(line)) == value


@given(NAMES, VALUES)
def test_column_value_keeps_its_bytes_or_is_marked_inexact(name, value):
    try:
        cell, exact = TYPES.to_column(name, value)
    except ValueError:
        return

    assert (TYPES.from_column(name, cell) == value) or not exact


@pytest.mark.parametrize(
    ("name", "value", "shown", "cell"),
    [
        ("product.price", b'"19.90"', b"19.90", 19.9),
        ("product.price", b'"ask"', b'"ask"', None),
        ("product.rating", b'{"count":7,"value":"4.5"}', b'{"count":7,"value":4.5}', {"count": 7, "value": 4.5}),
        ("product.price_valid_until", b'"2026-01-31"', b'"2026-01-31"', dt.date(2026, 1, 31)),
        ("page.title", b'"1984"', b'"1984"', "1984"),
        ("page.app_links", b'{"ios":"x"}', b'{"ios":"x"}', [("ios", "x")]),
        ("recipe.total_minutes", b"70", b"70", 70),
        ("article.is_free", b"true", b"true", True),
        ("site.height", b"7", b"7", 7.0),
        ("own.x", b'{"a":[1]}', b'{"a":[1]}', '{"a":[1]}'),
        ("team.count", b"7", b"7", 7),
        ("team.weight", b"1.50", b"1.50", 1.5),
        ("team.note", b"7", b'"7"', "7"),
    ],
)  # fmt: skip
def test_each_type_has_its_json_and_its_column(name, value, shown, cell):
    assert orjson.dumps(TYPES.to_json(name, value)[0]) == shown
    if cell is None:
        with pytest.raises(ValueError, match="does not match the type decimal"):
            TYPES.to_column(name, value)
    else:
        assert TYPES.to_column(name, value)[0] == cell


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("product.price", Decimal("19.90"), b'"19.90"'),
        ("product.price", 20, b'"20"'),
        ("product.price", "19.90", b'"19.90"'),
        ("page.title", "A lamp", b'"A lamp"'),
        ("recipe.total_minutes", 70.0, b"70"),
        ("team.count", 7.0, b"7"),
        ("team.note", 9.5, b"9.5"),
        ("own.x", '{"a": 1}', b'{"a": 1}'),
        ("page.published_at", dt.datetime(2026, 1, 31, 10, tzinfo=dt.UTC), b'"2026-01-31T10:00:00+00:00"'),
    ],
)  # fmt: skip
def test_columns_of_other_programs_become_fields(name, value, stored):
    assert TYPES.from_column(name, value) == stored


def test_nan_is_not_stored_as_a_number():
    with pytest.raises(ValueError, match="not a finite number"):
        TYPES.from_column("product.price", float("nan"))


def test_every_extracted_field_has_a_type():
    assert {each.kind for each in extracted_types().values()} == {
        "text", "integer", "decimal", "boolean", "date", "list", "map", "record",
    }  # fmt: skip
    assert extracted_types()["recipe.yields"].members["text"] == FieldType("text")
