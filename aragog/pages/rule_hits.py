"""Finds the values that each rule matches on a page, and highlights the matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from aragog.pages.items import SiteKinds
from aragog.pages.selectors import SiteRules
from aragog.settings.extractor_names import SITE
from richpins.document import Document
from richpins.items import FoundItems, ItemKind, find
from richpins.selectors import SelectedPage, Selector

MAX_HIGHLIGHTED = 2_000
"""Maximum number of highlighted elements on a page."""
_GOLDEN_ANGLE = 137.508
_CONTENT_POLICY = "default-src 'none'; img-src * data:; style-src * 'unsafe-inline'; font-src *"
"""A Content-Security-Policy that keeps the page from running scripts and sending data."""


@dataclass(frozen=True, slots=True)
class RuleHit:
    """The values that one rule finds on a page."""

    name: str
    """The name of the field (`site.price`), the kind of items, or its field
    (`items.cards.price`)."""
    rule: str
    hits: int
    """For a page's field, how many values were found; for a kind of items, how many elements; for a
    field of items, how many items have it."""
    first: Any = None
    """The first value, or None if nothing matches or the match is an element."""
    within: str | None = None
    """The CSS selector of the elements in which the rule searches, or None for the whole page."""

    @property
    def css(self) -> str | None:
        """The selector of the elements, or None for XPath, whose matches are not highlighted."""
        kind, _, text = self.rule.strip().partition(":")
        if not kind.startswith("css"):
            return None
        selector, colons, _ = text.strip().rpartition("::")
        return selector.strip() if colons else text.strip()


@dataclass(frozen=True, slots=True)
class PageHits:
    """The values that all rules find on a page."""

    rules: tuple[RuleHit, ...]
    items: Mapping[str, FoundItems]
    """Items by kind, including kinds defined by functions."""


def find_hits(page: Any, rules: SiteRules, kinds: SiteKinds) -> PageHits:
    """
    Return the values that the rules in the settings find on a page (`ExtractorPage`).

    Raises:
        ValueError, TypeError: an XPath fails, or a function returns something that is not an item.
        Exception: any error of a function.
    """
    document = page.document
    hits = [
        _field_hit(name, selector, document) for name, selector in rules.of(document.url).items()
    ]
    items: dict[str, FoundItems] = {}
    for name, site_kind in kinds.of(document.url).items():
        if site_kind.kind.is_on(document.url):
            items[name] = find(site_kind.kind, document, page)
            hits += _kind_hits(site_kind.kind, items[name], document)
    return PageHits(tuple(hits), items)


def _field_hit(name: str, selector: Selector, document: Document) -> RuleHit:
    values = [v for v in selector.select(SelectedPage(document)) if v not in (None, "")]
    return RuleHit(f"{SITE}.{name}", selector.text, len(values), values[0] if values else None)


def _kind_hits(kind: ItemKind, found_items: FoundItems, document: Document) -> Iterator[RuleHit]:
    page, name = SelectedPage(document), f"items.{kind.name}"
    within = None
    if kind.each is not None:
        language, text = kind.each
        elements = page.css(text) if language == "css" else page.xpath(text)
        count = len(elements) if isinstance(elements, list) else 0
        yield RuleHit(name, f"{language}:{text}", count)
        within = text if language == "css" else None
    for item_field in kind.fields:
        values = [
            v for item in found_items.items if (v := item.values.get(item_field.name)) is not None
        ]
        rule = item_field.selector.text if item_field.selector else "the page that links here"
        search_in = None if item_field.of_page else within
        yield RuleHit(
            f"{name}.{item_field.name}", rule, len(values), values[0] if values else None, search_in
        )
    for selector in kind.follow:
        urls = [v for v in selector.select(page) if v]
        yield RuleHit(f"{name} follow", selector.text, len(urls), urls[0] if urls else None)


def colored_page(document: Document, hits: PageHits) -> str:
    """
    Return the page as HTML with a legend. The elements that CSS rules select are highlighted.

    The HTML has no scripts. Browsers may load only images, styles and fonts.
    """
    tree = LexborHTMLParser(document.body)
    for node in tree.css(
        "script, noscript, iframe, object, embed, base, meta[http-equiv], form > input"
    ):
        node.decompose()
    remaining = MAX_HIGHLIGHTED
    for number, hit in enumerate(hits.rules):
        for node in _elements(hit, tree):
            if remaining:
                _highlight(node, hit, _color(number))
                remaining -= 1
    html = tree.html or ""
    head = (
        f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
        f'<meta charset="utf-8"><base href="{escape(document.base_url)}">'
    )
    return head + html.removeprefix("<!DOCTYPE html>") + _legend(hits)


def _elements(hit: RuleHit, tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """
    Yield the elements that a rule selects.

    For a kind of items or a list, yields all matches, otherwise only the first match in each item.
    """
    if hit.css is None:
        return
    if hit.within is not None:
        for element in tree.css(hit.within):
            yield from _first_or_all(element.css(hit.css), hit)
    else:
        yield from _first_or_all(tree.css(hit.css), hit)


def _first_or_all(nodes: list[LexborNode], hit: RuleHit) -> list[LexborNode]:
    takes_all = hit.rule.lstrip().startswith("css-all") or hit.first is None
    return nodes if takes_all else nodes[:1]


def _highlight(node: LexborNode, hit: RuleHit, color: str) -> None:
    is_element_of_kind = hit.first is None
    style = (
        f"outline: 2px dashed {color} !important; outline-offset: 2px"
        if is_element_of_kind
        else f"background: {color} !important; outline: 2px solid {color} !important"
    )
    node.attrs["style"] = f"{node.attributes.get('style') or ''};{style}".lstrip(";")
    node.attrs["title"] = f"{hit.name}: {hit.rule}"


def _color(number: int) -> str:
    return f"hsl({number * _GOLDEN_ANGLE % 360:.0f}, 85%, 75%)"


def _legend(hits: PageHits) -> str:
    rows = "".join(
        f'<tr><td style="background:{_color(number)}">{escape(hit.name)}</td>'
        f"<td>{hit.hits}</td><td>{escape(hit.rule)}</td>"
        f"<td>{escape(str('' if hit.first is None else hit.first)[:100])}</td></tr>"
        for number, hit in enumerate(hits.rules)
    )
    style = (
        "position:fixed;right:8px;bottom:8px;max-height:45vh;overflow:auto;z-index:2147483647;"
        "background:#fff;color:#000;border:1px solid #000;font:12px/1.4 monospace;text-align:left"
    )
    return (
        f'<div id="aragog-rules" style="{style}"><table>'
        "<tr><th>rule</th><th>hits</th><th>selector</th><th>first value</th></tr>"
        f"{rows}</table></div>"
    )
