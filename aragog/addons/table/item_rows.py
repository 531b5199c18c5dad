"""A table of items: its columns, one row per item, and the rows that change with the pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import orjson

from aragog.addons.table.delta_files import DeltaFiles, TableState
from aragog.addons.table.rows import DELETED, Merge, bucket_number, takedown_check
from aragog.errors import BadInput
from aragog.pages.items import SiteKinds
from aragog.transfer.parquet import arrow_type
from aragog.transfer.typed_fields import to_cell
from aragog.urlstore.store import UrlStore
from aragog.urlstore.stored_items import StoredItem, is_below
from richpins.field_types import TEXT, FieldType

BUILT_IN_COLUMNS = (
    "item_id", "bucket", "site", "item_key", "item_position", "page_url", "also_from",
    "fetched_at_ms",
)  # fmt: skip
"""The columns of every table, in addition to fields."""
RESERVED = ("page_url", "fetched_at_ms")
"""Columns of every table, which `--fields` also accepts."""
_BATCH_SIZE = 1000
_READ_BATCH_SIZE = 500


class _KnownRow(NamedTuple):
    item_id: str
    site: str
    item_key: str | None
    page_url: str
    also_from: list[str] | None

    @property
    def urls(self) -> Iterator[str]:
        """Yield the URLs of the pages that the item's values come from."""
        yield self.page_url
        yield from self.also_from or ()


class ItemTableRows:
    """
    The rows of a table of items.

    An item with a key has one row, with the values of the most recently fetched page. Pages that
    are withheld, or whose sites refuse the purpose, do not count. An item without a key is
    identified by its page and its position on the page.

    Args:
        store: contains the pages.
        files: the table.
        kinds: the kinds in the settings.
        state: the kind, its fields, the host, the number of partitions and the purpose.

    Raises:
        BadInput: there is no such kind or field, or a field has the name of another column.
    """

    key = "item_id"
    noun = "items"
    max_pages = 1000
    """Changed pages per merge. With a hundred items of 1 KB per page, they take 100 MB."""

    def __init__(
        self, store: UrlStore, files: DeltaFiles, kinds: SiteKinds, state: TableState
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra; takes 0.2 s

        self._arrow, self._store, self._files, self._state = pa, store, files, state
        self._kind = state.items or ""
        site_kinds = [each for each in kinds if each.kind.name == self._kind]
        self._sites = [each.site for each in site_kinds]
        self._parent_kinds = {kind for each in site_kinds for kind, _ in each.kind.parents.values()}
        types = kinds.types(self._kind)
        self._types = {name: types.get(name) for name in _fields(kinds, self._kind, state.fields)}
        text = pa.string()
        columns = dict.fromkeys(BUILT_IN_COLUMNS, text)
        columns |= {"bucket": pa.int32(), "item_position": pa.int32()}
        columns |= {"also_from": pa.list_(text), "fetched_at_ms": pa.int64()}
        columns |= {name: arrow_type(pa, each or TEXT) for name, each in self._types.items()}
        self.schema = pa.schema(list(columns.items()))

    def exported_batches(self) -> Iterator[Any]:
        """Yield record batches of all items."""
        items = (
            item
            for site in self._sites
            for item in self._store.items.all(
                self._kind, site, below=self._state.host or "", purpose=self._state.purpose,
                withheld=False,
            )
        )  # fmt: skip
        while batch := list(islice(items, _BATCH_SIZE)):
            rows = list(map(self._row, batch))
            yield self._arrow.RecordBatch.from_pylist(rows, schema=self.schema)

    def merge(self, urls: Collection[str], *, taken_down: bool) -> Merge | None:
        """
        Return the current rows of items that are on these pages, or were at the last merge.

        If an item has left its page, its row comes from another page or is deleted.
        """
        changed_urls = self._add_related_pages(urls)
        known_rows = self._known_rows(
            changed_urls, takedown_check(self._store) if taken_down else None
        )
        items = self._current_items(changed_urls, known_rows)
        deleted = sorted({row.item_id for row in known_rows} - items.keys())
        if not items and not deleted:
            return None
        rows = [{**self._row(item), DELETED: False} for item in items.values()]
        rows += [{**self._key_cells(item_id), DELETED: True} for item_id in deleted]
        schema = self.schema.append(self._arrow.field(DELETED, self._arrow.bool_()))
        return Merge(self._arrow.Table.from_pylist(rows, schema=schema), len(items), len(deleted))

    def _add_related_pages(self, urls: Collection[str]) -> set[str]:
        """Add the URLs' canonical URLs, and pages whose items inherit values from these pages."""
        changed = sorted(urls)
        pages = set(changed).union(
            *(self._store.items.linked(kind, changed) for kind in sorted(self._parent_kinds))
        )
        for batch in _slices(sorted(pages), _READ_BATCH_SIZE):
            records = self._store.get_many(batch, ())
            pages |= {record.canonical_url for record in records if record}
        return pages

    def _known_rows(
        self, changed_urls: Collection[str], is_taken_down: Callable[[str | None], bool] | None
    ) -> list[_KnownRow]:
        import pyarrow.compute as pc  # noqa: PLC0415 - an extra; takes 0.2 s

        row_filter = None
        if is_taken_down is None:
            has_page = pc.field("page_url").isin(
                self._arrow.array(sorted(changed_urls), self._arrow.string())
            )
            row_filter = has_page | pc.field("also_from").is_valid()
        rows = (_KnownRow(*row) for row in self._files.read(_KnownRow._fields, row_filter))
        return [
            row
            for row in rows
            if any(
                url in changed_urls or (is_taken_down and is_taken_down(url)) for url in row.urls
            )
        ]

    def _current_items(
        self, changed_urls: Collection[str], known_rows: Collection[_KnownRow]
    ) -> dict[str, StoredItem]:
        keys = defaultdict[str, set[str]](set)
        for row in known_rows:
            if row.item_key:
                keys[row.site].add(row.item_key)
        pages = {*changed_urls, *(row.page_url for row in known_rows if not row.item_key)}
        items_by_id: dict[str, StoredItem] = {}
        for item in self._items_of_pages(pages):
            if item.key:
                keys[item.site].add(item.key)
            else:
                items_by_id[_item_id(item)] = item
        for site in keys.keys() & set(self._sites):
            for item in self._store.items.with_keys(
                self._kind, site, sorted(keys[site]), below=self._state.host or "",
                purpose=self._state.purpose, withheld=False,
            ):  # fmt: skip
                items_by_id[_item_id(item)] = item
        return items_by_id

    def _items_of_pages(self, urls: Iterable[str]) -> Iterator[StoredItem]:
        items = self._store.items.on_pages(
            self._kind, sorted(urls), purpose=self._state.purpose, withheld=False
        )
        for item in items:
            if item.site in self._sites and is_below(item.page_url, self._state.host or item.site):
                yield item

    def _key_cells(self, item_id: str) -> dict[str, Any]:
        return {"item_id": item_id, "bucket": bucket_number(item_id, self._state.buckets)}

    def _row(self, item: StoredItem) -> dict[str, Any]:
        cells = {
            name: _cell(item.values.get(name), field_type)
            for name, field_type in self._types.items()
        }
        return {
            **self._key_cells(_item_id(item)),
            "site": item.site,
            "item_key": item.key or None,
            "item_position": item.position,
            "page_url": item.page_url,
            "also_from": list(item.also_from) or None,
            "fetched_at_ms": item.fetched_at_ms,
            **cells,
        }


def _fields(kinds: SiteKinds, kind: str, requested: Sequence[str]) -> list[str]:
    if kind not in kinds.names:
        kind_names = ", ".join(kinds.names) or "none"
        raise BadInput(f"the setting `extract` has no item kind {kind!r}; known: {kind_names}")
    known = kinds.columns(kind)
    fields = [name for name in dict.fromkeys(requested or known) if name not in RESERVED]
    has_function = any(each.kind.function for each in kinds if each.kind.name == kind)
    if not fields:
        raise BadInput(f"{kind}: a function extracts these items; list their fields with --fields")
    if (unknown := set(fields) - set(known)) and not has_function:
        raise BadInput(f"{kind} has no field {min(unknown)!r}; known: {', '.join(known)}")
    if reserved := [name for name in fields if name in BUILT_IN_COLUMNS]:
        raise BadInput(
            f"field {reserved[0]!r}: another column has this name; rename the field, or "
            "leave it out with --fields"
        )
    return fields


def _item_id(item: StoredItem) -> str:
    page_position = (item.page_url, str(item.position))
    parts = [item.site, item.kind, item.key, *(() if item.key else page_position)]
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _cell(value: Any, field_type: FieldType | None) -> Any:
    """
    Convert a value for its column. Return None if the type does not match. In a column without a
    type, all values except strings become JSON.
    """
    if value is None:
        return None
    if field_type is None:
        return value if isinstance(value, str) else orjson.dumps(value).decode()
    try:
        return to_cell(value, field_type)
    except ValueError:
        return None


def _slices(urls: list[str], size: int) -> Iterator[list[str]]:
    return (urls[start : start + size] for start in range(0, len(urls), size))
