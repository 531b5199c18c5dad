"""Reads stored items and their histories, by site and kind or by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from aragog.errors import BadInput
from aragog.pages.items import PageItems, field_of
from aragog.urlstore.items import LAST_PAGE, ItemEntry, ItemIndex, is_item_name, key_prefix
from aragog.urlstore.reader import Pages
from aragog.urlstore.records import ListPage, is_allowed
from aragog.urlstore.stored_items import BATCH_SIZE, MAX_PAGES_PER_ITEM, ItemReading, StoredItem
from urlspelling.hosts import and_parents
from zengraph import MultiGraph


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """An item's values from `at_ms` on; None if no page had the item."""

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
        Return items of a kind, in no particular order. Each item with a key is returned once.

        Args:
            kind: the kind's name in the settings.
            site: the host whose extraction rules define the kind. Pass a subdomain to get only the
                items on its pages.
            limit: number of items, 1 or more. A page's items without a key are returned together,
                even if they exceed the limit.
            cursor: the cursor of the previous part.
            purpose: omit pages whose sites refuse this use.

        Raises:
            BadInput: an invalid cursor.
        """
        reading = ItemReading(self._index, self._pages, kind, purpose)
        site_index, _, position = (cursor or "").partition(".")
        sites = list(and_parents(site.lower().rstrip(".")))
        if cursor and (site_index not in map(str, range(len(sites))) or not _is_cursor(position)):
            raise BadInput(f"cursor: {cursor[:80]!r} is not a valid cursor")
        items: list[StoredItem] = []
        for number in range(int(site_index or 0), len(sites)):
            after = bytes.fromhex(position) if str(number) == site_index else b""
            with closing(self._index.of_kind(sites[number], kind, after)) as entries:
                for batch in _batches(entries, limit):
                    items += reading.items(batch, sites[number], below=site)
                    if len(items) >= limit:
                        last = batch[-1].item + LAST_PAGE
                        return ListPage(items, f"{number}.{last.hex()}")
        return ListPage(items)

    def get(
        self, kind: str, site: str, key: str, *, purpose: str | None = None
    ) -> StoredItem | None:
        """Return the item with this key, or None if no page has it."""
        reading = ItemReading(self._index, self._pages, kind, purpose)
        for parent in and_parents(site.lower().rstrip(".")):
            entries = self._read_key(parent, kind, key)
            if items := reading.items(entries, parent, below=site, key=key):
                return items[0]
        return None

    def all(
        self,
        kind: str,
        site: str,
        *,
        below: str = "",
        purpose: str | None = None,
        withheld: bool = True,
    ) -> Iterator[StoredItem]:
        """
        Yield all items of a kind that one site defines. Items with a key are yielded once.

        Takes constant memory.

        Args:
            kind: its name in the settings.
            site: the host whose extraction rules define the kind.
            below: only items on pages of this host and its subdomains; empty for all.
            purpose: as for `page`.
            withheld: include pages that are now withheld (401, 402, 403, 451).
        """
        reading = ItemReading(self._index, self._pages, kind, purpose, withheld=withheld)
        with closing(self._index.of_kind(site, kind)) as entries:
            for batch in _batches(entries, BATCH_SIZE * 5):
                yield from reading.items(batch, site, below=below or site)

    def with_keys(
        self,
        kind: str,
        site: str,
        keys: Iterable[str],
        *,
        below: str = "",
        purpose: str | None = None,
        withheld: bool = True,
    ) -> Iterator[StoredItem]:
        """Yield the items with one of these keys, in the order of `keys`; otherwise like `all`."""
        reading = ItemReading(self._index, self._pages, kind, purpose, withheld=withheld)
        for key in keys:
            entries = self._read_key(site, kind, key)
            yield from reading.items(entries, site, below=below or site, key=key)

    def on_pages(
        self,
        kind: str,
        urls: Iterable[str],
        on_page: Callable[[PageItems], object] = lambda _: None,
        *,
        purpose: str | None = None,
        withheld: bool = True,
    ) -> Iterator[StoredItem]:
        """
        Yield the items on the given pages, in the order of the pages. An item on several pages is
        yielded several times.

        Calls `on_page` with each page's stored items. Takes constant memory.
        """
        reading = ItemReading(self._index, self._pages, kind, purpose, withheld=withheld)
        remaining = iter(urls)
        while batch := list(islice(remaining, BATCH_SIZE)):
            for record in self._pages.get_many(batch, [field_of(kind)]):
                if record is None or not record.fields or not reading.is_shown(record):
                    continue
                on_page(PageItems.read(record.fields[field_of(kind)]))
                yield from reading.with_files(list(reading.of_record(record)))

    def linked(self, kind: str, urls: Sequence[str]) -> set[str]:
        """
        Return the URLs whose items inherit values from items on these pages.

        Takes one multi-get per 20 pages.
        """
        linked_urls: set[str] = set()
        for start in range(0, len(urls), BATCH_SIZE):
            for record in self._pages.get_many(urls[start : start + BATCH_SIZE], [field_of(kind)]):
                page_items = PageItems.read(record.fields.get(field_of(kind)) if record else None)
                linked_urls |= {
                    url for item in page_items.items if (url := item.values.get(page_items.link))
                }
        return linked_urls

    def history(
        self, kind: str, site: str, key: str, *, purpose: str | None = None
    ) -> list[ItemVersion]:
        """
        Return an item's versions, newest first, as far back as the history of the field
        `items.KIND` goes (see the setting `store.history`).

        Combines the histories of the pages that have the item now.
        """
        field = field_of(kind)
        for parent in and_parents(site.lower().rstrip(".")):
            page_urls = {entry.url for entry in self._read_key(parent, kind, key)}
            pages = [
                self._pages.history(url, field)
                for url in sorted(page_urls)
                if (record := self._pages.get(url, ())) is not None
                and is_allowed(record.facts, purpose)
            ]
            if versions := _merged_versions(pages, key):
                return versions
        return []

    def _read_key(self, site: str, kind: str, key: str) -> list[ItemEntry]:
        with closing(self._index.of_item(key_prefix(site, kind, key))) as entries:
            return list(islice(entries, MAX_PAGES_PER_ITEM))


def _batches(entries: Iterable[ItemEntry], size: int) -> Iterator[list[ItemEntry]]:
    """Yield the entries of `size` items at a time; an item's entries stay together."""
    batch: list[ItemEntry] = []
    for number, (_, item_entries) in enumerate(groupby(entries, key=lambda entry: entry.item), 1):
        batch += islice(item_entries, MAX_PAGES_PER_ITEM)
        if number % size == 0:
            yield batch
            batch = []
    if batch:
        yield batch


def _is_cursor(text: str) -> bool:
    try:
        return is_item_name(bytes.fromhex(text))
    except ValueError:
        return False


def _find_values(items: PageItems, key: str) -> Mapping[str, Any] | None:
    return next((item.values for item in items.items if item.key == key), None)


def _merged_versions(pages: Sequence[Sequence[tuple[bytes, int]]], key: str) -> list[ItemVersion]:
    """Return an item's versions from the histories of its pages, newest first."""
    observations = [
        (at_ms, page, _find_values(PageItems.read(value), key))
        for page, values_of_page in enumerate(pages)
        for value, at_ms in values_of_page
    ]
    current: dict[int, Mapping[str, Any]] = {}
    versions: list[ItemVersion] = []
    for at_ms, page, values in sorted(observations, key=lambda observation: observation[:2]):
        current.pop(page, None)
        if values is not None:
            current[page] = values
        newest = next(reversed(current.values()), None)
        if (versions[-1].values if versions else None) != newest:
            versions.append(ItemVersion(at_ms, newest))
    return versions[::-1]
