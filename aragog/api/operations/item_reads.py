"""Operations that read items. A page can have many items, each identified by its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.options import Option
from aragog.api.operations.values import Cursor, Limit, Purpose
from aragog.errors import BadInput
from aragog.urlstore.item_reader import ItemVersion
from aragog.urlstore.records import ListPage
from aragog.urlstore.store import UrlStore
from aragog.urlstore.stored_items import StoredItem
from aragog.urlstore.tombstones import site_name

Kind = Annotated[
    str,
    Option(
        "A kind in `extract`, such as `cards`.",
        pattern="[a-z][a-z0-9_]{0,63}",
        rule="must consist of lowercase letters, digits and underscores",
    ),
]
SiteHost = Annotated[
    str,
    Option(
        "The host whose extraction rules define the kind, or a subdomain to get only the items on "
        "its pages."
    ),
]
Values = Annotated[
    Mapping[str, Any],
    Option(
        "Field names and values. Decimals and dates are strings. In Thrift, each value is JSON.",
        is_json=True,
    ),
]


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """
    One item, as shown on the most recently fetched page that has it.

    `item["price"]` is the value of its field `price`.
    """

    kind: str
    key: str
    """The item's key, which is unique within its kind, or "" if it has none."""
    values: Values
    page_url: str
    """The canonical URL of the page."""
    fetched_at_ms: int
    """When the page was fetched."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A page of items, with a cursor for the next page. The last page has no cursor."""

    items: tuple[ItemRecord, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ItemsRequest:
    """Which items of a kind to list."""

    kind: Kind
    host: SiteHost
    limit: Limit = 100
    cursor: Cursor = None
    _: KW_ONLY
    key: Annotated[str | None, Option("Only the item with this key.", max_bytes=2000)] = None
    purpose: Purpose = None


@operation(
    ItemsRequest, http=HttpRoute("GET", "/v1/items", next_link=True), thrift="UrlStore.items"
)
def items(caller: Caller, request: ItemsRequest) -> ItemPage:
    """
    List a kind's items, in no particular order. An item on several pages is returned once.
    Items without a key are returned together with all other items of their web page, so a result
    may exceed its limit. It may also be shorter, or empty, even if more items follow its cursor.
    Raises BadInput for a kind that is neither in `extract` nor stored for this host.
    """
    site = site_name(request.host)

    def read(store: UrlStore) -> ListPage[StoredItem]:
        if request.key is not None:
            item = store.items.get(request.kind, site, request.key, purpose=request.purpose)
            return ListPage([item] if item else [])
        return store.items.page(
            request.kind,
            site,
            limit=request.limit,
            cursor=request.cursor or None,
            purpose=request.purpose,
        )

    page = caller.read(read)
    if not page.items and page.cursor is None:
        _check_kind(caller, request.kind, site)
    return ItemPage(tuple(map(_to_record, page.items)), page.cursor)


def _check_kind(caller: Caller, kind: str, site: str) -> None:
    """
    Check that a kind is in `extract`, or that the site still has stored items of this kind.

    Raises:
        BadInput: the kind is unknown. The message lists the known kinds.
    """
    kinds = caller.parts.kinds
    if kinds is None or kind in kinds:
        return
    stored = caller.read(lambda store: store.items.page(kind, site, limit=1))
    if not stored.items and stored.cursor is None:
        contents = f"has {', '.join(sorted(kinds))}" if kinds else "has no kinds"
        raise BadInput(
            f"kind: {kind!r} is unknown; `extract` {contents}, and {site} has no such items"
        )


def _to_record(item: StoredItem) -> ItemRecord:
    return ItemRecord(item.kind, item.key, item.values, item.page_url, item.fetched_at_ms)


@dataclass(frozen=True, slots=True)
class PastItem:
    """An item's values from `at_ms` on. They are None if no page had the item then."""

    at_ms: int
    values: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Field names and values, or null if no page had it. In Thrift, each value is JSON.",
            is_json=True,
        ),
    ]


@dataclass(frozen=True, slots=True)
class ItemHistoryRequest:
    """The item whose history is read."""

    kind: Kind
    host: SiteHost
    key: Annotated[str, Option("The key of the item.", max_bytes=2000)]
    _: KW_ONLY
    purpose: Purpose = None


@operation(
    ItemHistoryRequest,
    http=HttpRoute("GET", "/v1/items/history", member="history"),
    thrift="UrlStore.itemHistory",
)
def item_history(caller: Caller, request: ItemHistoryRequest) -> list[PastItem]:
    """
    Return earlier versions of an item on the pages that have it now, newest first.

    `store.history` determines how long the earlier values of `items.KIND` are kept. If it does not
    contain this field, only the current version is returned.
    """
    site = site_name(request.host)

    def read(store: UrlStore) -> list[ItemVersion]:
        return store.items.history(request.kind, site, request.key, purpose=request.purpose)

    versions = caller.read(read)
    if not versions:
        _check_kind(caller, request.kind, site)
    return [PastItem(version.at_ms, version.values) for version in versions]
