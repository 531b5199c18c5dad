"""
Fields of single sites by CSS selectors and XPath, from rules in the settings. No I/O.

    [extract."books.example"]
    price = "css:.price_color::text"
    cover = "css:#product_gallery img::link"
    stock = "xpath://p[@class='instock']/text()"
    tags = "css-all:.tag"

A rule holds for its host and all hosts below it; of two rules for one field the one of the longer
host name counts. `css` and `xpath` take the first match that is not empty, `css-all` and
`xpath-all` a list of all. A CSS selector may end in `::text` (the default), `::attr(name)`, or
`::link`: the address in `href` or `src`, absolute. XPath may select elements, texts and attributes,
or compute a value.

The fields have the prefix `site`: `site.price`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from aragog.errors import ConfigError, InvalidUrl
from aragog.settings.extractor_names import SITE
from richpins.document import Document, normalize_space
from richpins.field_types import ANY, BOOLEAN, NUMBER, TEXT, FieldType
from urlspelling import normalize
from urlspelling.domain import host
from urlspelling.hosts import and_parents

MOST_VALUES = 1_000
_RULE = re.compile(r"(css|css-all|xpath|xpath-all):(.+)", re.DOTALL)
_PART = re.compile(r"(text|link|attr\(\s*+([\w:.-]++)\s*+\))")
_FIELD = re.compile(r"[a-z][a-z0-9_]{0,63}")

Rules = Mapping[str, Mapping[str, str]]
"""Host to field to rule, as the settings have them."""


class SelectedPage:
    """A page with a tree for each kind of selector; that for XPath is made when it is needed."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def css(self, selector: str) -> list[LexborNode]:
        """The elements that match, in document order. Raises ValueError for a bad selector."""
        try:
            return self.document.tree.css(selector)
        except Exception as error:
            raise ValueError(str(error) or "is not a CSS selector") from error

    def xpath(self, expression: str) -> Any:
        """The value of an expression. Raises ValueError for one that cannot be computed."""
        from lxml.etree import XPathError  # noqa: PLC0415 - only hosts with such rules need it

        try:
            return _compiled(expression)(self._lxml)
        except XPathError as error:
            raise ValueError(str(error)) from error

    def link(self, href: str) -> str | None:
        """An address of the page as a normalized URL; None if it is not http(s)."""
        return self.document.resolve(href)

    @cached_property
    def _lxml(self) -> Any:
        from lxml import etree, html  # noqa: PLC0415 - see above

        parser = html.HTMLParser(encoding="utf-8", huge_tree=False)
        try:
            tree = html.document_fromstring(self.document.body, parser=parser)
        except etree.ParserError:  # there is no element
            tree = html.document_fromstring(b"<html></html>", parser=parser)
        return tree.getroottree()


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Any:
    from lxml import etree  # noqa: PLC0415 - see above

    try:
        return etree.XPath(expression)
    except etree.XPathError as error:
        raise ValueError(f"{expression!r} is not an XPath expression: {error}") from error


Select = Callable[[SelectedPage], Iterator[Any]]
"""Yields the values that a rule finds."""


@dataclass(frozen=True, slots=True)
class Selector:
    """One rule."""

    text: str
    """The rule as it is in the settings."""
    select: Select
    every: bool
    """A list of all values, instead of the first one."""

    def value(self, page: SelectedPage) -> Any:
        """What it finds; None if that is nothing."""
        found = (value for value in self.select(page) if value not in (None, ""))
        if not self.every:
            return next(found, None)
        return [value for value, _ in zip(found, range(MOST_VALUES), strict=False)] or None


def parsed(rule: str) -> Selector:
    """
    The selector of a rule.

    Raises:
        ValueError: it is no rule; the text says why.
    """
    match = _RULE.fullmatch(rule.strip())
    if match is None:
        raise ValueError("must begin with css:, css-all:, xpath: or xpath-all:")
    kind, text = match[1], match[2].strip()
    select = _css(text) if kind.startswith("css") else _xpath(text)
    return Selector(rule, select, kind.endswith("-all"))


def _css(text: str) -> Select:
    selector, colons, end = text.rpartition("::")
    match = _PART.fullmatch(end if colons else "text")
    if match is None or "::" in selector:
        raise ValueError("the end of a CSS selector must be ::text, ::link or ::attr(name)")
    selector = selector.rstrip() if colons else text
    part, name = match.groups()
    try:
        LexborHTMLParser("<p>").css(selector)
    except Exception as error:
        raise ValueError(f"{selector!r} is not a CSS selector") from error

    def select(page: SelectedPage) -> Iterator[Any]:
        for node in page.css(selector):
            if name is not None:
                yield node.attributes.get(name)
            elif part == "link":
                href = node.attributes.get("href") or node.attributes.get("src")
                yield page.link(href) if href else None
            else:
                yield normalize_space(node.text())

    return select


def _xpath(expression: str) -> Select:
    _compiled(expression)

    def select(page: SelectedPage) -> Iterator[Any]:
        found = page.xpath(expression)
        for value in found if isinstance(found, list) else [found]:
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
    The type of the values of a rule.

    Raises:
        ValueError: it is no rule.
    """
    selector = parsed(rule)
    kind, _, text = rule.strip().partition(":")
    item = _xpath_type(text.strip()) if kind.startswith("xpath") else TEXT
    return FieldType("list", item) if selector.every else item


def _xpath_type(expression: str) -> FieldType:
    """XPath 1.0 has static types: an expression has that of its value for an empty page."""
    from lxml import etree  # noqa: PLC0415 - see above

    try:
        value = _compiled(expression)(etree.ElementTree(etree.Element("html")))
    except etree.XPathError:
        return ANY
    if isinstance(value, bool):
        return BOOLEAN
    return NUMBER if isinstance(value, float) else TEXT


def rule_types(rules: Rules) -> dict[str, FieldType]:
    """
    The type of each field of the rules, by its full name, such as `site.price`.

    Fields to which hosts give different types are `any`. Raises ValueError as `value_type` does.
    """
    found: dict[str, FieldType] = {}
    for table in rules.values():
        for name, rule in table.items():
            its_type = value_type(rule)
            same = found.setdefault(f"{SITE}.{name}", its_type) == its_type
            found[f"{SITE}.{name}"] = its_type if same else ANY
    return found


class SiteRules:
    """
    The rules of all sites.

    Raises:
        ConfigError: one line for each rule that is none, each name that no field can have, and each
            key that is not a host name.
    """

    def __init__(self, rules: Rules) -> None:
        problems: list[str] = []
        self._by_host = {
            _host(name, problems): dict(_selectors(name, table, problems))
            for name, table in rules.items()
        }
        if problems:
            raise ConfigError(*problems)

    def of(self, url: str) -> dict[str, Selector]:
        """The rules for the page of a URL, by field."""
        try:
            name = host(url)
        except InvalidUrl:
            return {}
        selectors: dict[str, Selector] = {}
        for parent in and_parents(name):
            selectors = {**self._by_host.get(parent, {}), **selectors}
        return selectors

    def values(self, document: Document) -> dict[str, Any] | None:
        """The values of a page by field, None where a rule found nothing; None: it has no rules."""
        selectors = self.of(document.url)
        if not selectors:
            return None
        page = SelectedPage(document)
        return {name: selector.value(page) for name, selector in selectors.items()}


def _host(name: str, problems: list[str]) -> str:
    try:
        return host(normalize(f"http://{name.strip().removeprefix('*.')}/"))
    except InvalidUrl:
        problems.append(f"extract: {name!r}: is not a host name")
        return name


def _selectors(
    name: str, table: Mapping[str, str], problems: list[str]
) -> Iterable[tuple[str, Selector]]:
    for field, rule in table.items():
        if not _FIELD.fullmatch(field):
            problems.append(
                f"extract: {name}: {field!r}: use small letters, digits and underscores"
            )
            continue
        try:
            yield field, parsed(rule)
        except ValueError as error:
            problems.append(f"extract: {name}: {field}: {error}")
