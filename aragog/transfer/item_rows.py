"""
Items as rows of a file: one row per item, with its fields and the page that shows it as columns.

    kind (if there are several), the fields in the settings' order, page_url

A price is a number with its exact digits, and a date is a string. The column `FIELD.file` describes
the stored file of a URL field. An item on several pages becomes one row, from the page fetched
last. To find that page, the pages are read twice, with 150 bytes of memory per item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from typing import Any

from aragog.errors import BadInput
from aragog.pages.items import PageItems, SiteKinds
from aragog.transfer.rows import Row
from aragog.urlstore.store import UrlStore
from aragog.urlstore.stored_items import StoredItem
from richpins.field_types import FieldType

COMMON_COLUMNS = ("kind", "page_url", "fetched_at_ms")
PAGE_COLUMN = "page_url"

Items = Callable[[str], Iterable[StoredItem]]
"""Starts a new iteration over a kind's items."""


class ItemRows:
    """
    Turns the items of some kinds into rows.

    Args:
        kinds: the kinds in the settings.
        names: the kinds to include; empty for all.
        fields: the columns, in order. If None, all fields of the kinds, and the page.

    Raises:
        BadInput: an unknown kind or field.
    """

    def __init__(
        self, kinds: SiteKinds, names: Sequence[str] = (), fields: Sequence[str] | None = None
    ) -> None:
        known = kinds.names
        if unknown := [name for name in names if name not in known]:
            known_names = ", ".join(known) or "none"
            raise BadInput(
                f"the setting `extract` has no item kind {unknown[0]!r}; known: {known_names}"
            )
        self.kinds = tuple(names) or known
        if fields is not None and not kinds.has_functions(self.kinds):
            _check_fields(fields, kinds, self.kinds)
        self._types = {name: kinds.types(name) for name in self.kinds}
        self.columns = _columns(kinds, self.kinds) if fields is None else tuple(fields)
        self._chosen = None if fields is None else frozenset(fields)
        self.dropped: Counter[str] = Counter()
        """Number of dropped items by reason, in the most recent read."""

    def rows_of_pages(self, store: UrlStore, urls: Sequence[str]) -> Iterator[Row]:
        """Yield the items of these pages (canonical URLs), in page order and without duplicates."""
        self.dropped.clear()
        for kind in self.kinds:
            newest = _newest_pages(store.items.on_pages(kind, urls, self._count_dropped))
            yield from self.unique_rows(store.items.on_pages(kind, urls), newest)

    def _count_dropped(self, page: PageItems) -> None:
        self.dropped.update(page.dropped)

    def unique_rows(
        self, items: Iterable[StoredItem], newest: Mapping[bytes, tuple[int, str]]
    ) -> Iterator[Row]:
        """Yield the rows of items, each from the page fetched last."""
        for item in items:
            if not item.key or newest.get(_digest(item)) == (
                item.fetched_at_ms,
                item.page_url,
            ):
                yield self.row(item)

    def row(self, item: StoredItem) -> Row:
        """Return the row of one item."""
        types = self._types.get(item.kind, {})
        row: Row = {"kind": item.kind} if "kind" in self.columns else {}
        row |= {name: _value(value, types.get(name)) for name, value in item.values.items()}
        row |= {PAGE_COLUMN: item.page_url, "fetched_at_ms": item.fetched_at_ms}
        if self._chosen is not None:
            return {name: row.get(name) for name in self.columns}
        del row["fetched_at_ms"]
        return row

    def dropped_text(self) -> str:
        """
        Describe dropped items, as in `; 3 dropped (3 price: nothing found)`; "" if there are
        none.
        """
        if not self.dropped:
            return ""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        return f"; {self.dropped.total():,} dropped ({reasons})"


def _check_fields(fields: Sequence[str], kinds: SiteKinds, names: Sequence[str]) -> None:
    available = {"kind", *_columns(kinds, names), "fetched_at_ms"}
    if unknown := [name for name in fields if name not in available]:
        known = ", ".join(sorted(available))
        raise BadInput(f"items of {', '.join(names)} have no field {unknown[0]!r}; known: {known}")


def _columns(kinds: SiteKinds, names: Sequence[str]) -> tuple[str, ...]:
    fields = dict.fromkeys(field for name in names for field in kinds.columns_with_files(name))
    first = ("kind",) if len(names) > 1 else ()
    return (*first, *fields, PAGE_COLUMN)


def _newest_pages(items: Iterable[StoredItem]) -> dict[bytes, tuple[int, str]]:
    newest_pages: dict[bytes, tuple[int, str]] = {}
    for item in items:
        if item.key:
            name, page = _digest(item), (item.fetched_at_ms, item.page_url)
            newest_pages[name] = max(page, newest_pages.get(name, page))
    return newest_pages


def _digest(item: StoredItem) -> bytes:
    text = f"{item.site}\n{item.kind}\n{item.key}"
    return blake2b(text.encode(), digest_size=16).digest()


def _value(value: Any, field_type: FieldType | None) -> Any:
    if field_type is None or value is None:
        return value
    if field_type.kind == "list" and isinstance(value, list):
        return [_value(part, field_type.item) for part in value]
    if field_type.kind == "decimal" and isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            return value
    return value
