"""Dictionaries of RFC 9651, valid and invalid."""

import pytest

from aragog.pages.structured_fields import FieldToken, parse_dictionary, string_text


def values(text):
    return {key: member.value for key, member in parse_dictionary(text).items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ('en="Applepie", da=:w4ZibGV0w6ZydGU=:', {"en": "Applepie", "da": ":w4ZibGV0w6ZydGU=:"}),
        ("a=?0, b, c; foo=bar", {"a": False, "b": True, "c": True}),
        ("a=1, b=-4.5 ,c=tok/en", {"a": 1, "b": -4.5, "c": FieldToken("tok/en")}),
        ("a=1,\t a=2", {"a": 2}),
        ('a="x \\"y\\" \\\\"', {"a": 'x "y" \\'}),
        ("a=@1659578233", {"a": "@1659578233"}),
        ('a=%"f%c3%bc"', {"a": '%"f%c3%bc"'}),
        ("*k=*", {"*k": "*"}),
    ],
)
def test_valid_dictionary_is_parsed(text, expected):
    assert values(text) == expected


def test_inner_lists_and_parameters_keep_their_text():
    member = parse_dictionary('sig=("@authority" "x";key="a");created=5;tag="t"')["sig"]

    assert [item.value for item in member.value] == ["@authority", "x"]
    assert member.value[1].parameters == {"key": "a"}
    assert member.parameters == {"created": 5, "tag": "t"}
    assert member.text == '("@authority" "x";key="a");created=5;tag="t"'


@pytest.mark.parametrize(
    "text",
    [
        "A=1", "a=", "a=1,", "a=1;", "a =1", "a=1 b=2", 'a="x', "a=(1 2", "a=(1,2)", "a=?2",
        "a=:x", "a=1.2345", "a=1234567890123456", "a=\u00fc", 'a="\u00fc"', "=1", ",",
    ],
)  # fmt: skip
def test_invalid_dictionary_is_an_error(text):
    with pytest.raises(ValueError, match="character"):
        parse_dictionary(text)


@pytest.mark.parametrize("text", ["", "a b", 'x "y" \\'])
def test_string_round_trips(text):
    assert values(f"a={string_text(text)}") == {"a": text}


@pytest.mark.parametrize("text", ["ä", "a\nb", "\x7f"])
def test_string_is_limited_to_printable_ascii(text):
    with pytest.raises(ValueError, match="not printable ASCII"):
        string_text(text)
