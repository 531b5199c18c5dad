"""Reads items for one call, each from the most recently fetched page that has it."""

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

MAX_PAGES_PER_ITEM = 50
"""Maximum number of pages to compare to find an item's most recently fetched one."""
BATCH_SIZE = 20
"""Number of pages read at once; each may have up to half a megabyte of items."""
_MAX_CACHED_PAGES = 64
"""Number of pages cached per call; the index scatters a page's items."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item, with its values on the most recently fetched page that has it."""

    site: str
    """The host whose extraction rules define the kind."""
    kind: str
    values: Mapping[str, Any]
    """JSON values by field name; decimals and dates are strings."""
    page_url: str
    """The page's canonical URL."""
    fetched_at_ms: int
    key: str = ""
    """The item's key, unique within its kind; empty if it has none."""
    position: int = 0
    """The item's position on its page, starting at 0."""
    also_from: tuple[str, ...] = ()
    """Other sources of the values: the URL that returned the page, if it is not `page_url`, and the
    pages of items from which this item inherits values."""
    files: tuple[str, ...] = ()
    """Names of fields with URLs of files; `values` also describes the stored files."""


class ItemReading:
    """Reads items of one kind, with a cache of recently read pages."""

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
        self._cached: OrderedDict[tuple[str, str], Record | None] = OrderedDict()

    def items(
        self, entries: Sequence[ItemEntry], site: str, *, below: str, key: str | None = None
    ) -> list[StoredItem]:
        """
        Return the items on pages of the host `below` or its subdomains. `entries` must contain all
        entries of each item.
        """
        groups = [
            list(islice(item_entries, MAX_PAGES_PER_ITEM))
            for _, item_entries in groupby(entries, key=lambda entry: entry.item)
        ]
        self._cache_pages([entry.url for group in groups for entry in group], self._kind)
        items: list[StoredItem] = []
        for group in groups:
            records = [
                record
                for entry in group
                if (record := self._usable_record(entry.url, self._kind)) is not None
                and is_below(record.canonical_url, below)
            ]
            records.sort(key=_fetched_ms, reverse=True)
            items += self._items_of_entry(group[0], records, site, key)
        return self.with_files(items)

    def with_files(self, items: Sequence[StoredItem]) -> list[StoredItem]:
        """
        Add descriptions of the items' stored files.

        Takes one multi-get if they have files.
        """
        urls = {
            url for item in items for name in item.files for url in urls_in(item.values.get(name))
        }
        stored = stored_files(self._pages, sorted(urls), self._purpose) if urls else {}
        return [replace(item, values=_add_files(item, stored)) for item in items]

    def _items_of_entry(
        self, entry: ItemEntry, newest_first: Sequence[Record], site: str, key: str | None
    ) -> list[StoredItem]:
        """Return an entry's item or, if it has no key, all its page's items without a key."""
        for record in newest_first:
            page_items = list(self.of_record(record))
            matching = [
                item
                for item in page_items
                if item.site == site and (item.key == key if key else _belongs_to(item, entry))
            ]
            if matching:
                return matching
        return []

    def of_record(self, record: Record) -> Iterator[StoredItem]:
        page_items = PageItems.read(record.fields.get(field_of(self._kind)))
        inherited_values, linking_urls = self._inherited_values(record, page_items.parents)
        also_from = dict.fromkeys([*_senders(record), *linking_urls])
        also_from.pop(record.canonical_url, None)
        for position, item in enumerate(page_items.items):
            yield StoredItem(
                page_items.site,
                self._kind,
                {**item.values, **inherited_values},
                record.canonical_url,
                _fetched_ms(record),
                item.key,
                position,
                tuple(also_from),
                page_items.files,
            )

    def _inherited_values(
        self, record: Record, parents: Mapping[str, tuple[str, str]]
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the values from items that link to the page, and the URLs of their pages."""
        requested = record.facts.get("url")
        urls = dict.fromkeys([record.canonical_url, str(requested or record.canonical_url)])
        linking_items = {
            kind: self._linking_item(kind, urls)
            for kind in {parent_kind for parent_kind, _ in parents.values()}
        }
        values = {
            name: linking_items[parent_kind][0].get(field)
            for name, (parent_kind, field) in parents.items()
        }
        return values, [url for _, pages in linking_items.values() for url in pages]

    def _linking_item(self, kind: str, urls: Iterable[str]) -> tuple[Mapping[str, Any], list[str]]:
        """Return the values of the item that links to one of the URLs, and its page's URLs."""
        candidates: list[tuple[int, Mapping[str, Any], list[str]]] = []
        for url in urls:
            with closing(self._index.of_item(link_prefix(kind, url))) as entries:
                pages = [entry.url for entry in islice(entries, MAX_PAGES_PER_ITEM)]
            self._cache_pages(pages, kind)
            for page in pages:
                record = self._usable_record(page, kind)
                if record is None:
                    continue
                items = PageItems.read(record.fields.get(field_of(kind)))
                page_urls = [record.canonical_url, *_senders(record)]
                candidates += [
                    (_fetched_ms(record), item.values, page_urls)
                    for item in items.items
                    if item.values.get(items.link) == url
                ]
        newest = max(candidates, key=lambda candidate: candidate[0], default=None)
        return newest[1:] if newest else ({}, [])

    def _cache_pages(self, urls: Sequence[str], kind: str) -> None:
        """Read the pages that are not cached yet, in small batches to limit memory."""
        uncached = [url for url in dict.fromkeys(urls) if (kind, url) not in self._cached]
        for start in range(0, len(uncached), BATCH_SIZE):
            batch = uncached[start : start + BATCH_SIZE]
            for url, record in zip(batch, self._get_many(batch, kind), strict=True):
                self._cached[kind, url] = record
        while len(self._cached) > max(_MAX_CACHED_PAGES, len(urls)):
            self._cached.popitem(last=False)

    def _usable_record(self, url: str, kind: str) -> Record | None:
        """Return a page's record; None if it is missing or may not be used for the purpose."""
        if (kind, url) not in self._cached:
            (self._cached[kind, url],) = self._get_many([url], kind)
        record = self._cached[kind, url]
        return record if record and self.is_shown(record) else None

    def is_shown(self, record: Record) -> bool:
        if not self._withheld and absent_as(record.facts) in WITHHELD:
            return False
        return is_allowed(record.facts, self._purpose)

    def _get_many(self, urls: Sequence[str], kind: str) -> list[Record | None]:
        return self._pages.get_many(urls, [field_of(kind)])


def _add_files(item: StoredItem, stored: Mapping[str, StoredFile]) -> dict[str, Any]:
    """Return the values, each file field followed by the description of its stored files."""
    values: dict[str, Any] = {}
    for name, value in item.values.items():
        values[name] = value
        if name in item.files:
            values[file_column(name)] = _describe_files(value, stored)
    return values


def _describe_files(value: Any, stored: Mapping[str, StoredFile]) -> Any:
    """
    Return the description of a URL's stored file, or None.

    For a list of URLs, returns a list.
    """
    if isinstance(value, list):
        return [_describe_files(url, stored) for url in value]
    return stored.get(value) if isinstance(value, str) else None


def _belongs_to(item: StoredItem, entry: ItemEntry) -> bool:
    if item.key:
        return key_prefix(item.site, item.kind, item.key) == entry.item
    return item_prefix(item.site, item.kind, url_key(entry.url)) == entry.item


def is_below(url: str, site: str) -> bool:
    """Return True if a URL is on the host `site` or one of its subdomains."""
    name = host(url)
    return name == site or name.endswith(f".{site}")


def _fetched_ms(record: Record) -> int:
    return int(record.facts.get("fetched_at_ms") or 0)


def _senders(record: Record) -> list[str]:
    sender = record.facts.get("final_url")
    return [sender] if isinstance(sender, str) else []
