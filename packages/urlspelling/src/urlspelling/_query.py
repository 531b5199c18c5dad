"""
Normalize queries: remove parameters that never change which page is shown, and sort the others.

`query_rules.toml` lists the parameters to remove on all sites. `site_rules.toml` and the operator's
file contain exceptions for individual sites.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from operator import methodcaller
from typing import Any
from urllib.parse import unquote_to_bytes

from urlspelling.errors import InvalidSiteRules
from urlspelling.hosts import longest_match

_CACHED_NAMES = 8_192
_MAX_CACHED_CHARS = 255
"""Longer names are not cached, so that hostile ones cannot fill memory."""

_MAX_HOST_CHARS = 253
"""The DNS limit. Matching longer strings could take minutes."""
_split_name: Callable[[str], tuple[str, str, str]] = methodcaller("partition", "=")
"""`sort_key` for queries without escapes."""
_NEEDS_DECODING = re.compile(r"[%+;]")
_PATH_STYLE_SESSION = re.compile(r"(?i);jsessionid=[^&;]*")
_SITE_KEYS = {"host", "keep", "drop", "sort"}


@dataclass(frozen=True, slots=True)
class SiteRule:
    """Exceptions for `host` and its subdomains. Names are in lower case."""

    host: str
    keep: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    sort: bool = True
    """False if the order of the parameters matters."""


class QueryRules:
    """
    The rules for removing parameters. Immutable and thread-safe.

    Args:
        removed: names of parameters that are removed with any value, in lower case.
        prefixes: prefixes of such names.
        patterns: names of parameters, each with a pattern for the values to remove.
        prefix_patterns: prefixes of such names, each with a pattern for the values to remove.
        sites: exceptions for individual sites.
    """

    def __init__(
        self,
        *,
        removed: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        patterns: Mapping[str, re.Pattern[str]] | None = None,
        prefix_patterns: Mapping[str, re.Pattern[str]] | None = None,
        sites: Iterable[SiteRule] = (),
    ) -> None:
        self._removed = frozenset(removed)
        self._prefixes = tuple(prefixes)
        self._patterns = dict(patterns or {})
        self._prefix_patterns = dict(prefix_patterns or {})
        self._sites = {rule.host: rule for rule in sites}
        self._kept_names: set[str] = set()
        self._cached_pattern = lru_cache(_CACHED_NAMES)(self._find_pattern)

    def with_sites(self, sites: Iterable[SiteRule]) -> QueryRules:
        """Return these rules plus `sites`, which take precedence."""
        return QueryRules(
            removed=self._removed,
            prefixes=self._prefixes,
            patterns=self._patterns,
            prefix_patterns=self._prefix_patterns,
            sites={**self._sites, **{rule.host: rule for rule in sites}}.values(),
        )

    def site(self, host: str) -> SiteRule | None:
        """Return the rule of the longest listed host that is `host` or its parent."""
        if len(host) > _MAX_HOST_CHARS:
            return None
        name = longest_match(host, self._sites)
        return None if name is None else self._sites[name]

    def normalize_query(self, query: str, site: SiteRule | None) -> str:
        """Normalize a query with normalized escapes: remove parameters and sort the rest."""
        if site is None and ";" not in query:
            kept = query.split("&")
            names = [parameter.partition("=")[0] for parameter in kept]
            if not self._kept_names.issuperset(names):
                kept, names = self._filter(kept, None)
        else:
            kept, names = self._filter(_remove_session(query).split("&"), site)
            if site is not None and not site.sort:
                return "&".join(kept)
        if len(kept) > 1:
            if "%" not in query and "+" not in query:
                kept.sort(key=_split_name)
            elif len(set(names)) == len(names) and self._kept_names.issuperset(names):
                # The names alone determine the order if they are distinct and have no escapes.
                parameter_by_name = dict(zip(names, kept, strict=True))
                kept = [parameter_by_name[name] for name in sorted(names)]
            else:
                kept.sort(key=sort_key)
        return "&".join(kept)

    def keep(self, query: str, site: SiteRule | None) -> list[str]:
        """Return the kept parameters of `query`, as written. Empty ones are removed."""
        return self._filter(_remove_session(query).split("&"), site)[0]

    def _filter(self, parameters: list[str], site: SiteRule | None) -> tuple[list[str], list[str]]:
        kept, names = [], []
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if parameter and self._is_kept(name, value, site):
                kept.append(parameter)
                names.append(name)
        return kept, names

    def _is_kept(self, name: str, value: str, site: SiteRule | None) -> bool:
        if site is not None:
            lowercase_name = name.lower()
            if lowercase_name in site.keep or lowercase_name in site.drop:
                return lowercase_name in site.keep
        if name in self._kept_names:
            return True
        is_cacheable = len(name) <= _MAX_CACHED_CHARS
        pattern = self._cached_pattern(name) if is_cacheable else self._find_pattern(name)
        if pattern is None:
            self._cache_kept_name(name)
            return True
        return pattern.match(value) is None

    def _cache_kept_name(self, name: str) -> None:
        if name and len(name) <= _MAX_CACHED_CHARS and not _NEEDS_DECODING.search(name):
            if len(self._kept_names) >= _CACHED_NAMES:
                self._kept_names.clear()
            self._kept_names.add(name)

    def _find_pattern(self, name: str) -> re.Pattern[str] | None:
        """Return the pattern of values to remove, or None if the parameter is always kept."""
        lowercase_name = name.lower()
        if lowercase_name in self._removed or lowercase_name.startswith(self._prefixes):
            return _ANY_VALUE
        if lowercase_name in self._patterns:
            return self._patterns[lowercase_name]
        return next(
            (
                pattern
                for prefix, pattern in self._prefix_patterns.items()
                if lowercase_name.startswith(prefix)
            ),
            None,
        )


_ANY_VALUE = re.compile("")


def _remove_session(query: str) -> str:
    return _PATH_STYLE_SESSION.sub("", query) if ";" in query else query


def sort_key(parameter: str) -> tuple[bytes, str, bytes, str]:
    """
    Return a key that sorts by decoded name, then decoded value, then the parameter as written.

    A parameter without `=` precedes the same name with an empty value.
    """
    name, equals, value = parameter.replace("+", " ").partition("=")
    return unquote_to_bytes(name), equals, unquote_to_bytes(value), parameter


def site_rules(text: str, where: str) -> list[SiteRule]:
    """
    Parse a file with rules for individual sites.

    Raises:
        InvalidSiteRules: lists every problem, prefixed with `where`.
    """
    try:
        tables = tomllib.loads(text.removeprefix("\ufeff")).get("site", [])
    except tomllib.TOMLDecodeError as error:
        raise InvalidSiteRules(f"{where}: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InvalidSiteRules(f"{where}: site must be tables, each under [[site]], got {tables!r}")
    problems = [
        f"{where}: {problem}"
        for index, table in enumerate(tables)
        for problem in _find_problems(index, table)
    ]
    if problems:
        raise InvalidSiteRules(*problems)
    return [
        SiteRule(
            host=table["host"].lower().rstrip("."),
            keep=frozenset(name.lower() for name in table.get("keep", ())),
            drop=frozenset(name.lower() for name in table.get("drop", ())),
            sort=table.get("sort", True),
        )
        for table in tables
    ]


def _find_problems(index: int, table: dict[str, Any]) -> Iterable[str]:
    site = f"site {index + 1}"
    if not isinstance(table.get("host"), str) or not table["host"].isascii():
        yield f"{site}: host must be a host name in ASCII, got {table.get('host')!r}"
    for key in ("keep", "drop"):
        names = table.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            yield f"{site}: {key} must be a list of parameter names, got {names!r}"
    if not isinstance(table.get("sort", True), bool):
        yield f"{site}: sort must be true or false, got {table['sort']!r}"
    yield from (f"{site}: {key} is not a known key" for key in sorted(set(table) - _SITE_KEYS))


def _read_packaged(name: str) -> str:
    return resources.files("urlspelling").joinpath(name).read_text("utf-8")


def packaged_rules() -> QueryRules:
    """Read the rules that are part of the package."""
    data = tomllib.loads(_read_packaged("query_rules.toml"))
    sessions = [(entry, re.compile(entry["value"])) for entry in data["session"]]
    return QueryRules(
        removed=(name for entry in data["tracking"] for name in entry.get("names", ())),
        prefixes=(name for entry in data["tracking"] for name in entry.get("prefixes", ())),
        patterns={n: pattern for entry, pattern in sessions for n in entry.get("names", ())},
        prefix_patterns={
            n: pattern for entry, pattern in sessions for n in entry.get("prefixes", ())
        },
        sites=site_rules(_read_packaged("site_rules.toml"), "site_rules.toml"),
    )
