"""Which URLs a crawl follows."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.url_filter import UrlFilter, matches
from aragog.errors import BadInput


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_pattern_matches_as_in_a_shell(pattern, url):
    assert matches(pattern, url) == fnmatch.fnmatchcase(url, pattern)


def test_exclude_overrides_include():
    crawl = UrlFilter(include=("http://a.test/docs/*",), exclude=("*.pdf", "*/old/*"))

    assert crawl.accepts("http://a.test/docs/page")
    assert not crawl.accepts("http://a.test/docs/page.pdf")
    assert not crawl.accepts("http://a.test/docs/old/page")
    assert not crawl.accepts("http://a.test/blog")
    assert UrlFilter().accepts("http://a.test/blog")


@pytest.mark.parametrize("crawl", [UrlFilter(), UrlFilter(("*a*",), ("*b", "c*"))])
def test_filter_round_trips_through_a_message(crawl):
    assert UrlFilter.read(crawl.wire()) == crawl


@pytest.mark.parametrize("patterns", [("",), ("a\nb",), ("x" * 501,), ("a",) * 51])
def test_invalid_pattern_is_refused(patterns):
    with pytest.raises(BadInput):
        UrlFilter(include=patterns)


def test_pattern_with_many_stars_is_matched_quickly():
    assert not matches("*a" * 200, "b" * 60_000)
