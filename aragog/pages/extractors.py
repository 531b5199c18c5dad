"""
Custom extractors: functions that extract additional fields and page types.

A package declares a function as an entry point in the group `aragog.extractors`. The setting
`pipeline.extractors` lists the functions to run. They may also be in files (`jobs.py:jobs`). A
function receives the parsed page with its Rich Pin, and returns the page's fields as `Extracted` or
as a dict:

    def jobs(page: ExtractorPage) -> Extracted | None:
        node = page.document.tree.css_first("[itemprop=baseSalary]")
        return Extracted({"salary": node.text()}, page_type="jobs") if node else None

The prefix of the fields is the function's name, as in `jobs.salary`. Fields are stored as JSON.
A field that is no longer on the page is removed. The parser's limits on time and memory per page
also apply to functions, so they must not do I/O.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import orjson

from aragog.errors import ConfigError, InvalidField
from aragog.pages.items import SiteKinds, load_kinds
from aragog.pages.rules_version import RulesVersions, rules_versions
from aragog.pages.selectors import Rules, SiteRules
from aragog.settings.extractor_names import ITEMS, SITE, field_prefix, is_file_name
from richpins.document import Document
from richpins.rich_pins import RichPin
from richpins.selectors import SelectedPage, parse

GROUP = "aragog.extractors"
MAX_FIELDS = 100
MAX_VALUE_BYTES = 64 * 1024
MAX_ITEMS_BYTES = 1_000_000
"""Maximum size of the items of one kind. `richpins.items` checks it."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NAME_RULE = "use lower-case letters, digits and underscores"


@dataclass(frozen=True, slots=True)
class ExtractorPage:
    """The input of an extractor."""

    document: Document
    pin: RichPin
    """The typed metadata extracted so far."""

    @property
    def url(self) -> str:
        return self.document.url

    def css(self, rule: str) -> Any:
        """
        Return the first value that a CSS rule finds, such as `h1` or `.cover::link`.

        See `selectors` for the syntax.
        """
        return parse(f"css:{rule}").value(SelectedPage(self.document))

    def css_all(self, rule: str) -> list[Any]:
        """Return all values that a CSS rule finds."""
        page = SelectedPage(self.document)
        return parse(f"css-all:{rule}").value(page) or []

    def xpath(self, expression: str) -> Any:
        """Return the first value that an XPath expression finds."""
        return parse(f"xpath:{expression}").value(SelectedPage(self.document))


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of an extractor."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Any JSON values, by name. The names do not have the extractor's prefix."""
    page_type: str | None = None
    """The page's type if the Rich Pin has none. It must be the extractor's name."""


Extractor = Callable[[ExtractorPage], Extracted | Mapping[str, Any] | None]


@lru_cache(maxsize=16)
def load(names: tuple[str, ...]) -> Mapping[str, Extractor]:
    """Return these extractors, from installed packages and files. See `load_from`."""
    return load_from(entry_points(group=GROUP), names) if names else {}


class Extractors(dict[str, Extractor]):
    """Extractors by prefix, with the versions of the settings that define them."""

    def __init__(self, extractors: Mapping[str, Extractor], versions: RulesVersions) -> None:
        super().__init__(extractors)
        self.versions = versions


def load_all(names: tuple[str, ...], rules: Rules) -> Extractors:
    """
    Return the extractors with these names, one for field rules, and one for items.

    Args:
        names: the setting `pipeline.extractors`.
        rules: the setting `extract`.

    Raises:
        ConfigError: see `load_from`, `SiteRules` and `SiteKinds`.
    """
    versions = rules_versions(names, rules)
    if not rules:
        return Extractors(load(names), versions)
    hashable_rules = tuple(
        (host, tuple((name, rule) for name, rule in table.items() if isinstance(rule, str)))
        for host, table in rules.items()
    )
    extractors = {**load(names), SITE: _rules_extractor(hashable_rules)}
    kinds = load_kinds(rules)
    items = {ITEMS: _items_extractor(kinds)} if kinds else {}
    return Extractors({**extractors, **items}, versions)


@lru_cache(maxsize=16)
def _rules_extractor(rules: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]) -> Extractor:
    site_rules = SiteRules({host: dict(table) for host, table in rules})
    return lambda page: site_rules.values(page.document)


def _items_extractor(kinds: SiteKinds) -> Extractor:
    return kinds.items_on


def load_from(points: Iterable[EntryPoint], names: tuple[str, ...]) -> Mapping[str, Extractor]:
    """
    Import the extractors with these names.

    Raises:
        ConfigError: a name is not a valid prefix or not declared by a package, or it cannot be
            imported.
    """
    declared_points = {point.name: point for point in points}
    result: dict[str, Extractor] = {}
    for name in names:
        if field_prefix(name) in (SITE, ITEMS):
            raise ConfigError(
                f"pipeline.extractors: {name!r}: {field_prefix(name)} is the prefix of the "
                "fields in `extract`; give the function another name"
            )
        if is_file_name(name):
            result[field_prefix(name)] = _load_function(name)
            continue
        if not _NAME.fullmatch(name):
            raise ConfigError(f"pipeline.extractors: {name!r} is not a valid name; {_NAME_RULE}")
        if name not in declared_points:
            available = ", ".join(sorted(declared_points)) or "none"
            raise ConfigError(
                f"pipeline.extractors: no installed package declares {name!r} under {GROUP}; "
                f"declared: {available}"
            )
        try:
            result[name] = declared_points[name].load()
        except Exception as error:
            raise ConfigError(f"pipeline.extractors: {name!r} cannot be loaded: {error}") from error
    return result


def _load_function(name: str) -> Extractor:
    """Load a function from a file. Its name must be a valid prefix."""
    function = name.rpartition(":")[2]
    if not _NAME.fullmatch(function):
        raise ConfigError(
            f"pipeline.extractors: {name!r}: {function!r} is not a valid name; {_NAME_RULE}"
        )
    try:
        extractor: Extractor = load_from_file(name)
    except ConfigError as error:
        raise ConfigError(f"pipeline.extractors: {error}") from error
    return extractor


def load_from_file(name: str) -> Any:
    """
    Load a named object from a Python file, as `folder/file.py:name`.

    Raises:
        ConfigError: the file cannot be imported or does not define the name.
    """
    path, _, attribute = name.rpartition(":")
    try:
        module_name = f"aragog_extractor_{attribute}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise ImportError("is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses look up their module in sys.modules
        spec.loader.exec_module(module)
        return getattr(module, attribute)
    except Exception as error:
        raise ConfigError(f"{name!r} cannot be loaded: {error}") from error


def to_fields(name: str, extracted: object) -> dict[str, bytes]:
    """
    Return an extractor's fields in their stored form.

    Args:
        name: the prefix of the fields.
        extracted: the result of the function. It should be `Extracted` or a dict.

    Raises:
        InvalidField: a result, name, value or page type cannot be stored.
    """
    if not isinstance(extracted, Extracted):
        if not isinstance(extracted, Mapping):
            type_name = type(extracted).__name__
            problem = f"its function must return a dict or Extracted, got {type_name}"
            raise InvalidField(name, problem)
        extracted = Extracted(extracted)
    if extracted.page_type not in (None, name):
        raise InvalidField(name, f"its page type must be {name!r}")
    if len(extracted.fields) > MAX_FIELDS:
        raise InvalidField(name, f"more than {MAX_FIELDS} fields")
    return dict(_encode_fields(name, extracted.fields))


def _encode_fields(name: str, values: Mapping[str, Any]) -> Iterable[tuple[str, bytes]]:
    for key, value in values.items():
        if not _NAME.fullmatch(key):
            raise InvalidField(f"{name}.{key}", _NAME_RULE)
        if value is None:
            continue
        try:
            stored = orjson.dumps(value)
        except TypeError as error:
            raise InvalidField(f"{name}.{key}", str(error)) from error
        if len(stored) > (max_bytes := MAX_ITEMS_BYTES if name == ITEMS else MAX_VALUE_BYTES):
            raise InvalidField(f"{name}.{key}", f"larger than {max_bytes} bytes")
        yield f"{name}.{key}", stored
