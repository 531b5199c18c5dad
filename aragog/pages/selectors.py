"""
Site-specific fields, defined in the settings with CSS selectors or XPath. No I/O.

    [extract."books.example"]
    price = "css:.price_color::text"
    cover = "css:#product_gallery img::link"
    stock = "xpath://p[@class='instock']/text()"
    tags = "css-all:.tag"

A rule applies to its host and all of its subdomains. If two rules define the same field, the one
with the longer host name wins. `richpins.selectors` documents the rules. A table instead of a
string defines a kind of items; see `aragog.pages.items`.

The prefix of the fields is `site`, as in `site.price`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from aragog.errors import ConfigError, InvalidUrl
from aragog.settings.extractor_names import SITE
from richpins.document import Document
from richpins.field_types import ANY, FieldType
from richpins.selectors import SelectedPage, Selector, parse, value_type
from urlspelling import normalize
from urlspelling.domain import host
from urlspelling.hosts import and_parents

_FIELD_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

Rules = Mapping[str, Mapping[str, Any]]
"""Rules by host and field, as in the settings. A table instead of a string defines a kind of
items."""


def rule_types(rules: Rules) -> dict[str, FieldType]:
    """
    Return the type of each field, by its full name, such as `site.price`.

    The type is `any` if it differs between hosts. Raises the same ValueError as `value_type`.
    """
    types: dict[str, FieldType] = {}
    for table in rules.values():
        for name, rule in _field_rules(table):
            rule_type = value_type(rule)
            is_same = types.setdefault(f"{SITE}.{name}", rule_type) == rule_type
            types[f"{SITE}.{name}"] = rule_type if is_same else ANY
    return types


class SiteRules:
    """
    The rules of all sites.

    Raises:
        ConfigError: one line for each invalid rule, field name and host name.
    """

    def __init__(self, rules: Rules) -> None:
        problems: list[str] = []
        self._by_host = {
            normalize_rules_host(name, problems): dict(_parse_rules(name, table, problems))
            for name, table in rules.items()
        }
        if problems:
            raise ConfigError(*problems)

    def of(self, url: str) -> dict[str, Selector]:
        """Return the rules for a URL's page, by field."""
        try:
            name = host(url)
        except InvalidUrl:
            return {}
        selectors: dict[str, Selector] = {}
        for parent in and_parents(name):
            selectors = {**self._by_host.get(parent, {}), **selectors}
        return selectors

    def values(self, document: Document) -> dict[str, Any] | None:
        """
        Return a page's values by field, or None if the page has no rules. A field is None if its
        rule finds nothing.
        """
        selectors = self.of(document.url)
        if not selectors:
            return None
        page = SelectedPage(document)
        return {name: selector.value(page) for name, selector in selectors.items()}


def _field_rules(table: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Return the rules for page fields, without kinds of items."""
    return ((name, rule) for name, rule in table.items() if isinstance(rule, str))


_NOT_A_HOST = re.compile(r"[/?#@\s]|^[^\[]*:(?!\d+\Z)")
"""Matches characters that may be in a URL, but not in a host. A host may have a port."""


def normalize_rules_host(name: str, problems: list[str]) -> str:
    """Return the normalized host for a key of `extract`. Adds a problem if the key is invalid."""
    host_name = name.strip().removeprefix("*.")
    try:
        if (
            not host_name
            or host_name.startswith(".")
            or ".." in host_name
            or _NOT_A_HOST.search(host_name)
        ):
            raise InvalidUrl(name, "is a URL")
        return host(normalize(f"http://{host_name}/"))
    except InvalidUrl:
        problems.append(f"extract: {name!r}: is not a host name")
        return name


def _parse_rules(
    name: str, table: Mapping[str, Any], problems: list[str]
) -> Iterable[tuple[str, Selector]]:
    for field, rule in _field_rules(table):
        if not _FIELD_NAME.fullmatch(field):
            problems.append(
                f"extract: {name}: {field!r}: use lower-case letters, digits and underscores"
            )
            continue
        try:
            yield field, parse(rule)
        except ValueError as error:
            problems.append(f"extract: {name}: {field}: {error}")
