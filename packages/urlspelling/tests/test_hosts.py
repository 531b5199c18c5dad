"""Hosts with and without ports, in every spelling that settings and headers use."""

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
def test_a_port_is_digits_behind_a_host_or_a_bracket(text, parts):
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
def test_the_longest_name_that_is_the_host_or_a_parent_of_it_matches(host, names, match):
    assert longest_match(host, names) == match
    assert match is None or match in list(and_parents(host))


def test_a_host_and_its_parents_come_from_the_longest_on():
    assert list(and_parents("a.b.c")) == ["a.b.c", "b.c", "c"]
