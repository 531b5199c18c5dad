"""The resolver gives the same URLs as resolving each reference individually."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins._link_resolver import LinkResolver
from urlspelling import InvalidUrl, normalize

BASES = ["https://shop.test/dir/page", "http://shop.test:8080/", "http://[::1]/x?y=z"]

fronts = st.sampled_from(
    [
        *("http://a.test", "https://a.test:443", "http://a.test:80", "http://a.test:8080"),
        *("http://1.2", "http://0x7f.1", "http://a.test.", "https://a_b.test", "http://.."),
        *("../", "../../", "../../.."),
        *("//a.test", "https://xn--a.test", "https://A.test", "http://a.test:99999"),
    ]
)
paths = st.lists(st.text("aZ0.-_~%;(2é", max_size=4), max_size=4).map("/".join)
hrefs = st.builds(
    lambda front, slash, path, rest: front + slash + path + rest,
    st.just("") | fronts,
    st.sampled_from(["/", "/", "", "//"]),
    paths,
    st.sampled_from(["", "", "/", "#x", " #x", "\x01#x", "\n", " "])
    | st.lists(
        st.sampled_from(
            [
                *("a=2", "b=1", "b", "", "utm_source=x", "sid=1", "/x:y@z,!$*+", "'"),
                *("a=%2F", "%C3%A9=1", "a=%2f", "a=%41", "%61=%", "a=%20b", "a+b=%26"),
            ]
        ),
        max_size=4,
    ).map(lambda parameters: "?" + "&".join(parameters)),
)


def normalize_or_none(href: str, base: str) -> str | None:
    try:
        return normalize(href.strip(" \t\n\f\r"), base)
    except InvalidUrl:
        return None


@given(st.sampled_from(BASES), st.lists(hrefs, max_size=12))
def test_result_does_not_depend_on_earlier_references(base, references):
    resolver = LinkResolver(base)

    assert [resolver.resolve(href) for href in references] == [
        normalize_or_none(href, base) for href in references
    ]


@pytest.mark.parametrize("base", BASES)
def test_absolute_paths_are_resolved_through_the_cache(base):
    resolver = LinkResolver(base)
    references = ["/", "/a", "/a/b.html", "/a/", "/.", "/a/../b", "/a//b", "//c.test/d", "/ä"]

    assert [resolver.resolve(href) for href in references] == [
        normalize_or_none(href, base) for href in references
    ]


def test_relative_references_are_resolved_through_the_cache():
    resolver = LinkResolver("https://docs.test/3/library/os.html?old=1")
    references = [
        "re.html",
        "re.html#match",
        "io.html",
        "../a",
        "../../b",
        "../../../c/d",
        "",
        "#x",
    ]

    assert [resolver.resolve(href) for href in references] == [
        "https://docs.test/3/library/re.html",
        "https://docs.test/3/library/re.html",
        "https://docs.test/3/library/io.html",
        "https://docs.test/3/a",
        "https://docs.test/b",
        "https://docs.test/c/d",
        "https://docs.test/3/library/os.html?old=1",
        "https://docs.test/3/library/os.html?old=1",
    ]


def test_base_element_applies_to_absolute_paths():
    resolver = LinkResolver("https://shop.test/", "http://other.test/dir/")

    assert resolver.resolve("/a") == "http://other.test/a"
    assert resolver.resolve("/b") == "http://other.test/b"
