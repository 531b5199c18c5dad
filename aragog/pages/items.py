"""
The kinds of items that each site has, as defined by the tables in `extract`.

    [extract."shop.example".cards]
    pages = "*/c/*"
    each = "css:.card"
    fields = { sku = "css:.sku", price = { select = "css:.price", type = "decimal" } }
    required = ["price"]
    key = "sku"
    follow = "css:a.next"

    [extract."shop.example".lamps]
    python = "shop.py:Lamp"

A kind applies to its host and all of its subdomains. Of two kinds with the same name, the one with
the longer host name wins. `richpins.items` documents the keys. `python` names a class made by
`richpins.items.item`, or a function that takes an `ExtractorPage` and returns dicts or dataclasses.

A page stores all items of a kind in one field, `items.cards`, which is JSON:

    {"v": 1, "site": "shop.example", "items": [{"key": "L-1", "values": {…}}, …],
     "dropped": {"price: nothing found": 2}, "follow": ["https://shop.example/c/lamps?page=2"],
     "link": "url", "parents": {"category": ["cards", "category"]}, "files": ["image"]}

Keys after the first three are left out if empty. An item may pass values on to the items of a page
that it links to: `link` names the field with that page's URL, and the linked page's items list the
inherited values in `parents`. `files` names the fields with URLs of files that belong to the item.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from aragog.errors import ConfigError, InvalidUrl
from aragog.settings.extractor_names import ITEMS, is_file_name
from urlspelling.domain import host
from urlspelling.hosts import and_parents

# Rules for kinds of items need the page parser, whose import takes 50 ms of CPU. Every program that
# reads the store imports this module, but needs the parser only if the settings have kinds.
if TYPE_CHECKING:
    from richpins.field_types import FieldType
    from richpins.items import FoundItems, Item, ItemKind

VERSION = 1
_OPTIONAL_MEMBERS = ("dropped", "unreadable", "follow", "link", "parents", "files")
PYTHON = "python"
Load = Callable[[str], Any]
"""Loads the object with a name such as `shop.py:Lamp`. Raises ConfigError if it can't."""


@dataclass(frozen=True, slots=True)
class SiteKind:
    """A kind of items, with the host whose table defines it."""

    site: str
    kind: ItemKind


@dataclass(frozen=True, slots=True)
class PageItems:
    """The items of one kind on a page."""

    site: str
    """The host of the rules. On all of its pages, the same key means the same item."""
    items: tuple[Item, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    follow: tuple[str, ...] = ()
    link: str = ""
    """The field with the URL of the linked page, if its items inherit values; otherwise empty."""
    parents: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The fields inherited from the item that links to this page, with that item's kind and
    field."""
    files: tuple[str, ...] = ()
    """Fields with the URLs of files that belong to the item."""

    @property
    def file_urls(self) -> Iterator[str]:
        """Yield the URLs of all the items' files, in order. There may be duplicates."""
        for item in self.items:
            for name in self.files:
                yield from urls_in(item.values.get(name))

    def stored(self) -> dict[str, Any]:
        """Return the items as the JSON object that a page stores."""
        items = [
            {"key": item.key, "values": dict(item.values)} if item.key else {"values": item.values}
            for item in self.items
        ]
        optional = {name: getattr(self, name) for name in _OPTIONAL_MEMBERS}
        present = {name: value for name, value in optional.items() if value}
        return {"v": VERSION, "site": self.site, "items": items, **present}

    @classmethod
    def read(cls, stored: bytes | None) -> PageItems:
        """
        Read the items in a field. There are none if the field is missing, its version is unknown,
        or its JSON is invalid.
        """
        try:
            json = orjson.loads(stored or b"{}")
            if json.get("v") != VERSION:
                return cls("", ())
            from richpins.items import Item  # noqa: PLC0415 - see above

            return cls(
                str(json["site"]),
                tuple(Item(item["values"], item.get("key", "")) for item in json["items"]),
                json.get("dropped", {}),
                json.get("unreadable", {}),
                tuple(json.get("follow", ())),
                json.get("link", ""),
                {
                    name: (str(parent_kind), str(parent_field))
                    for name, (parent_kind, parent_field) in json.get("parents", {}).items()
                },
                tuple(map(str, json.get("files", ()))),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls("", ())


def urls_in(value: Any) -> Iterator[str]:
    """Yield the URLs in a field's value, which is a URL or a list of URLs."""
    yield from (url for url in (value if isinstance(value, list) else [value]) if _is_url(url))


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def file_column(name: str) -> str:
    """Return the name of the column that describes the files of a field."""
    return f"{name}.file"


def field_of(kind: str) -> str:
    """Return the name of the field that holds the items of a kind."""
    return f"{ITEMS}.{kind}"


def kind_from_field(name: str) -> str | None:
    """Return the kind whose items a field holds, or None if it holds no items."""
    prefix, _, kind = name.partition(".")
    return kind if prefix == ITEMS and kind else None


class SiteKinds:
    """
    The kinds of items of all sites.

    Args:
        tables: the setting `extract`.
        load: loads the class or function that `python` names.

    Raises:
        ConfigError: one line for each mistake, with its host, kind and key.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]], load: Load) -> None:
        problems: list[str] = []
        self._by_host: dict[str, dict[str, SiteKind]] = {}
        for name, table in tables.items():
            kinds = {kind: rules for kind, rules in table.items() if not isinstance(rules, str)}
            if kinds:
                problems += self._add(name, kinds, load)
        problems += self._parent_problems()
        if problems:
            raise ConfigError(*problems)

    def _add(self, name: str, kinds: Mapping[str, Any], load: Load) -> list[str]:
        """Add a host's kinds. Returns the mistakes in them."""
        from aragog.pages.selectors import normalize_rules_host  # noqa: PLC0415 - see above
        from richpins.items import InvalidKind  # noqa: PLC0415

        site = normalize_rules_host(name, [])
        problems: list[str] = []
        for kind, rules in kinds.items():
            try:
                found = SiteKind(site, _parse_kind(kind, rules, load))
                self._by_host.setdefault(site, {})[kind] = found
            except InvalidKind as error:
                problems += [f"extract: {name}: {kind}: {line}" for line in error.problems]
            except ConfigError as error:
                problems.append(f"extract: {name}: {kind}: {PYTHON}: {error}")
        return problems

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def __iter__(self) -> Iterator[SiteKind]:
        return (kind for kinds in self._by_host.values() for kind in kinds.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all kinds, without duplicates."""
        return tuple(dict.fromkeys(site_kind.kind.name for site_kind in self))

    def of(self, url: str) -> dict[str, SiteKind]:
        """Return the kinds that apply to a URL's page, by name."""
        try:
            name = host(url)
        except InvalidUrl:
            return {}
        kinds: dict[str, SiteKind] = {}
        for parent in and_parents(name):
            kinds = {**self._by_host.get(parent, {}), **kinds}
        return kinds

    def may_find_urls_to_follow(self, url: str) -> bool:
        """Return True if the page's rules may find files, or links to the next page of a list."""
        kinds = (site_kind.kind for site_kind in self.of(url).values())
        return any(kind.follow or kind.files for kind in kinds)

    def items_on(self, page: Any) -> dict[str, Any]:
        """
        Return the items on a page (an `ExtractorPage`) by kind, in their stored form.

        Raises:
            ValueError, TypeError: a function returned something that is not an item.
            Exception: any other error of a function.
        """
        result: dict[str, Any] = {}
        kinds = self.of(page.url)
        if not kinds:
            return result
        from richpins.items import find  # noqa: PLC0415 - see above

        for name, site_kind in kinds.items():
            items = find(site_kind.kind, page.document, page)
            if items:
                result[name] = self._page_items(site_kind, items).stored()
        return result

    def _page_items(self, site_kind: SiteKind, items: FoundItems) -> PageItems:
        kind = site_kind.kind
        link = (kind.link or "") if self.inherited_fields(kind.name) else ""
        return PageItems(
            site_kind.site,
            items.items,
            items.dropped,
            items.unreadable,
            items.follow,
            link,
            kind.parents if items.items else {},
            kind.files if items.items else (),
        )

    def types(self, kind: str) -> dict[str, FieldType]:
        """Return the types of a kind's fields, except fields whose type differs between sites."""
        found: dict[str, FieldType] = {}
        conflicting_names: set[str] = set()
        for site_kind in self:
            if site_kind.kind.name != kind:
                continue
            for name, field_type in site_kind.kind.types.items():
                if found.setdefault(name, field_type) != field_type:
                    conflicting_names.add(name)
        return {
            name: field_type for name, field_type in found.items() if name not in conflicting_names
        }

    def columns(self, kind: str) -> tuple[str, ...]:
        """Return the names of a kind's fields, in the order of the settings."""
        kinds = [site_kind.kind for site_kind in self if site_kind.kind.name == kind]
        return tuple(dict.fromkeys(field.name for found in kinds for field in found.fields))

    def columns_with_files(self, kind: str) -> tuple[str, ...]:
        """
        Return the names that `columns` returns. The name of a field with files is followed by the
        name of the column that describes the files.
        """
        kinds = [site_kind.kind for site_kind in self if site_kind.kind.name == kind]
        files = {name for found in kinds for name in found.files}
        groups = ((name, *([file_column(name)] * (name in files))) for name in self.columns(kind))
        return tuple(column for group in groups for column in group)

    def has_functions(self, kinds: Sequence[str]) -> bool:
        """Return True if a function extracts one of the kinds, so that its fields are unknown."""
        return any(site_kind.kind.name in kinds and not site_kind.kind.fields for site_kind in self)

    def inherited_fields(self, kind: str) -> frozenset[str]:
        """Return the fields of a kind that items on linked pages inherit."""
        parents = [parent for site_kind in self for parent in site_kind.kind.parents.values()]
        return frozenset(name for parent_kind, name in parents if parent_kind == kind)

    def _parent_problems(self) -> Iterator[str]:
        for site_kind in self:
            position = f"extract: {site_kind.site}: {site_kind.kind.name}"
            for name, (parent_kind, parent_field) in site_kind.kind.parents.items():
                providers = [other.kind for other in self if other.kind.name == parent_kind]
                if not any(
                    provider.link and _has_field(provider, parent_field) for provider in providers
                ):
                    yield (
                        f"{position}: fields.{name}.from_parent: there is no kind {parent_kind} "
                        f"that has a field {parent_field} and a link"
                    )


def _has_field(kind: ItemKind, name: str) -> bool:
    return kind.function is not None or any(field.name == name for field in kind.fields)


def _parse_kind(name: str, rules: Any, load: Load) -> ItemKind:
    from richpins.items import InvalidKind, kind_of  # noqa: PLC0415 - see above

    if not isinstance(rules, Mapping):
        raise InvalidKind([f"must be a rule such as css:h1, or a table, got {rules!r}"])
    table = dict(rules)
    source = table.pop(PYTHON, None)
    return kind_of(name, table, None if source is None else load(str(source)))


def kind_names(tables: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of all kinds in `extract`. Loads no Python code."""
    return frozenset(
        kind
        for table in tables.values()
        for kind, rules in table.items()
        if not isinstance(rules, str)
    )


def load_kinds(tables: Mapping[str, Mapping[str, Any]]) -> SiteKinds:
    """
    Return the kinds in the settings. Calls with equal settings return the same object.

    Raises:
        ConfigError: see `SiteKinds`.
    """
    with_kinds = {
        name: {kind: rules for kind, rules in table.items() if not isinstance(rules, str)}
        for name, table in tables.items()
    }
    return _build_kinds(orjson.dumps(with_kinds, default=str, option=orjson.OPT_NON_STR_KEYS))


@lru_cache(maxsize=16)
def _build_kinds(tables: bytes) -> SiteKinds:
    return SiteKinds(orjson.loads(tables), _load_object)


def _load_object(name: str) -> Any:
    from aragog.pages.extractors import load_from_file  # noqa: PLC0415 - it imports this module

    if is_file_name(name):
        return load_from_file(name)
    module, _, attribute = name.rpartition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ConfigError(f"{name!r} cannot be loaded: {error}") from error
