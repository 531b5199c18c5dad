"""Field formats: every value round-trips in every format, and different bytes stay different."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import InvalidField
from aragog.urlstore.field_formats import FieldFormats, parse

FORMATS = FieldFormats(
    {"i": "integer", "d": "decimal", "j": "json", "b": "bytes", "a.*": "integer", "a.b.*": "bytes"}
)


@given(st.sampled_from("idjbt"), st.binary(max_size=50))
def test_any_bytes_survive_conversion_to_json_and_back(name, value):
    shown = orjson.dumps(FORMATS.to_json(name, value))

    if name == "j":
        return  # the value survives, but perhaps not its whitespace: see below
    assert FORMATS.from_json(name, parse(shown)) == value


@pytest.mark.parametrize("text", [b"-0", b"007", b"+1", b"1_000", b"", b" 1", b"1\n"])
def test_text_that_is_not_a_plain_integer_becomes_base64(text):
    assert FORMATS.from_json("i", FORMATS.to_json("i", text)) == text
    assert isinstance(FORMATS.to_json("i", text), dict)


@given(st.sampled_from("idbt"), st.binary(max_size=9), st.binary(max_size=9))
def test_different_bytes_are_shown_differently(name, one, other):
    shown = [orjson.dumps(FORMATS.to_json(name, value)) for value in (one, other)]

    assert (shown[0] == shown[1]) == (one == other)


@given(st.integers())
def test_integer_keeps_its_digits(number):
    shown = orjson.dumps({"v": FORMATS.to_json("i", b"%d" % number)})

    assert json.loads(shown)["v"] == number
    assert FORMATS.to_value("i", b"%d" % number) == number


@pytest.mark.parametrize(
    "text", [b"12345678901234567890123", b'{"a": 1.10,\n "b": [1e40]}', b'"7x"', b"null"]
)
def test_json_is_returned_byte_for_byte(text):
    assert orjson.dumps({"v": FORMATS.to_json("j", text)}) == b'{"v":' + text + b"}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("team.note", "text"), ("page.title", "json"), ("product.price", "json"), ("pages", "text"),
        ("i", "integer"), ("i.x", "text"), ("a.x", "integer"), ("a.b.c.d", "bytes"), ("", "text"),
    ],
)  # fmt: skip
def test_longest_declared_prefix_wins(name, expected):
    assert FORMATS.of(name) == expected


def test_declaration_overrides_the_extractors():
    assert FieldFormats({"page.title": "text"}).of("page.title") == "text"


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": {1, 2}}])
def test_value_that_is_not_json_is_refused(value):
    with pytest.raises(InvalidField, match="json"):
        FORMATS.from_json("j", value)


@pytest.mark.parametrize(
    "text",
    [
        b"1.10", b"1e5", b"1E400", b"-0.0", b"1e99999999999999999999999", b"1.0000000000000000001",
        b'{"a":[1.10,{}],"\xc3\xbc":[]}', b"123456789012345678901234567890", b'"\xc3\xbc"',
    ],
)  # fmt: skip
def test_json_is_stored_with_the_digits_sent(text):
    assert FORMATS.from_json("j", parse(text)) == text


def test_json_of_any_depth_is_stored_or_refused():
    for depth in (100, 900, 960, 990, 5000):
        try:
            value = parse(b"[" * depth + b"1.0" + b"]" * depth)
            assert FORMATS.from_json("j", value) == b"[" * depth + b"1.0" + b"]" * depth
        except (ValueError, InvalidField):
            assert depth > 500


@pytest.mark.parametrize("name", ["i", "b", "t"])
def test_fraction_is_only_accepted_by_json_and_decimal(name):
    with pytest.raises(InvalidField):
        FORMATS.from_json(name, parse(b"1.10"))
    assert FORMATS.from_json("d", parse(b"1.10")) == b"1.10"
