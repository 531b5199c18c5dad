"""
List the names and sizes of a record's fields, without their values.

A record from the time before records had limits may be too large to read as a whole. Its fields
must then be read by name, and this operation lists the names.
"""

from __future__ import annotations

from dataclasses import dataclass

from aragog.api.operations.batch_urls import check_present
from aragog.api.operations.operation import Caller, HttpRoute, operation
from aragog.api.operations.values import Cursor, Limit, Url
from aragog.urlstore.store import UrlStore
from zengraph.tables import CellSize


@dataclass(frozen=True, slots=True)
class FieldSize:
    """A field without its value."""

    name: str
    size_bytes: int
    """The size of the value."""
    at_ms: int
    """When the field was set to this value, in ms since the epoch."""


@dataclass(frozen=True, slots=True)
class FieldSizePage:
    """A part of a record's fields, sorted by name."""

    fields: tuple[FieldSize, ...]
    cursor: str | None
    """Continues the list. None if the list is complete."""


@dataclass(frozen=True, slots=True)
class FieldSizesRequest:
    """Which fields of a record to list."""

    url: Url
    limit: Limit = 100
    cursor: Cursor = None


@operation(
    FieldSizesRequest,
    http=HttpRoute("GET", "/v1/fields", next_link=True),
    thrift="UrlStore.fieldSizes",
)
def field_sizes(caller: Caller, request: FieldSizesRequest) -> FieldSizePage | None:
    """
    List a record's fields with their sizes, even if the record is too large to read as a whole.

    Returns None if there is no record. Raises TakenDown if it was taken down.
    """

    def read(store: UrlStore) -> dict[str, CellSize] | None:
        return check_present(store, request.url, store.fields.sizes(request.url) or None)

    sizes = caller.read(read)
    if sizes is None:
        return None
    names = sorted(name for name in sizes if name > (request.cursor or ""))
    page = names[: request.limit]
    return FieldSizePage(
        tuple(FieldSize(name, *sizes[name]) for name in page),
        page[-1] if len(page) < len(names) else None,
    )
