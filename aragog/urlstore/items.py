"""
The index of items by site, kind and key.

A page has all items of a kind in one field (`aragog.pages.items`). The index has a record
(`MultiGraph.registry`) for each item and page, in the item's bucket:

| record | `i:p` |
|---|---|
| `item`, site, kind, item, page: 8, 8, 16 and 8 bytes of hashes | the URL of the page |
| `link`, kind, target, page: 8, 16 and 8 bytes of hashes | the URL of the page |

An item with a key is the same item on all its pages, and is read from the most recently fetched
page. A page's items without a key share one record. A record is written before its page's node, and
deleted after the node has changed. Each record found is checked against the node, so items that
were taken down, withdrawn or replaced are not returned. `aragog store repair` restores records lost
with a damaged file.

`link` records lead to the items that link to a page. The page's own items inherit values from them
(`from_parent`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from typing import NamedTuple

from aragog.pages.items import PageItems, kind_from_field
from aragog.urlstore import nodes
from urlspelling import url_key
from zengraph import MultiGraph
from zengraph.records import Cell, Mutation, Row, put_record

_KIND, _LINK = b"item\0", b"link\0"
_PAGE = b"i:p"
_SHORT, _LONG = 8, 16
_ITEM_BYTES = 1 + len(_KIND) + 2 * _SHORT + _LONG
_FIELDS = b"m:items."
LAST_PAGE = b"\xff" * _SHORT
"""A suffix that sorts after all records of an item."""
BUCKETS = range(16)


class ItemEntry(NamedTuple):
    """A record in the index."""

    name: bytes
    url: str
    """The page that has the item, or had it."""

    @property
    def item(self) -> bytes:
        """The part of the record's name that all pages with the item share."""
        return self.name[:_ITEM_BYTES]


def record_name(site: str, kind: str, key: str, url: str) -> bytes:
    """Return the name of an item's record for a page. `key` is empty for items without a key."""
    page = url_key(url)
    item_hash = _hash(key, _LONG) if key else page
    return item_prefix(site, kind, item_hash) + page[:_SHORT]


def item_prefix(site: str, kind: str, item: bytes) -> bytes:
    """Return the prefix of an item's record names, from the item's hash."""
    return bytes([item[0] % len(BUCKETS)]) + _of_kind(site, kind) + item


def key_prefix(site: str, kind: str, key: str) -> bytes:
    """Return the prefix of an item's record names, from the item's key."""
    return item_prefix(site, kind, _hash(key, _LONG))


def link_prefix(kind: str, target: str) -> bytes:
    """Return the prefix of the record names of items that link to a normalized URL."""
    key = url_key(target)
    return bytes([key[0] % len(BUCKETS)]) + _LINK + _hash(kind, _SHORT) + key


def _of_kind(site: str, kind: str) -> bytes:
    return _KIND + _hash(site, _SHORT) + _hash(kind, _SHORT)


def _hash(text: str, length: int) -> bytes:
    return sha256(text.encode()).digest()[:length]


def record_names(url: str, field: str, value: bytes | None) -> set[bytes]:
    """Return the names of the index records that a page's field requires."""
    kind = kind_from_field(field)
    if kind is None or not value:
        return set()
    items = PageItems.read(value)
    names = {record_name(items.site, kind, item.key, url) for item in items.items}
    if items.link:
        targets = {item.values.get(items.link) for item in items.items}
        page = url_key(url)[:_SHORT]
        names |= {link_prefix(kind, target) + page for target in targets if target}
    return names


def record_puts(url: str, fields: Mapping[str, bytes], at_ms: int) -> list[Mutation]:
    """Return the mutations that write the records for a page's fields."""
    names = set[bytes]().union(*(record_names(url, name, value) for name, value in fields.items()))
    return [put_record(name, {_PAGE: url.encode()}, at_ms) for name in sorted(names)]


def fields_of(row: Row) -> dict[str, bytes]:
    """Return the fields of a node that contain items."""
    return {
        column[2:].decode(): cell.value
        for column, cell in row.items()
        if column.startswith(_FIELDS)
    }


def stored_records(
    url: str, row: Row, columns: Iterable[bytes] | None = None
) -> list[tuple[bytes, int]]:
    """
    Return the names of a node's records, each with the timestamp for its deletion.

    Args:
        url: the node's URL.
        row: the node.
        columns: consider only these columns; None for all.
    """
    item_columns = [
        c for c in (row if columns is None else columns) if c.startswith(_FIELDS) and c in row
    ]
    return [
        (name, row[column].at_ms)
        for column in item_columns
        for name in sorted(record_names(url, column[2:].decode(), row[column].value))
    ]


def moved_puts(canonical: str, moved_cells: Mapping[bytes, Cell], target: Row) -> list[Mutation]:
    """Return the mutations that write the records of items that move to a canonical URL."""
    return [
        put
        for name, cell in moved_cells.items()
        if name.startswith(_FIELDS)
        for put in record_puts(
            canonical, {name[2:].decode(): cell.value}, nodes.after_moves(target, cell.at_ms)
        )
    ]


class ItemIndex:
    """Reads and deletes the records; threads may share it."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._registry = zen.registry

    def serves(self, name: bytes) -> bool:
        return self._zen.serves(name[0])

    def has(self, name: bytes) -> bool:
        return bool(self._registry.get(name))

    def skip_damaged(self, puts: Iterable[Mutation]) -> list[Mutation]:
        """Return the records that are not in damaged files."""
        return [put for put in puts if self.serves(put[1])]

    def forget(self, entries: Sequence[tuple[bytes, int]]) -> None:
        """Delete invalid records."""
        if served := [entry for entry in entries if self.serves(entry[0])]:
            self._registry.delete_many(served)

    def of_kind(
        self, site: str, kind: str, beyond: bytes = b""
    ) -> Generator[ItemEntry, None, None]:
        """Yield a kind's records after the name `beyond`. An item's records are adjacent."""
        for bucket in BUCKETS:
            prefix = bytes([bucket]) + _of_kind(site, kind)
            if beyond[:1] > prefix[:1] or not self.serves(prefix):
                continue
            start = beyond if beyond.startswith(prefix) else b""
            yield from self._walk(prefix, start)

    def of_item(self, prefix: bytes) -> Generator[ItemEntry, None, None]:
        if self.serves(prefix):
            yield from self._walk(prefix, b"")

    def walk(self) -> Generator[tuple[ItemEntry, int], None, None]:
        """Yield every record and its time."""
        for prefix in (bytes([bucket]) + kind for bucket in BUCKETS for kind in (_KIND, _LINK)):
            if self.serves(prefix):
                with closing(self._registry.walk(prefix)) as rows:
                    for name, row in rows:
                        yield ItemEntry(name, row[_PAGE].value.decode()), row[_PAGE].at_ms

    def _walk(self, prefix: bytes, beyond: bytes) -> Generator[ItemEntry, None, None]:
        with closing(self._registry.walk(prefix, start_after=beyond)) as rows:
            for name, row in rows:
                yield ItemEntry(name, row[_PAGE].value.decode())


def is_item_name(name: bytes) -> bool:
    """Return True if the bytes start like the name of an item's record."""
    return bool(name) and name[0] in BUCKETS and name[1:].startswith(_KIND)


def item_fields(row: Row, field: str) -> PageItems:
    """Return the items in a field of a node."""
    cell = row.get(nodes.field_column(field))
    return PageItems.read(cell.value if cell else None)
