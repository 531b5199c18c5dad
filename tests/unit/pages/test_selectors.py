"""Rules for the fields of single sites: CSS, XPath, hosts, and invalid rules."""

import pytest

from aragog.crawl.stages.page_analysis import read_page
from aragog.errors import ConfigError
from aragog.pages import selectors
from aragog.pages.extractors import ExtractorPage, load_all
from aragog.pages.selectors import SelectedPage, SiteRules, normalize_rules_host, rule_types
from richpins.document import parse
from tests.support.byte_streams import html_result

URL = "https://www.books.example/catalogue/1"
PAGE = b"""<html><head><title>A book</title></head><body><h1> A   book </h1>
<p class="price_color">\xc2\xa351.77</p><p class="empty"> </p>
<a class="cover" href="../img/1.jpg"><img src="/thumb.jpg" alt="The cover"></a>
<ul><li class="tag">poetry</li><li class="tag">leeks</li><li class="tag"></li></ul></body></html>"""


def value(rule, body=PAGE):
    return selectors.parse(rule).value(SelectedPage(parse(body, url=URL)))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("css:h1", "A book"),
        ("css:.price_color::text", "£51.77"),
        ("css: .price_color ::text", "£51.77"),
        ("css:.cover img::attr(alt)", "The cover"),
        ("css:.cover::link", "https://www.books.example/img/1.jpg"),
        ("css:.cover img::link", "https://www.books.example/thumb.jpg"),
        ("css:.empty", None),
        ("css:.none", None),
        ("css:h1::attr(id)", None),
        ("css-all:.tag", ["poetry", "leeks"]),
        ("css-all:.none", None),
        ("xpath://p[@class='price_color']/text()", "£51.77"),
        ("xpath://a/@href", "../img/1.jpg"),
        ("xpath://h1", "A book"),
        ("xpath:count(//li)", 3),
        ("xpath:boolean(//h1)", True),
        ("xpath:number('x')", None),
        ("xpath:string(//li[2])", "leeks"),
        ("xpath-all://li/text()", ["poetry", "leeks"]),
        ("xpath://nothing", None),
    ],
)
def test_rule_finds_its_value(rule, expected):
    assert value(rule) == expected


@pytest.mark.parametrize("body", [b"", b"<", b"\0", b"plain text", b"<?xml version='1.0'?><a/>"])
def test_rule_finds_nothing_in_a_page_without_markup(body):
    assert value("css:h1", body) is None
    assert value("xpath://h1", body) is None


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("h1", "must begin with css:"),
        ("css:", "must begin with css:"),
        ("css:h1::first", "must be ::text, ::link or ::attr"),
        ("css:h1[", "is not a CSS selector"),
        ("xpath://h1[", "is not an XPath expression"),
    ],
)
def test_invalid_rule_is_refused_with_the_reason(rule, problem):
    with pytest.raises(ValueError, match=problem):
        selectors.parse(rule)


def test_all_mistakes_of_the_settings_are_reported_together():
    rules = {"a.example": {"Price": "css:h1", "name": "h1"}, "no host": {"x": "css:h1"}}

    with pytest.raises(ConfigError) as error:
        SiteRules(rules)

    text = str(error.value)
    assert "extract: a.example: 'Price'" in text
    assert "extract: a.example: name: must begin" in text
    assert "extract: 'no host': is not a host name" in text


@pytest.mark.parametrize(
    "name", ["http://lamps.test", "lamps.test/p", "lamps..test", "", ".", "a b", "u@lamps.test"]
)
def test_url_instead_of_a_host_is_refused(name):
    """Regression: its rules were assigned to a host named http, and never applied."""
    with pytest.raises(ConfigError, match="is not a host name"):
        SiteRules({name: {"price": "css:.price"}})


@pytest.mark.parametrize(
    "name", ["lamps.test", "*.lamps.test", "lamps.test:8080", "[::1]:80", "Bücher.test"]
)
def test_host_may_have_a_port(name):
    assert normalize_rules_host(name, problems := []) != ""
    assert problems == []


def test_rules_apply_to_subdomains_and_the_longest_name_wins():
    rules = SiteRules(
        {
            "books.example": {"name": "css:h1", "kind": "css:title"},
            "www.books.example": {"name": "css:.price_color"},
        }
    )

    assert rules.values(parse(PAGE, url=URL)) == {"name": "£51.77", "kind": "A book"}
    assert rules.values(parse(PAGE, url="https://m.books.example/"))["name"] == "A book"
    assert rules.values(parse(PAGE, url="https://ebooks.example/")) is None


def test_values_of_rules_become_fields_of_the_page():
    rules = {"books.example": {"price": "css:.price_color", "none": "css:.none"}}

    analysis = read_page(
        html_result(URL), PAGE, agent="aragog", max_links=9, extractors=load_all((), rules)
    )

    assert analysis.fields["site.price"] == '"£51.77"'.encode()
    assert "site.none" not in analysis.fields
    assert analysis.provenance["site.price"] == "extractor site"


def test_function_of_a_file_can_be_an_extractor(tmp_path):
    file = tmp_path / "my fields.py"
    file.write_text(
        "def books(page):\n"
        "    price = page.css('.price_color').strip('£')\n"
        "    return {'price': float(price), 'tags': page.css_all('.tag'), 'h1': page.xpath('//h1'),\n"
        "            'at': page.url}\n"
    )

    analysis = read_page(
        html_result(URL), PAGE, agent="aragog", max_links=9,
        extractors=load_all((f"{file}:books",), {}),
    )  # fmt: skip

    assert analysis.fields["books.price"] == b"51.77"
    assert analysis.fields["books.tags"] == b'["poetry","leeks"]'
    assert analysis.fields["books.h1"] == b'"A book"'
    assert analysis.fields["books.at"] == f'"{URL}"'.encode()
    assert analysis.problems == ()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere.py:books", "cannot be loaded: .*No such file"),
        ("{file}:other", "cannot be loaded: .*no attribute 'other'"),
        ("{file}:Books", "is not a valid name"),
    ],
)
def test_file_without_such_a_function_is_named(tmp_path, name, problem):
    file = tmp_path / "fields.py"
    file.write_text("def books(page):\n    return None\n")

    with pytest.raises(ConfigError, match=problem):
        load_all((name.format(file=file),), {})


def test_extractor_page_uses_the_syntax_of_rules():
    page = ExtractorPage(parse(PAGE, url=URL), None)

    assert page.css(".cover::link") == "https://www.books.example/img/1.jpg"
    assert page.css_all(".none") == []
    with pytest.raises(ValueError, match="is not a CSS selector"):
        page.css("h1[")


def test_type_of_a_rule_is_known_without_a_page():
    rules = {
        "a.example": {
            "title": "css:h1", "tags": "css-all:.tag", "count": "xpath:count(//li)",
            "new": "xpath:boolean(//b)", "first": "xpath://h1", "name": "xpath:string(//h1)",
            "odd": "xpath:$unknown", "mixed": "css:h1",
        },
        "b.example": {"mixed": "xpath:count(//li)", "title": "css:h2"},
    }  # fmt: skip

    types = rule_types(rules)

    assert {name: each.kind for name, each in types.items()} == {
        "site.title": "text", "site.tags": "list", "site.count": "number", "site.new": "boolean",
        "site.first": "text", "site.name": "text", "site.odd": "any", "site.mixed": "any",
    }  # fmt: skip
