"""
Kinds of items of single sites, from the tables in `extract` that are no rules for fields. Pure.

    [extract."shop.example".cards]
    pages = "*/c/*"
    each = "css:.card"
    fields = { sku = "css:.sku", price = { select = "css:.price", type = "decimal" } }
    required = ["price"]
    key = "sku"
    follow = "css:a.next"

    [extract."shop.example".lamps]
    python = "shop.py:Lamp"

Kinds hold for their host and all hosts below it; of two kinds of one name that of the longer host
name counts. `richpins.items` has what they mean. `python` names a class made by
`richpins.items.item`, or a function that gets an `ExtractorPage` and returns dicts or dataclasses:
in a file, or in an installed module.

A page stores the items of a kind in one field, `items.cards`, which is JSON:

    {"v": 1, "site": "shop.example", "items": [{"key": "L-1", "values": {…}}, …],
     "dropped": {"price: nothing found": 2}, "follow": ["https://shop.example/c/lamps?page=2"],
     "link": "url", "parents": {"category": ["cards", "category"]}, "files": ["image"]}

All but the first three are left out where they are empty. `link` names the field with the URL of an
item's own page, if items of that page take values over from it; those say so in `parents`. `files`
names the fields whose URLs are files of the item.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from aragog.errors import ConfigError, InvalidUrl
from aragog.settings.extractor_names import ITEMS, is_of_file
from urlspelling.domain import host
from urlspelling.hosts import and_parents

# The rules of kinds import the parser of pages, 50 ms of CPU. Whoever reads the store needs this
# module, and no parser unless there are kinds.
if TYPE_CHECKING:
    from richpins.field_types import FieldType
    from richpins.items import FoundItems, Item, ItemKind

VERSION = 1
_REST = ("dropped", "unreadable", "follow", "link", "parents", "files")
PYTHON = "python"
Load = Callable[[str], Any]
"""Returns what a name such as `shop.py:Lamp` stands for; raises ConfigError."""


@dataclass(frozen=True, slots=True)
class SiteKind:
    """A kind, and the host whose table it is."""

    site: str
    kind: ItemKind


@dataclass(frozen=True, slots=True)
class PageItems:
    """The items of one kind as a page stores them."""

    site: str
    """The host of the rules: a key is one item on all its pages."""
    items: tuple[Item, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    follow: tuple[str, ...] = ()
    link: str = ""
    """The field with the URL of the page whose items take values over; empty: none does."""
    parents: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fields whose values come from the item that links to this page: its kind and its field."""
    files: tuple[str, ...] = ()
    """Fields with the URLs of files that belong to the item."""

    @property
    def file_urls(self) -> Iterator[str]:
        """The URLs of all files of the items, in their order; some may come again."""
        for each in self.items:
            for name in self.files:
                yield from urls_in(each.values.get(name))

    def stored(self) -> dict[str, Any]:
        """As JSON."""
        items = [
            {"key": each.key, "values": dict(each.values)} if each.key else {"values": each.values}
            for each in self.items
        ]
        more = {name: getattr(self, name) for name in _REST}
        given = {name: value for name, value in more.items() if value}
        return {"v": VERSION, "site": self.site, "items": items, **given}

    @classmethod
    def read(cls, stored: bytes | None) -> PageItems:
        """The items in a field's bytes; none if it is absent, or no version that is known here."""
        try:
            wire = orjson.loads(stored or b"{}")
            if wire.get("v") != VERSION:
                return cls("", ())
            from richpins.items import Item  # noqa: PLC0415 - see above

            return cls(
                str(wire["site"]),
                tuple(Item(each["values"], each.get("key", "")) for each in wire["items"]),
                wire.get("dropped", {}),
                wire.get("unreadable", {}),
                tuple(wire.get("follow", ())),
                wire.get("link", ""),
                {name: (str(of), str(it)) for name, (of, it) in wire.get("parents", {}).items()},
                tuple(map(str, wire.get("files", ()))),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            return cls("", ())


def urls_in(value: Any) -> Iterator[str]:
    """The URLs in the value of a field: one, or a list."""
    yield from (url for url in (value if isinstance(value, list) else [value]) if _is_url(url))


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def file_column(name: str) -> str:
    """The name of the member that describes a stored file, beside the field with its URL."""
    return f"{name}.file"


def field_of(kind: str) -> str:
    """The name of the field that holds the items of a kind."""
    return f"{ITEMS}.{kind}"


def kind_in(name: str) -> str | None:
    """The kind whose items a field holds; None: it holds none."""
    prefix, _, kind = name.partition(".")
    return kind if prefix == ITEMS and kind else None


class SiteKinds:
    """
    The kinds of all sites.

    Args:
        tables: `extract` of the settings.
        load: what a name under `python` stands for.

    Raises:
        ConfigError: a line for each mistake, with its host, kind and key.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]], load: Load) -> None:
        problems: list[str] = []
        self._by_host: dict[str, dict[str, SiteKind]] = {}
        for name, table in tables.items():
            kinds = {kind: rules for kind, rules in table.items() if not isinstance(rules, str)}
            if kinds:
                problems += self._add(name, kinds, load)
        problems += self._problems_of_parents()
        if problems:
            raise ConfigError(*problems)

    def _add(self, name: str, kinds: Mapping[str, Any], load: Load) -> list[str]:
        """Add the kinds of a host; returns the mistakes."""
        from aragog.pages.selectors import host_of_rules  # noqa: PLC0415 - see above
        from richpins.items import InvalidKind  # noqa: PLC0415

        site = host_of_rules(name, [])
        problems: list[str] = []
        for kind, rules in kinds.items():
            try:
                found = SiteKind(site, _kind(kind, rules, load))
                self._by_host.setdefault(site, {})[kind] = found
            except InvalidKind as error:
                problems += [f"extract: {name}: {kind}: {line}" for line in error.problems]
            except ConfigError as error:
                problems.append(f"extract: {name}: {kind}: {PYTHON}: {error}")
        return problems

    def __bool__(self) -> bool:
        return bool(self._by_host)

    def __iter__(self) -> Iterator[SiteKind]:
        return (each for kinds in self._by_host.values() for each in kinds.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all kinds, each once."""
        return tuple(dict.fromkeys(each.kind.name for each in self))

    def of(self, url: str) -> dict[str, SiteKind]:
        """The kinds for the page of a URL, by name."""
        try:
            name = host(url)
        except InvalidUrl:
            return {}
        kinds: dict[str, SiteKind] = {}
        for parent in and_parents(name):
            kinds = {**self._by_host.get(parent, {}), **kinds}
        return kinds

    def leads_on(self, url: str) -> bool:
        """Whether the page of a URL may name pages that continue it, or files of its items."""
        return any(each.kind.follow or each.kind.files for each in self.of(url).values())

    def found(self, page: Any) -> dict[str, Any]:
        """
        The items of a page (`ExtractorPage`) by kind, as they are stored.

        Raises:
            ValueError, TypeError: a function returned what is no item.
            Exception: whatever a function raises.
        """
        result: dict[str, Any] = {}
        kinds = self.of(page.url)
        if not kinds:
            return result
        from richpins.items import find  # noqa: PLC0415 - see above

        for name, each in kinds.items():
            items = find(each.kind, page.document, page)
            if items:
                result[name] = self._as_stored(each, items).stored()
        return result

    def _as_stored(self, each: SiteKind, found: FoundItems) -> PageItems:
        kind = each.kind
        link = (kind.link or "") if self.handed_down(kind.name) else ""
        return PageItems(
            each.site,
            found.items,
            found.dropped,
            found.unreadable,
            found.follow,
            link,
            kind.parents if found.items else {},
            kind.files if found.items else (),
        )

    def types(self, kind: str) -> dict[str, FieldType]:
        """The types of the fields of a kind; of two sites with different types neither."""
        found: dict[str, FieldType] = {}
        differing: set[str] = set()
        for each in self:
            if each.kind.name != kind:
                continue
            for name, its_type in each.kind.types.items():
                if found.setdefault(name, its_type) != its_type:
                    differing.add(name)
        return {name: its_type for name, its_type in found.items() if name not in differing}

    def columns(self, kind: str) -> tuple[str, ...]:
        """The names of the fields of a kind in the order of the settings."""
        kinds = [each.kind for each in self if each.kind.name == kind]
        return tuple(dict.fromkeys(field.name for each in kinds for field in each.fields))

    def columns_with_files(self, kind: str) -> tuple[str, ...]:
        """The same, each field with the URL of a file followed by what is stored of it."""
        files = {name for each in self if each.kind.name == kind for name in each.kind.files}
        names = ((name, *([file_column(name)] * (name in files))) for name in self.columns(kind))
        return tuple(column for some in names for column in some)

    def has_functions(self, kinds: Sequence[str]) -> bool:
        """Whether one of these kinds is a function, whose fields nobody knows before it ran."""
        return any(each.kind.name in kinds and not each.kind.fields for each in self)

    def handed_down(self, kind: str) -> frozenset[str]:
        """Fields of a kind that items of the pages it links to take over."""
        parents = [parent for each in self for parent in each.kind.parents.values()]
        return frozenset(name for of, name in parents if of == kind)

    def _problems_of_parents(self) -> Iterator[str]:
        """Values that no kind hands down."""
        for each in self:
            for name, (of, field_name) in each.kind.parents.items():
                givers = [other.kind for other in self if other.kind.name == of]
                if not any(giver.link and _has(giver, field_name) for giver in givers):
                    yield (
                        f"extract: {each.site}: {each.kind.name}: fields.{name}.from_parent: there "
                        f"is no kind {of} that has a field {field_name} and a link"
                    )


def _has(kind: ItemKind, name: str) -> bool:
    return kind.function is not None or any(field.name == name for field in kind.fields)


def _kind(name: str, rules: Any, load: Load) -> ItemKind:
    from richpins.items import InvalidKind, kind_of  # noqa: PLC0415 - see above

    if not isinstance(rules, Mapping):
        raise InvalidKind([f"must be a rule such as css:h1, or a table, got {rules!r}"])
    table = dict(rules)
    source = table.pop(PYTHON, None)
    return kind_of(name, table, None if source is None else load(str(source)))


def kind_names(tables: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """The names of the kinds of all hosts in `extract`; loads none of their Python."""
    return frozenset(
        kind
        for table in tables.values()
        for kind, rules in table.items()
        if not isinstance(rules, str)
    )


def load_kinds(tables: Mapping[str, Mapping[str, Any]]) -> SiteKinds:
    """
    The kinds of the settings; those of equal settings are made once.

    Raises:
        ConfigError: as `SiteKinds`.
    """
    with_kinds = {
        name: {kind: rules for kind, rules in table.items() if not isinstance(rules, str)}
        for name, table in tables.items()
    }
    return _loaded(orjson.dumps(with_kinds, default=str, option=orjson.OPT_NON_STR_KEYS))


@lru_cache(maxsize=16)
def _loaded(tables: bytes) -> SiteKinds:
    return SiteKinds(orjson.loads(tables), _named)


def _named(name: str) -> Any:
    """The class or function of a file or a module, as `shop.py:Lamp` or `shop.items:Lamp`."""
    from aragog.pages.extractors import of_file  # noqa: PLC0415 - it imports this module

    if is_of_file(name):
        return of_file(name)
    module, _, attribute = name.rpartition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ConfigError(f"{name!r} cannot be loaded: {error}") from error
