"""No regular expression over untrusted input takes superlinear time.

The inventory finds all patterns, so that a new one cannot be missed. Three remedies are allowed:
possessive or atomic groups, bounded repeats, and input of limited length (listed here with the
limit).
"""

import re

import pytest

from aragog.pages import sitemaps
from richpins import _plain_text as plain_text
from richpins import canonical_evidence
from richpins.extraction import extract
from richpins.structured_data import lenient_json
from tests.support.regex_attacks import CHARS, attacks, grows_too_fast
from tests.support.regex_inventory import PACKAGES, inventory, unreadable_calls

CUT = {
    "richpins.article.opening:_CLOCK": 100,
    "richpins.article.opening:_SENTENCE": 100,
    "richpins.visible_text.captions:_CAPTION_BEFORE": 60,
    "richpins.structured_data.lenient_json:_CLOSING_WRAPPERS": 200,
}
"""Patterns with input limited to this number of characters."""
MADE_FROM_OUR_WORDS = {
    "aragog.crawl.stages.enqueue",  # the pattern of an option in the table of operations
    "richpins.items._values",  # the pattern of a rule, written by an operator; page limits apply
    "richpins.page_facts.site_names",  # the letters of the host name, at most 40, with bounded gaps
    "richpins.values.prices",  # the digits of a price, with at most 40 characters before them
    "richpins.values.yields",  # a constant word
    "urlspelling._query",  # the rules of query.json, compiled in the inventory
}


@pytest.mark.parametrize("package", PACKAGES)
def test_patterns_of_a_package_take_linear_time(package):
    # One test per package: finding all patterns takes a second in every process that collects.
    uses = [use for use in inventory() if re.match(rf"{package}[.:]", use.where)]
    too_slow = [
        f"{use.where}.{method}({attack[:60]!r} … {attack[-3:]!r})"
        for use in uses
        for method in hardest(use.methods)
        for attack in attacks(use.pattern, CUT.get(use.where, CHARS))
        if grows_too_fast(call(use.pattern, method), attack)
    ]

    assert uses
    assert too_slow == []


def test_every_pattern_is_visible_to_the_inventory():
    assert {where.partition(":")[0] for where in unreadable_calls()} <= MADE_FROM_OUR_WORDS


def test_possessive_group_ends_with_an_empty_alternative():
    # Otherwise Python before 3.11.5, such as Debian 12's, continues after the start of a repeat
    # that fails: `<!--(?:-(?!->)|[^-]++)*+` also consumes the dash of `-->`.
    wrong = [str(use) for use in inventory() if has_open_group(parse(use.pattern))]

    assert wrong == []


def test_possessive_group_without_an_empty_alternative_is_detected():
    assert has_open_group(parse(re.compile(r"a(b(?:cd|[ef]g)*+)")))
    assert not has_open_group(parse(re.compile(r"a(b(?:cd|[ef]g|)*+)[xy]*+")))


def parse(pattern):
    return re._parser.parse(pattern.pattern, pattern.flags)


def has_open_group(tree):
    """Whether a possessive repeat of more than one character can end in the middle of one."""
    if isinstance(tree, re._parser.SubPattern):
        return any(has_open_group(node) for node in tree)
    if not isinstance(tree, (tuple, list)):
        return False
    if tree and str(tree[0]) == "POSSESSIVE_REPEAT":
        body = list(tree[1][2])
        alone = len(body) == 1 and str(body[0][0]) in CHARACTERS
        branches = body[0][1][1] if str(body[0][0]) == "BRANCH" else [body]
        if not alone and list(branches[-1]):
            return True
    return any(has_open_group(part) for part in tree)


CHARACTERS = {"IN", "LITERAL", "NOT_LITERAL", "ANY", "CATEGORY"}


@pytest.mark.parametrize(
    "pattern", [r"\s*[|]\s*", r"<!--.*?-->", r"([0-9]+)[0-9.]*;", r"(a+)+b", r"(['\"])(.*?)\1;"]
)
def test_quadratic_pattern_is_detected(pattern):
    act = call(re.compile(pattern, re.DOTALL), "search")
    assert any(grows_too_fast(act, attack) for attack in attacks(re.compile(pattern, re.DOTALL)))


READERS = {
    "meta refresh": (canonical_evidence.meta_refresh, "0", ""),
    "JSON of blanks": (lambda t: json_of("{" + t + "x"), " ", ""),
    "JSON of quotes": (lambda t: json_of("{" + t), '" ', ""),
    "JSON of open strings": (lambda t: json_of("[" + t), '"\\', ""),
    "JSON of ends": (lambda t: json_of("[]" + t), "--> ", "x"),
    "comments in text": (plain_text.clean, "<!--", ""),
    "comments in lines": (plain_text.lines, "<!--a", ""),
    "tags in text": (plain_text.clean, "<a", ""),
    "CDATA in a sitemap": (
        lambda t: sitemaps.parse(t.encode(), "https://a.test/"),
        "<![CDATA[",
        "",
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_parser_takes_linear_time(name):
    read, unit, end = READERS[name]
    assert not grows_too_fast(read, unit * (80_000 // len(unit)) + end)


def hardest(methods):
    """The methods that do all the work of the others.

    `match` is the first step of `search`, and `search` that of all methods that continue to the
    end.
    """
    scanning = [each for each in methods if each not in {"match", "search", "fullmatch"}]
    anywhere = scanning[:1] or [each for each in ("search", "match") if each in methods][:1]
    return [*anywhere, *({"fullmatch"} & set(methods))]


def test_hardest_methods_include_the_work_of_all_others():
    assert hardest(("findall", "finditer", "match", "search", "sub")) == ["findall"]
    assert hardest(("fullmatch", "match", "search")) == ["search", "fullmatch"]
    assert hardest(("match",)) == ["match"]


def json_of(text):
    try:
        return lenient_json.loads(text)
    except lenient_json.UnreadableJson:
        return None


def call(pattern, method):
    """`method` of the pattern as a function of its input, run to its end."""
    if method in ("sub", "subn"):
        empty = "" if isinstance(pattern.pattern, str) else b""
        return lambda text: getattr(pattern, method)(empty, text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, method)


KETTLE = """<script type="application/ld+json">{"@type": "Product", "name": "Kettle Blue",
"offers": {"@type": "Offer", "price": "9.50", "priceCurrency": "EUR"}}</script><h1>Kettle Blue</h1>"""


def shop_page(markup):
    return extract(markup.encode(), "https://a.test/x", "text/html; charset=utf-8")


@pytest.mark.parametrize(
    "unit",
    [">ean<b>", ">brand:<br><br>", "in stock ", "<p>brand</p>", "<script>"],
)
def test_hostile_product_page_takes_linear_time(unit):
    page = f"{KETTLE}add to cart{unit * (60_000 // len(unit))}"

    assert not grows_too_fast(shop_page, page)
    assert shop_page(page).type == "product"
