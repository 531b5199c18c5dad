"""
Finds a fetch's item changes, with their index records and change feed entries.

An item on several pages is compared with its values on the most recently fetched of them, so a
price that changed on three pages is reported once. Pages that are written at the same time may both
report it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import orjson

from aragog.pages.items import PageItems, field_of, kind_from_field
from aragog.urlstore import nodes
from aragog.urlstore.feed import Values, feed_text, item_name
from aragog.urlstore.items import ItemIndex, item_fields, key_prefix, record_names
from aragog.urlstore.nodes import Nodes, facts_of
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan
from zengraph import MultiGraph
from zengraph.records import Mutation, Row, put_record

MAX_COMPARED_ITEMS = 100
"""Other pages are read for at most this many changed items per page. Further items are compared
only with this page's stored items."""
MAX_PAGES_PER_ITEM = 50
"""Maximum number of pages read for an item."""
MAX_NEWS = 500
"""Maximum number of item values in one entry of the feed."""
_PAGE = b"i:p"
_FIELD_OF_ITEMS = field_of("")


class _OtherPageItem(NamedTuple):
    values: Mapping[str, Any]
    fetched_at_ms: int


def puts(plan: PageWritePlan) -> list[Mutation]:
    """Return the index records of items that are new on a page."""
    url = plan.target.canonical
    names = {
        name
        for field, value in _items_in(plan)
        for name in record_names(url, field, value) - _stored_names(plan.target, field)
    }
    return [put_record(name, {_PAGE: url.encode()}, plan.target.at_ms) for name in sorted(names)]


def outdated(plan: PageWritePlan) -> list[tuple[bytes, int]]:
    """Return the index records of removed items, each with the timestamp for its deletion."""
    target, written = plan.target, dict(_items_in(plan))
    fields = {*written, *(name for name in target.gone if kind_from_field(name))}
    return [
        (name, target.row[nodes.field_column(field)].at_ms)
        for field in sorted(fields)
        for name in sorted(
            _stored_names(target, field) - record_names(target.canonical, field, written.get(field))
        )
    ]


def _items_in(plan: PageWritePlan) -> list[tuple[str, bytes]]:
    names = _names_of_items(tuple(plan.target.page.fields))
    written = [(name, plan.cells.get(nodes.field_column(name))) for name in names]
    return [(name, value) for name, value in written if value is not None]


@lru_cache(maxsize=1024)
def _names_of_items(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that have items. Cached, because most pages have the same fields."""
    return tuple(
        name for name in fields if name.startswith(_FIELD_OF_ITEMS) and name != _FIELD_OF_ITEMS
    )


def _stored_names(target: PageTarget, field: str) -> set[bytes]:
    cell = target.row.get(nodes.field_column(field))
    return record_names(target.canonical, field, cell.value) if cell else set()


class ItemNews:
    """Finds changes to pages' items."""

    def __init__(self, zen: MultiGraph) -> None:
        self._index = ItemIndex(zen)
        self._nodes = Nodes(zen)
        self._clock = zen.clock

    def of(self, target: PageTarget, changed: Sequence[str]) -> dict[str, Values]:
        """
        Return each changed value of a page's items, by a name such as `items.cards["L-1"].price`.

        An added or removed item has a single entry, `items.cards["L-1"]`, with all its values.
        Items without a key are reported together under the name of the page's field. Takes one
        short scan for each changed item with a key, and one multi-get for all.
        """
        changes: dict[str, Values] = {}
        for field in sorted(name for name in changed if kind_from_field(name)):
            changes |= self._field_changes(target, field)
        if len(changes) > MAX_NEWS:
            item_fields = {field: (None, None) for field in changed if kind_from_field(field)}
            changes = {**dict(islice(changes.items(), MAX_NEWS)), **item_fields}
        return changes

    def _field_changes(self, target: PageTarget, field: str) -> dict[str, Values]:
        stored = target.page.fields.get(field)
        before, now = item_fields(target.row, field), PageItems.read(stored)
        old_items, new_items = _by_key(before), _by_key(now)
        changed = [
            key
            for key in dict.fromkeys([*old_items, *new_items])
            if old_items.get(key) != new_items.get(key)
        ]
        other_items = self._items_on_other_pages(
            target, field, now.site or before.site, changed[:MAX_COMPARED_ITEMS]
        )
        changes: dict[str, Values] = {}
        if _without_key(before) != _without_key(now):
            cell = target.row.get(nodes.field_column(field))
            changes[field] = feed_text(cell and cell.value), feed_text(stored)
        seen_ms = int(facts_of(target.row).get("fetched_at_ms") or 0)
        for key in changed:
            changes |= _compare_item(
                item_name(field, key),
                old_items.get(key),
                new_items.get(key),
                other_items.get(key),
                seen_ms,
            )
        return changes

    def _items_on_other_pages(
        self, target: PageTarget, field: str, site: str, keys: Sequence[str]
    ) -> dict[str, _OtherPageItem]:
        """Return these items from the most recently fetched other page that has them."""
        kind = kind_from_field(field) or ""
        pages: dict[str, list[str]] = {}
        for key in keys:
            entries = self._index.of_item(key_prefix(site, kind, key))
            page_urls = [entry.url for entry in islice(entries, MAX_PAGES_PER_ITEM)]
            entries.close()
            if page_urls := [url for url in page_urls if url != target.canonical]:
                pages[key] = page_urls
        urls = sorted({url for page_urls in pages.values() for url in page_urls})
        if not urls:
            return {}
        rows = self._nodes.follow(urls, [*_COLUMNS, nodes.field_column(field)])
        items = {
            url: (_by_key(item_fields(row, field)), int(facts_of(row).get("fetched_at_ms") or 0))
            for url, (canonical, row) in rows.items()
            if canonical != target.canonical and self._is_shown(row)
        }
        newest_items: dict[str, _OtherPageItem] = {}
        for key, page_urls in pages.items():
            of_pages = (items[url] for url in page_urls if url in items)
            candidates = [
                _OtherPageItem(values[key], at_ms) for values, at_ms in of_pages if key in values
            ]
            if candidates:
                newest_items[key] = max(candidates, key=lambda item: item.fetched_at_ms)
        return newest_items

    def _is_shown(self, row: Row) -> bool:
        if nodes.SENTINEL not in row or nodes.is_taken_down(row):
            return False
        hidden_until_ms = nodes.hidden_until_ms(row, self._clock.now_ms())
        return int(facts_of(row).get("fetched_at_ms") or 0) > hidden_until_ms


_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.SENTINEL, nodes.WITHDRAWN, nodes.FACTS,
)  # fmt: skip


def _compare_item(
    name: str,
    before: Mapping[str, Any] | None,
    now: Mapping[str, Any] | None,
    other: _OtherPageItem | None,
    seen_ms: int,
) -> dict[str, Values]:
    """Return the changes of an item, compared with its newest state on any page."""
    if now is None:
        return {} if other else {name: (_text(before), None)}
    if other and (before is None or other.fetched_at_ms > seen_ms):
        before = other.values
    if before is None:
        return {name: (None, _text(now))}
    return {
        f"{name}.{field}": (_text(before.get(field)), _text(now.get(field)))
        for field in dict.fromkeys([*before, *now])
        if before.get(field) != now.get(field)
    }


def _text(value: Any) -> str | None:
    return None if value is None else feed_text(orjson.dumps(value))


def _by_key(items: PageItems) -> dict[str, Mapping[str, Any]]:
    return {item.key: item.values for item in items.items if item.key}


def _without_key(items: PageItems) -> list[Mapping[str, Any]]:
    return [item.values for item in items.items if not item.key]
