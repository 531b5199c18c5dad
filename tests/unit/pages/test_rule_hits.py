"""The matches of each rule on a page, and the page with its matches in color."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from aragog.pages.extractors import ExtractorPage
from aragog.pages.items import load_kinds
from aragog.pages.rule_hits import colored_page, find_hits
from aragog.pages.selectors import SiteRules
from richpins import extraction
from richpins.document import parse

URL = "http://shop.test/c/lamps"
CARDS = "".join(
    f'<div class=card><h2 style="color: red">Lamp {n}</h2><b class=price>{price}</b></div>'
    for n, price in enumerate(("1.50", "", "3.50"))
)
BODY = f"""<!doctype html><html><head><base href="/base/"><meta http-equiv=refresh content="0;url=/x">
<script>alert(1)</script></head><body onload=alert(2)><h1>Lamps & <i>more</i></h1>{CARDS}
<a class=tag>oak</a><a class=tag>new</a><a class=next href=?page=2>next</a>
<iframe src=/ad></iframe></body></html>"""
EXTRACT = {
    "shop.test": {
        "title": "css:h1",
        "tags": "css-all:.tag",
        "odd": "xpath:count(//b)",
        "none": "css:.none",
        "cards": {
            "pages": "*/c/*",
            "each": "css:.card",
            "fields": {
                "name": "css:h2",
                "price": {"select": "css:.price", "type": "decimal"},
                "category": {"select": "css:h1", "of": "page"},
            },
            "required": ["price"],
            "follow": "css:a.next",
        },
        "products": {"pages": "*/p/*", "fields": {"name": "css:h1"}},
    }
}


@pytest.fixture
def page():
    document = parse(BODY.encode(), url=URL)
    return ExtractorPage(document, extraction.extract_from(document))


@pytest.fixture
def hits(page):
    return find_hits(page, SiteRules(EXTRACT), load_kinds(EXTRACT))


def test_each_rule_has_its_number_of_hits_and_first_value(hits):
    assert {hit.name: (hit.hits, hit.first) for hit in hits.rules} == {
        "site.title": (1, "Lamps & more"),
        "site.tags": (2, "oak"),
        "site.odd": (1, 3),
        "site.none": (0, None),
        "items.cards": (3, None),
        "items.cards.name": (2, "Lamp 0"),
        "items.cards.price": (2, "1.50"),
        "items.cards.category": (2, "Lamps & more"),
        "items.cards follow": (1, "http://shop.test/base/?page=2"),
    }


def test_dropped_items_have_a_reason_and_kinds_of_other_pages_are_left_out(hits):
    assert list(hits.items) == ["cards"]
    assert hits.items["cards"].dropped == {"price: nothing found": 1}


def test_selected_elements_are_marked(page, hits):
    tree = LexborHTMLParser(colored_page(page.document, hits))

    marked = {node.attributes["title"] for node in tree.css("[title]")}
    assert len(tree.css('.card[title^="items.cards:"]')) == 3
    assert len(tree.css('h2[title^="items.cards.name"]')) == 3
    assert len(tree.css('.tag[title^="site.tags"]')) == 2
    assert "color: red" in tree.css_first("h2").attributes["style"]
    assert not any(text.startswith(("site.odd", "site.none")) for text in marked)


def test_legend_lists_every_rule(page, hits):
    tree = LexborHTMLParser(colored_page(page.document, hits))

    rows = [row.text(separator=" ") for row in tree.css("#aragog-rules tr")]
    assert len(rows) == 1 + len(hits.rules)
    assert "site.title 1 css:h1 Lamps & more" in rows


def test_colored_page_runs_no_script_and_loads_nothing(page, hits):
    text = colored_page(page.document, hits)
    tree = LexborHTMLParser(text)

    assert text.startswith('<!doctype html><meta http-equiv="Content-Security-Policy"')
    assert "default-src 'none'" in tree.css_first("meta").attributes["content"]
    assert "script-src" not in text
    assert tree.css("script, iframe, meta[http-equiv=refresh]") == []
    assert tree.css_first("base").attributes["href"] == "http://shop.test/base/"


def test_empty_page_has_a_legend():
    document = parse(b"", url=URL)
    page = ExtractorPage(document, extraction.extract_from(document))

    text = colored_page(document, find_hits(page, SiteRules(EXTRACT), load_kinds(EXTRACT)))

    assert "aragog-rules" in text
