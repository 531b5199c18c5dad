"""The crawls for which a page is kept."""

import pytest

from aragog.urlstore.kept_for import (
    crawl_name,
    crawls_of,
    kept_for_fact,
    other_permitted_crawls,
    purposes_of,
)


@pytest.mark.parametrize(
    ("purposes", "name"),
    [(None, "usual"), ("", "any"), ("search", "search"), ("search ai-input", "ai-input+search")],
)
def test_crawl_is_named_by_its_purposes(purposes, name):
    assert crawl_name(purposes) == name
    assert crawl_name(purposes_of(name)) == name


@pytest.mark.parametrize(
    ("facts", "crawls"),
    [
        ({}, set()),
        ({"fetched_at_ms": 1}, {"usual"}),
        ({"fetched_at_ms": 1, "kept_for": "ai-train usual"}, {"ai-train", "usual"}),
    ],
)
def test_page_without_the_fact_is_kept_for_the_usual_crawl(facts, crawls):
    assert crawls_of(facts) == crawls


def test_usual_crawl_alone_needs_no_fact():
    assert kept_for_fact({"usual"}) is None
    assert kept_for_fact(()) is None
    assert kept_for_fact({"usual", "search"}) == "search usual"


def test_page_is_kept_for_the_crawls_that_may_use_it():
    before = {"fetched_at_ms": 1, "kept_for": "ai-input+search ai-train any search usual"}
    preferences = {"page_preferences": "ai-input=n (x)", "robots_preferences": "search=n (y)"}

    assert other_permitted_crawls(before, preferences, "usual") == {"ai-train", "any"}
    assert other_permitted_crawls(before, {}, "search") == {
        "ai-input+search",
        "ai-train",
        "any",
        "usual",
    }
