"""Hosts with and without ports, in every spelling found in settings and headers."""

import pytest

from urlspelling.hosts import and_parents, longest_match, split_port


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("example.com", ("example.com", "")),
        ("example.com:8080", ("example.com", "8080")),
        ("example.com:", ("example.com", "")),
        ("127.0.0.1:80", ("127.0.0.1", "80")),
        ("[::1]", ("[::1]", "")),
        ("[::1]:80", ("[::1]", "80")),
        ("::1", ("::1", "")),
        ("2001:db8::1", ("2001:db8::1", "")),
        ("host:name", ("host:name", "")),
        ("host:٣", ("host:٣", "")),
        ("", ("", "")),
    ],
)
def test_port_is_the_digits_after_a_host_or_bracket(text, parts):
    assert split_port(text) == parts


@pytest.mark.parametrize(
    ("host", "names", "match"),
    [
        ("a.b.c", {"c", "b.c"}, "b.c"),
        ("a.b.c", {"a.b.c", "b.c"}, "a.b.c"),
        ("xb.c", {"b.c"}, None),
        ("c", {"b.c"}, None),
        ("[::1]", {"[::1]"}, "[::1]"),
        ("", {""}, None),
    ],
)
def test_longest_name_that_is_the_host_or_its_parent_matches(host, names, match):
    assert longest_match(host, names) == match
    assert match is None or match in list(and_parents(host))


def test_host_comes_before_its_parents():
    assert list(and_parents("a.b.c")) == ["a.b.c", "b.c", "c"]
