"""Items as they are stored: of a site and kind, by key, and what they were before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from aragog.errors import BadInput
from aragog.pages.items import PageItems, field_of, file_column, urls_in
from aragog.urlstore.item_files import StoredFile, stored_files
from aragog.urlstore.items import (
    LAST_PAGE,
    ItemEntry,
    ItemIndex,
    is_of_kind,
    item_prefix,
    key_prefix,
    link_prefix,
)
from aragog.urlstore.reader import Pages
from aragog.urlstore.records import ListPage, Record, is_allowed
from urlspelling import url_key
from urlspelling.domain import host
from urlspelling.hosts import and_parents
from zengraph import MultiGraph

MOST_PAGES_OF_AN_ITEM = 50
"""Pages of an item among which the one that was fetched last is chosen."""
_AT_ONCE = 20
"""Pages that are read at a time: each has up to half a megabyte of items."""
_REMEMBERED = 64
"""Pages whose items a reader keeps: the items of a listing are apart in the index."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """One item, as the page shows it that was fetched last among those that have it."""

    site: str
    """The host of its rules."""
    kind: str
    values: Mapping[str, Any]
    """Field to JSON; decimals and dates are texts."""
    page_url: str
    """The canonical URL of that page."""
    fetched_at_ms: int
    """When that page was fetched."""
    key: str = ""
    """What tells it from the others of its kind; empty: nothing does."""
    files: tuple[str, ...] = ()
    """Fields with the URLs of files; what is stored of them is beside them in `values`."""


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """The values of an item from an instant on; None: no page had it."""

    at_ms: int
    values: Mapping[str, Any] | None


class Items:
    """Reads the items of pages; any number of threads may share it."""

    def __init__(self, zen: MultiGraph, pages: Pages) -> None:
        self._index = ItemIndex(zen)
        self._pages = pages

    def page(
        self,
        kind: str,
        site: str,
        *,
        limit: int = 100,
        cursor: str | None = None,
        purpose: str | None = None,
    ) -> ListPage[StoredItem]:
        """
        Items of a kind, in no particular order; each item with a key once.

        Args:
            kind: as the settings name it.
            site: the host of its rules, or one below it: then only items of that host's pages.
            limit: items, 1 or more; those without a key come together with all of their page.
            cursor: of the part before.
            purpose: only of pages whose sites do not refuse this use.

        Raises:
            BadInput: the cursor is not one that was given out.
        """
        reading = _Reading(self._index, self._pages, kind, purpose)
        at, _, place = (cursor or "").partition(".")
        sites = list(and_parents(site.lower().rstrip(".")))
        if cursor and (at not in map(str, range(len(sites))) or not _is_place(place)):
            raise BadInput(f"cursor {cursor[:80]!r}: is not one that was given out")
        found: list[StoredItem] = []
        for number in range(int(at or 0), len(sites)):
            beyond = bytes.fromhex(place) if str(number) == at else b""
            with closing(self._index.of_kind(sites[number], kind, beyond)) as entries:
                for some in _batches(entries, limit):
                    found += reading.items(some, sites[number], below=site)
                    if len(found) >= limit:
                        last = some[-1].item + LAST_PAGE
                        return ListPage(found, f"{number}.{last.hex()}")
        return ListPage(found)

    def get(
        self, kind: str, site: str, key: str, *, purpose: str | None = None
    ) -> StoredItem | None:
        """The item with a key; None: no page has it."""
        reading = _Reading(self._index, self._pages, kind, purpose)
        for each in and_parents(site.lower().rstrip(".")):
            entries = self._of_key(each, kind, key)
            if found := reading.items(entries, each, below=site, key=key):
                return found[0]
        return None

    def all(
        self, kind: str, site: str, *, below: str = "", purpose: str | None = None
    ) -> Iterator[StoredItem]:
        """
        All items of a kind of one site's rules, each with a key once, in constant memory.

        Args:
            kind: as the settings name it.
            site: the host of its rules.
            below: only items of pages of this host and those below it; empty: of all.
            purpose: as for `page`.
        """
        reading = _Reading(self._index, self._pages, kind, purpose)
        with closing(self._index.of_kind(site, kind)) as entries:
            for some in _batches(entries, _AT_ONCE * 5):
                yield from reading.items(some, site, below=below or site)

    def on_pages(
        self,
        kind: str,
        urls: Iterable[str],
        on_page: Callable[[PageItems], object] = lambda _: None,
    ) -> Iterator[StoredItem]:
        """
        The items of some pages, in their order; one that several pages have comes several times.

        `on_page` gets what each page that has any stores of them. Constant memory.
        """
        reading = _Reading(self._index, self._pages, kind, None)
        left = iter(urls)
        while some := list(islice(left, _AT_ONCE)):
            for record in self._pages.get_many(some, [field_of(kind)]):
                if record is None or not record.fields:
                    continue
                on_page(PageItems.read(record.fields[field_of(kind)]))
                yield from reading.with_files(list(reading.of_record(record)))

    def history(
        self, kind: str, site: str, key: str, *, purpose: str | None = None
    ) -> list[ItemVersion]:
        """
        The versions of an item, newest first, as far as `store.history` keeps `items.KIND`.

        Those of the pages that have it now, put together by their times.
        """
        field = field_of(kind)
        for each in and_parents(site.lower().rstrip(".")):
            urls = {entry.url for entry in self._of_key(each, kind, key)}
            pages = [
                self._pages.history(url, field)
                for url in sorted(urls)
                if (record := self._pages.get(url, ())) is not None
                and is_allowed(record.facts, purpose)
            ]
            if versions := _together(pages, key):
                return versions
        return []

    def _of_key(self, site: str, kind: str, key: str) -> list[ItemEntry]:
        with closing(self._index.of_item(key_prefix(site, kind, key))) as entries:
            return list(islice(entries, MOST_PAGES_OF_AN_ITEM))


class _Reading:
    """Reads items of one kind for one call, and remembers the pages that it read last."""

    def __init__(self, index: ItemIndex, pages: Pages, kind: str, purpose: str | None) -> None:
        self._index = index
        self._pages = pages
        self._kind = kind
        self._purpose = purpose
        self._remembered: OrderedDict[tuple[str, str], Record | None] = OrderedDict()

    def items(
        self, entries: Sequence[ItemEntry], site: str, *, below: str, key: str | None = None
    ) -> list[StoredItem]:
        """The items of whole groups of entries, of pages of a host and those below it."""
        groups = [
            list(islice(of_item, MOST_PAGES_OF_AN_ITEM))
            for _, of_item in groupby(entries, key=lambda entry: entry.item)
        ]
        self._read([entry.url for group in groups for entry in group], self._kind)
        found: list[StoredItem] = []
        for group in groups:
            records = [
                record
                for entry in group
                if (record := self._record(entry.url, self._kind)) is not None
                and _is_below(record.canonical_url, below)
            ]
            records.sort(key=_fetched_ms, reverse=True)
            found += self._chosen(group[0], records, site, key)
        return self.with_files(found)

    def with_files(self, items: Sequence[StoredItem]) -> list[StoredItem]:
        """The items with what is stored of their files: one multi-get if they have any."""
        urls = {u for each in items for n in each.files for u in urls_in(each.values.get(n))}
        stored = stored_files(self._pages, sorted(urls), self._purpose) if urls else {}
        return [replace(each, values=_with_files(each, stored)) for each in items]

    def _chosen(
        self, entry: ItemEntry, newest_first: Sequence[Record], site: str, key: str | None
    ) -> list[StoredItem]:
        """The item of an entry, or the items of its page if they have no key."""
        for record in newest_first:
            of_page = list(self.of_record(record))
            some = [
                each
                for each in of_page
                if each.site == site and (each.key == key if key else _is_of(each, entry))
            ]
            if some:
                return some
        return []

    def of_record(self, record: Record) -> Iterator[StoredItem]:
        """The items of a record, with the values that they take over."""
        found = PageItems.read(record.fields.get(field_of(self._kind)))
        taken_over = self._taken_over(record, found.parents) if found.parents else {}
        for each in found.items:
            yield StoredItem(
                found.site,
                self._kind,
                {**each.values, **taken_over},
                record.canonical_url,
                _fetched_ms(record),
                each.key,
                files=found.files,
            )

    def _taken_over(self, record: Record, parents: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
        """The values that a page's items have from those which link to it; None: nothing."""
        requested = record.facts.get("url")
        urls = dict.fromkeys([record.canonical_url, str(requested or record.canonical_url)])
        givers = {kind: self._giver(kind, urls) for kind in {of for of, _ in parents.values()}}
        return {name: givers[of].get(field) for name, (of, field) in parents.items()}

    def _giver(self, kind: str, urls: Iterable[str]) -> Mapping[str, Any]:
        """The values of the item that links to one of the URLs, of the page fetched last."""
        found: list[tuple[int, Mapping[str, Any]]] = []
        for url in urls:
            with closing(self._index.of_item(link_prefix(kind, url))) as entries:
                pages = [entry.url for entry in islice(entries, MOST_PAGES_OF_AN_ITEM)]
            self._read(pages, kind)
            for page in pages:
                record = self._record(page, kind)
                items = PageItems.read(record.fields.get(field_of(kind)) if record else None)
                found += [
                    (_fetched_ms(record), each.values)
                    for each in items.items
                    if record and each.values.get(items.link) == url
                ]
        return max(found, key=lambda one: one[0])[1] if found else {}

    def _read(self, urls: Sequence[str], kind: str) -> None:
        """Read pages that are not remembered, a few at a time."""
        new = [url for url in dict.fromkeys(urls) if (kind, url) not in self._remembered]
        for at in range(0, len(new), _AT_ONCE):
            some = new[at : at + _AT_ONCE]
            for url, record in zip(some, self._get_many(some, kind), strict=True):
                self._remembered[kind, url] = record
        while len(self._remembered) > max(_REMEMBERED, len(urls)):
            self._remembered.popitem(last=False)

    def _record(self, url: str, kind: str) -> Record | None:
        """A page that a reader may have; None: there is none."""
        if (kind, url) not in self._remembered:
            (self._remembered[kind, url],) = self._get_many([url], kind)
        record = self._remembered[kind, url]
        return record if record and is_allowed(record.facts, self._purpose) else None

    def _get_many(self, urls: Sequence[str], kind: str) -> list[Record | None]:
        return self._pages.get_many(urls, [field_of(kind)])


def _batches(entries: Iterable[ItemEntry], size: int) -> Iterator[list[ItemEntry]]:
    """Entries in whole items, about `size` of them at a time."""
    batch: list[ItemEntry] = []
    for number, (_, of_item) in enumerate(groupby(entries, key=lambda entry: entry.item), 1):
        batch += islice(of_item, MOST_PAGES_OF_AN_ITEM)
        if number % size == 0:
            yield batch
            batch = []
    if batch:
        yield batch


def _with_files(item: StoredItem, stored: Mapping[str, StoredFile]) -> dict[str, Any]:
    """The values, each URL of a file followed by what is stored of it."""
    values: dict[str, Any] = {}
    for name, value in item.values.items():
        values[name] = value
        if name in item.files:
            values[file_column(name)] = _files_of(value, stored)
    return values


def _files_of(value: Any, stored: Mapping[str, StoredFile]) -> Any:
    """What is stored of the file of a URL, or of those of a list; None: nothing."""
    if isinstance(value, list):
        return [_files_of(each, stored) for each in value]
    return stored.get(value) if isinstance(value, str) else None


def _is_of(item: StoredItem, entry: ItemEntry) -> bool:
    """Whether an item is that of an entry."""
    if item.key:
        return key_prefix(item.site, item.kind, item.key) == entry.item
    return item_prefix(item.site, item.kind, url_key(entry.url)) == entry.item


def _is_below(url: str, site: str) -> bool:
    name = host(url)
    return name == site or name.endswith(f".{site}")


def _is_place(text: str) -> bool:
    try:
        return is_of_kind(bytes.fromhex(text))
    except ValueError:
        return False


def _fetched_ms(record: Record) -> int:
    return int(record.facts.get("fetched_at_ms") or 0)


def _values_of(items: PageItems, key: str) -> Mapping[str, Any] | None:
    return next((each.values for each in items.items if each.key == key), None)


def _together(pages: Sequence[Sequence[tuple[bytes, int]]], key: str) -> list[ItemVersion]:
    """What pages had of an item, newest first, each change once."""
    moments = [
        (at_ms, page, _values_of(PageItems.read(value), key))
        for page, values_of_page in enumerate(pages)
        for value, at_ms in values_of_page
    ]
    shown: dict[int, Mapping[str, Any]] = {}
    versions: list[ItemVersion] = []
    for at_ms, page, values in sorted(moments, key=lambda moment: moment[:2]):
        shown.pop(page, None)
        if values is not None:
            shown[page] = values
        now = next(reversed(shown.values()), None)
        if (versions[-1].values if versions else None) != now:
            versions.append(ItemVersion(at_ms, now))
    return versions[::-1]
