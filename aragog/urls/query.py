"""
The query of a URL in one spelling: parameters that never choose a page go, the rest is sorted.

Which parameters go is data: `query_rules.toml` for all sites, `site_rules.toml` for single ones; an
operator's own file has the form of the latter. Pure once the files are read.
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

from aragog.errors import ConfigError

_CACHED_NAMES = 8_192
_MAX_CACHED_CHARS = 255
"""Longer names are judged anew each time: hostile ones must not fill the memory."""

_MAX_HOST_CHARS = 253
"""Of any name in DNS; walking up a megabyte of labels would take a minute."""
_AS_SPELLED: Callable[[str], tuple[str, str, str]] = methodcaller("partition", "=")
"""`sort_key` where nothing is escaped."""
_DECODES_OTHERWISE = re.compile(r"[%+;]")
_PATH_STYLE_SESSION = re.compile(r"(?i);jsessionid=[^&;]*")
_SITE_KEYS = {"host", "keep", "drop", "sort"}


@dataclass(frozen=True, slots=True)
class SiteRule:
    """What differs on `host` and the hosts below it; names in lower case."""

    host: str
    keep: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    sort: bool = True
    """False: the order of the parameters means something."""


class QueryRules:
    """
    Which parameters go, and where. The rules never change; safe to share between threads.

    Args:
        gone: parameters that go whatever their value, in lower case.
        prefixes: beginnings of such names.
        shaped: parameters that go when their value matches.
        shaped_prefixes: beginnings of such names.
        sites: exceptions of single sites.
    """

    def __init__(
        self,
        *,
        gone: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        shaped: Mapping[str, re.Pattern[str]] | None = None,
        shaped_prefixes: Mapping[str, re.Pattern[str]] | None = None,
        sites: Iterable[SiteRule] = (),
    ) -> None:
        self._gone = frozenset(gone)
        self._prefixes = tuple(prefixes)
        self._shaped = dict(shaped or {})
        self._shaped_prefixes = dict(shaped_prefixes or {})
        self._sites = {rule.host: rule for rule in sites}
        self._staying: set[str] = set()
        self._verdict = lru_cache(_CACHED_NAMES)(self._judge)

    def with_sites(self, sites: Iterable[SiteRule]) -> QueryRules:
        """The same rules and these sites; a host that both have follows the new rule."""
        return QueryRules(
            gone=self._gone,
            prefixes=self._prefixes,
            shaped=self._shaped,
            shaped_prefixes=self._shaped_prefixes,
            sites={**self._sites, **{rule.host: rule for rule in sites}}.values(),
        )

    def site(self, host: str) -> SiteRule | None:
        """The rule of the longest listed host that is `host` or above it."""
        if len(host) > _MAX_HOST_CHARS:
            return None
        while host:
            if host in self._sites:
                return self._sites[host]
            host = host.partition(".")[2]
        return None

    def tidy(self, query: str, site: SiteRule | None) -> str:
        """`query` (escapes already normal) without what goes, sorted unless the site says no."""
        if site is None and ";" not in query:
            kept = query.split("&")
            names = [piece.partition("=")[0] for piece in kept]
            if not self._staying.issuperset(names):
                kept, names = self._kept(kept, None)
        else:
            kept, names = self._kept(_without_session(query).split("&"), site)
            if site is not None and not site.sort:
                return "&".join(kept)
        if len(kept) > 1:
            if "%" not in query and "+" not in query:
                kept.sort(key=_AS_SPELLED)
            elif len(set(names)) == len(names) and self._staying.issuperset(names):
                # Names that differ and are spelled as they read give the order by themselves.
                by_name = dict(zip(names, kept, strict=True))
                kept = [by_name[name] for name in sorted(names)]
            else:
                kept.sort(key=sort_key)
        return "&".join(kept)

    def keep(self, query: str, site: SiteRule | None) -> list[str]:
        """The parameters of `query`, as written, that stay; empty ones never do."""
        return self._kept(_without_session(query).split("&"), site)[0]

    def _kept(self, pieces: list[str], site: SiteRule | None) -> tuple[list[str], list[str]]:
        """The parameters that stay, and their names."""
        kept, names = [], []
        for piece in pieces:
            name, _, value = piece.partition("=")
            if piece and self._stays(name, value, site):
                kept.append(piece)
                names.append(name)
        return kept, names

    def _stays(self, name: str, value: str, site: SiteRule | None) -> bool:
        if site is not None:
            low = name.lower()
            if low in site.keep or low in site.drop:
                return low in site.keep
        if name in self._staying:
            return True
        leaving = self._verdict(name) if len(name) <= _MAX_CACHED_CHARS else self._judge(name)
        if leaving is None:
            self._remember(name)
            return True
        return leaving.match(value) is None

    def _remember(self, name: str) -> None:
        """Note a name that always stays and is spelled as it reads, so that it sorts as it is."""
        if name and len(name) <= _MAX_CACHED_CHARS and not _DECODES_OTHERWISE.search(name):
            if len(self._staying) >= _CACHED_NAMES:
                self._staying.clear()
            self._staying.add(name)

    def _judge(self, name: str) -> re.Pattern[str] | None:
        """The values with which a parameter of that name goes; None when it always stays."""
        low = name.lower()
        if low in self._gone or low.startswith(self._prefixes):
            return _ANY
        if low in self._shaped:
            return self._shaped[low]
        return next((v for k, v in self._shaped_prefixes.items() if low.startswith(k)), None)


_ANY = re.compile("")


def _without_session(query: str) -> str:
    return _PATH_STYLE_SESSION.sub("", query) if ";" in query else query


def sort_key(parameter: str) -> tuple[bytes, str, bytes, str]:
    """
    Name, then value, both as a form decoder reads them, then the spelling.

    A parameter without `=` stands before the same name with an empty value, so the order never
    depends on how the parameters came.
    """
    name, equals, value = parameter.replace("+", " ").partition("=")
    return unquote_to_bytes(name), equals, unquote_to_bytes(value), parameter


def site_rules(text: str, where: str) -> list[SiteRule]:
    """
    The rules that a site file holds.

    Raises:
        ConfigError: names every fault, with `where` in front.
    """
    try:
        tables = tomllib.loads(text).get("site", [])
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{where}: site must be tables, each under [[site]], got {tables!r}")
    faults = [f"{where}: {fault}" for n, table in enumerate(tables) for fault in _faults(n, table)]
    if faults:
        raise ConfigError(*faults)
    return [
        SiteRule(
            host=table["host"].lower().rstrip("."),
            keep=frozenset(name.lower() for name in table.get("keep", ())),
            drop=frozenset(name.lower() for name in table.get("drop", ())),
            sort=table.get("sort", True),
        )
        for table in tables
    ]


def _faults(number: int, table: dict[str, Any]) -> Iterable[str]:
    here = f"site {number + 1}"
    if not isinstance(table.get("host"), str) or not table["host"].isascii():
        yield f"{here}: host must be a host name in ASCII, got {table.get('host')!r}"
    for key in ("keep", "drop"):
        names = table.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            yield f"{here}: {key} must be a list of parameter names, got {names!r}"
    if not isinstance(table.get("sort", True), bool):
        yield f"{here}: sort must be true or false, got {table['sort']!r}"
    yield from (f"{here}: {key} is not a key of a site" for key in sorted(set(table) - _SITE_KEYS))


def _packaged(name: str) -> str:
    return resources.files("aragog.urls").joinpath(name).read_text("utf-8")


def packaged_rules() -> QueryRules:
    """The rules that come with aragog, read anew."""
    data = tomllib.loads(_packaged("query_rules.toml"))
    sessions = [(entry, re.compile(entry["value"])) for entry in data["session"]]
    return QueryRules(
        gone=(name for entry in data["tracking"] for name in entry.get("names", ())),
        prefixes=(name for entry in data["tracking"] for name in entry.get("prefixes", ())),
        shaped={n: shape for entry, shape in sessions for n in entry.get("names", ())},
        shaped_prefixes={n: shape for entry, shape in sessions for n in entry.get("prefixes", ())},
        sites=site_rules(_packaged("site_rules.toml"), "site_rules.toml"),
    )
