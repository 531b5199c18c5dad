"""
Read values from a page by rules with CSS selectors or XPath. No I/O.

    css:.price_color::text            the first non-empty text of a matching element
    css:#product_gallery img::link    the `href` or `src` of an element, as an absolute URL
    css:img::attr(alt)                an attribute of an element
    css-all:.tag                      a list of all values
    xpath://p[@class='stock']/text()  the same in XPath, which needs the extra `xpath`
    xpath-all://li

`css` and `xpath` return the first match that is not empty, `css-all` and `xpath-all` a list of all
matches. A CSS selector may end in `::text` (the default), `::attr(name)`, or `::link`. XPath may
select elements, text nodes and attributes, or compute a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins.document import Document, normalize_space
from richpins.errors import MissingExtra
from richpins.field_types import ANY, BOOLEAN, NUMBER, TEXT, FieldType

MAX_VALUES = 1_000
"""Maximum number of values in a list."""
_RULE_PATTERN = re.compile(r"(css|css-all|xpath|xpath-all):(.+)", re.DOTALL)
_SELECTOR_ENDING = re.compile(r"(text|link|attr\(\s*+([\w:.-]++)\s*+\))")


class Selectable(Protocol):
    """What a rule searches: a page or one of its elements."""

    def css(self, selector: str) -> list[LexborNode]:
        """Return the elements in document order. Raises ValueError for an invalid selector."""

    def xpath(self, expression: str) -> Any:
        """Return an expression's value. Raises ValueError if it cannot be computed."""

    def link(self, href: str) -> str | None:
        """Normalize a URL of the page; return None if it is not http(s)."""


class SelectedPage:
    """A page with one tree for CSS and one for XPath, built on first use."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def css(self, selector: str) -> list[LexborNode]:
        try:
            return self.document.tree.css(selector)
        except Exception as error:
            raise ValueError(str(error) or "is not a CSS selector") from error

    def xpath(self, expression: str) -> Any:
        return evaluate(expression, self._xpath_tree)

    def link(self, href: str) -> str | None:
        return self.document.resolve(href)

    @cached_property
    def _xpath_tree(self) -> Any:
        _import_etree()
        from lxml import etree, html  # noqa: PLC0415 - only rules in XPath need it

        parser = html.HTMLParser(encoding="utf-8", huge_tree=False)
        try:
            tree = html.document_fromstring(self.document.body, parser=parser)
        except etree.ParserError:  # the page has no elements
            tree = html.document_fromstring(b"<html></html>", parser=parser)
        return tree.getroottree()


@lru_cache(maxsize=1024)
def _compile_xpath(expression: str) -> Any:
    etree = _import_etree()
    try:
        return etree.XPath(expression)
    except etree.XPathError as error:
        raise ValueError(f"{expression!r} is not an XPath expression: {error}") from error


def _import_etree() -> Any:
    try:
        from lxml import etree  # noqa: PLC0415 - only rules in XPath need it
    except ImportError as error:
        raise MissingExtra("xpath", "lxml") from error
    return etree


def evaluate(expression: str, tree: Any) -> Any:
    """
    Return the value of an XPath expression for an lxml tree or element.

    Raises:
        ValueError: it cannot be computed.
    """
    compiled = _compile_xpath(expression)
    try:
        return compiled(tree)
    except _import_etree().XPathError as error:
        raise ValueError(str(error)) from error


Select = Callable[[Selectable], Iterator[Any]]
"""Yields the values that a rule finds."""


@dataclass(frozen=True, slots=True)
class Selector:
    """One rule."""

    text: str
    """The rule as written in the settings."""
    select: Select
    every: bool
    """True to return all values as a list, not only the first."""

    def value(self, page: Selectable) -> Any:
        """Return what the rule finds, or None."""
        values = (value for value in self.select(page) if value not in (None, ""))
        if not self.every:
            return next(values, None)
        return [value for value, _ in zip(values, range(MAX_VALUES), strict=False)] or None


def parse(rule: str) -> Selector:
    """
    Return the selector of a rule.

    Raises:
        ValueError: the rule is invalid; the message says why.
    """
    match = _RULE_PATTERN.fullmatch(rule.strip())
    if match is None:
        raise ValueError("must begin with css:, css-all:, xpath: or xpath-all:")
    language, text = match[1], match[2].strip()
    select = _parse_css(text) if language.startswith("css") else _parse_xpath(text)
    return Selector(rule, select, language.endswith("-all"))


def _parse_css(text: str) -> Select:
    selector, colons, ending = text.rpartition("::")
    match = _SELECTOR_ENDING.fullmatch(ending if colons else "text")
    if match is None or "::" in selector:
        raise ValueError("the end of a CSS selector must be ::text, ::link or ::attr(name)")
    selector = selector.rstrip() if colons else text
    source, attribute = match.groups()
    try:
        LexborHTMLParser("<p>").css(selector)
    except Exception as error:
        raise ValueError(f"{selector!r} is not a CSS selector") from error

    def select(page: Selectable) -> Iterator[Any]:
        for node in page.css(selector):
            if attribute is not None:
                yield node.attributes.get(attribute)
            elif source == "link":
                href = node.attributes.get("href") or node.attributes.get("src")
                yield page.link(href) if href else None
            else:
                yield normalize_space(node.text())

    return select


def _parse_xpath(expression: str) -> Select:
    _compile_xpath(expression)

    def select(page: Selectable) -> Iterator[Any]:
        result = page.xpath(expression)
        for value in result if isinstance(result, list) else [result]:
            if isinstance(value, str):
                yield normalize_space(value)
            elif isinstance(value, bool):
                yield value
            elif isinstance(value, float) and math.isfinite(value):
                yield int(value) if value.is_integer() else value
            elif hasattr(value, "itertext"):
                yield normalize_space("".join(value.itertext()))

    return select


def value_type(rule: str) -> FieldType:
    """
    Return the type of a rule's values.

    Raises:
        ValueError: the rule is invalid.
    """
    selector = parse(rule)
    language, _, text = rule.strip().partition(":")
    item = _xpath_type(text.strip()) if language.startswith("xpath") else TEXT
    return FieldType("list", item) if selector.every else item


def _xpath_type(expression: str) -> FieldType:
    """Return the type of an expression's value on an empty page: XPath 1.0 is statically typed."""
    etree = _import_etree()
    try:
        value = _compile_xpath(expression)(etree.ElementTree(etree.Element("html")))
    except etree.XPathError:
        return ANY
    if isinstance(value, bool):
        return BOOLEAN
    return NUMBER if isinstance(value, float) else TEXT
