"""The items of records: of the pages that have an item that which was fetched last, in one call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from aragog.pages.items import PageItems, field_of, file_column, urls_in
from aragog.urlstore.item_files import StoredFile, stored_files
from aragog.urlstore.items import ItemEntry, ItemIndex, item_prefix, key_prefix, link_prefix
from aragog.urlstore.reader import Pages
from aragog.urlstore.records import WITHHELD, Record, absent_as, is_allowed
from urlspelling import url_key
from urlspelling.domain import host

MOST_PAGES_OF_AN_ITEM = 50
"""Pages of an item among which the one that was fetched last is chosen."""
AT_ONCE = 20
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
    """Its key, which no other item of its kind has; empty: it has no key."""
    position: int = 0
    """Its place among its page's items, from 0."""
    also_from: tuple[str, ...] = ()
    """
    The URLs beside `page_url` that the values come from: that which sent the page, if it was
    another, and the pages of items whose values it takes over.
    """
    files: tuple[str, ...] = ()
    """Fields with the URLs of files; what is stored of them is beside them in `values`."""


class ItemReading:
    """Reads items of one kind for one call, and remembers the pages that it read last."""

    def __init__(
        self,
        index: ItemIndex,
        pages: Pages,
        kind: str,
        purpose: str | None,
        *,
        withheld: bool = True,
    ) -> None:
        self._index = index
        self._pages = pages
        self._kind = kind
        self._purpose = purpose
        self._withheld = withheld
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
                and is_below(record.canonical_url, below)
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
        """The item of an entry, or its page's items if they have no key."""
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
        """A record's items, with the values that they take over."""
        found = PageItems.read(record.fields.get(field_of(self._kind)))
        taken_over, givers = self._taken_over(record, found.parents)
        also_from = dict.fromkeys([*_senders(record), *givers])
        also_from.pop(record.canonical_url, None)
        for position, each in enumerate(found.items):
            yield StoredItem(
                found.site,
                self._kind,
                {**each.values, **taken_over},
                record.canonical_url,
                _fetched_ms(record),
                each.key,
                position,
                tuple(also_from),
                found.files,
            )

    def _taken_over(
        self, record: Record, parents: Mapping[str, tuple[str, str]]
    ) -> tuple[dict[str, Any], list[str]]:
        """
        The values that a page's items have from those which link to it, and the URLs of their
        pages; None: nothing.
        """
        requested = record.facts.get("url")
        urls = dict.fromkeys([record.canonical_url, str(requested or record.canonical_url)])
        givers = {kind: self._giver(kind, urls) for kind in {of for of, _ in parents.values()}}
        values = {name: givers[of][0].get(field) for name, (of, field) in parents.items()}
        return values, [url for _, pages in givers.values() for url in pages]

    def _giver(self, kind: str, urls: Iterable[str]) -> tuple[Mapping[str, Any], list[str]]:
        """
        The values of the item that links to one of the URLs, of the page fetched last, and the URLs
        of that page.
        """
        found: list[tuple[int, Mapping[str, Any], list[str]]] = []
        for url in urls:
            with closing(self._index.of_item(link_prefix(kind, url))) as entries:
                pages = [entry.url for entry in islice(entries, MOST_PAGES_OF_AN_ITEM)]
            self._read(pages, kind)
            for page in pages:
                record = self._record(page, kind)
                if record is None:
                    continue
                items = PageItems.read(record.fields.get(field_of(kind)))
                of_page = [record.canonical_url, *_senders(record)]
                found += [
                    (_fetched_ms(record), each.values, of_page)
                    for each in items.items
                    if each.values.get(items.link) == url
                ]
        newest = max(found, key=lambda one: one[0], default=None)
        return newest[1:] if newest else ({}, [])

    def _read(self, urls: Sequence[str], kind: str) -> None:
        """Read pages that are not remembered, a few at a time."""
        new = [url for url in dict.fromkeys(urls) if (kind, url) not in self._remembered]
        for at in range(0, len(new), AT_ONCE):
            some = new[at : at + AT_ONCE]
            for url, record in zip(some, self._get_many(some, kind), strict=True):
                self._remembered[kind, url] = record
        while len(self._remembered) > max(_REMEMBERED, len(urls)):
            self._remembered.popitem(last=False)

    def _record(self, url: str, kind: str) -> Record | None:
        """A page that a reader may have, or None."""
        if (kind, url) not in self._remembered:
            (self._remembered[kind, url],) = self._get_many([url], kind)
        record = self._remembered[kind, url]
        return record if record and self.is_shown(record) else None

    def is_shown(self, record: Record) -> bool:
        """Whether a page's items are given out."""
        if not self._withheld and absent_as(record.facts) in WITHHELD:
            return False
        return is_allowed(record.facts, self._purpose)

    def _get_many(self, urls: Sequence[str], kind: str) -> list[Record | None]:
        return self._pages.get_many(urls, [field_of(kind)])


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


def is_below(url: str, site: str) -> bool:
    """Whether a URL is of a host or one below it."""
    name = host(url)
    return name == site or name.endswith(f".{site}")


def _fetched_ms(record: Record) -> int:
    return int(record.facts.get("fetched_at_ms") or 0)


def _senders(record: Record) -> list[str]:
    """The URL that sent a page, if it is known."""
    sender = record.facts.get("final_url")
    return [sender] if isinstance(sender, str) else []
