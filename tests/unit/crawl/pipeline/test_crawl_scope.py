"""Scopes of crawls: which URLs they accept, and the deciding rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.crawl_scope import (
    MAX_RULES,
    NO_PATTERN,
    NO_RULE,
    NO_SITE_RULE,
    SAME_DOMAIN,
    Scope,
)
from aragog.errors import BadInput

PAGE = "http://www.a.example/docs/"


@pytest.mark.parametrize(
    ("rules", "url", "page_url", "verdict"),
    [
        ((), "http://anything.example/", None, (True, NO_RULE)),
        ((), "http://b.a.example/", PAGE, (True, SAME_DOMAIN)),
        ((), "http://other.example.org/", PAGE, (False, SAME_DOMAIN)),
        (("host:b.example",), "http://b.example:81/x", PAGE, (True, "host:b.example")),
        (("host:b.example",), "http://c.b.example/", PAGE, (False, NO_SITE_RULE)),
        (("domain:b.example",), "http://c.b.example/", PAGE, (True, "domain:b.example")),
        (("domain:b.example",), "http://cb.example/", PAGE, (False, NO_SITE_RULE)),
        (("domain:B.example", "host:x.org"), "http://x.org/", PAGE, (True, "host:x.org")),
        (("prefix:http://b.example/d/",), "http://b.example/d/e", PAGE, (True, "prefix:http://b.example/d/")),
        (("prefix:http://b.example/d/",), "http://b.example/de", PAGE, (False, NO_SITE_RULE)),
        (("pattern:*/docs/*",), "http://a.example/docs/x", PAGE, (True, "pattern:*/docs/*")),
        (("pattern:*/docs/*",), "http://b.org/docs/x", PAGE, (False, SAME_DOMAIN)),
        (("pattern:*/docs/*",), "http://b.org/docs/x", None, (True, "pattern:*/docs/*")),
        (("host:b.org", "pattern:*/docs/*"), "http://b.org/x", PAGE, (False, NO_PATTERN)),
        (("host:b.org", "-pattern:*print*"), "http://b.org/print", PAGE, (False, "-pattern:*print*")),
        (("-host:b.org", "host:b.org"), "http://b.org/", None, (False, "-host:b.org")),
    ],
)  # fmt: skip
def test_deciding_rule_is_named(rules, url, page_url, verdict):
    assert Scope.from_rules(rules).decide(url, page_url=page_url) == verdict


@pytest.mark.parametrize(
    "rule",
    ["", "b.example", "hosts:b.example", "host:", "-", "host:a b", "prefix:docs/", "pattern:a\nb",
     "host:http://a/", "domain:https://a.example", "host:a.example/docs", "-host:u@a.example", "host:a.example:80"],
)  # fmt: skip
def test_invalid_rule_is_refused(rule):
    with pytest.raises(BadInput, match="scope"):
        Scope.from_rules((rule,))


def test_number_of_rules_is_limited():
    with pytest.raises(BadInput, match="at most"):
        Scope.from_rules([f"host:h{n}.example" for n in range(MAX_RULES + 1)])


@given(st.lists(st.text(max_size=20), max_size=3), st.text(max_size=30))
def test_rules_and_urls_raise_nothing_but_bad_input(rules, text):
    try:
        scope = Scope.from_rules(rules)
    except BadInput:
        return
    verdict = scope.decide(f"http://a.example/{text.encode().hex()}", page_url=PAGE)
    assert verdict.rule in (*scope.rules, NO_RULE, NO_SITE_RULE, NO_PATTERN, SAME_DOMAIN)


@pytest.mark.parametrize(
    ("rules", "content_type", "language", "expected"),
    [
        ([], "text/html", "de", (True, "no rule")),
        (["type:text/html"], "text/html; charset=utf-8", None, (True, "type:text/html")),
        (["type:text/html"], "Application/PDF", None, (False, "type application/pdf")),
        (["type:text/*", "type:application/json"], "text/plain", None, (True, "type:text/*")),
        (["-type:application/pdf"], "application/pdf", "en", (False, "-type:application/pdf")),
        (["language:en"], "text/html", "en-US", (True, "language:en")),
        (["language:EN"], "text/html", "de", (False, "language de")),
        (["language:en"], "text/html", "eng", (False, "language eng")),
        (["-language:de"], "text/html", "de_AT", (False, "-language:de")),
        (["-language:de"], "text/html", "en", (True, "no rule")),
        (["language:en", "type:text/html"], None, None, (True, "no rule")),
        (["language:en", "type:text/html"], "text/html", "de", (False, "language de")),
        (["host:a.example"], "text/html", "de", (True, "no rule")),
    ],
)
def test_page_is_judged_by_its_content_type_and_language(rules, content_type, language, expected):
    assert Scope.from_rules(rules).decide_page(content_type, language) == expected


def test_page_rules_do_not_apply_to_urls():
    scope = Scope.from_rules(["type:text/html", "-language:de"])

    assert scope.decide("http://a.example/") == (True, "no rule")
    assert scope.has_page_rules
    assert not Scope.from_rules(["host:a.example"]).has_page_rules


@pytest.mark.parametrize(
    "rule", ["type:html", "type:*/*", "language:english!", "language:", "-type:"]
)
def test_invalid_content_type_or_language_is_refused(rule):
    with pytest.raises(BadInput, match="scope"):
        Scope.from_rules([rule])


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (["host:a.example"], "no rule for domains, hosts or prefixes matches"),
        (["pattern:*/archive/*"], "no rule for patterns matches"),
        (["domain:b.example", "pattern:*/archive/*"], "no rule for patterns matches"),
    ],
)
def test_verdict_names_the_missing_kind_of_rule(rules, missing):
    assert Scope.from_rules(rules).decide("http://b.example/1") == (False, missing)
