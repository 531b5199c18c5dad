"""Measure every operation on the store's tables and on the content store."""

from __future__ import annotations

from typing import Any, cast

from aragog.instruments import CONTENT_SECONDS, STORE_SECONDS, Histogram, timed_calls
from aragog.urlstore.content_port import ContentStore
from aragog.zen.tables import CellTable, Tables

_TABLE = (
    "get", "get_many", "values_many", "put", "put_many", "delete", "delete_many",
    "check_and_put", "check_and_put_many", "incr",
)  # fmt: skip
_CONTENT = ("put", "put_many", "get", "delete")


class _Timed:
    """An adapter whose calls of some names are timed; the others are its own."""

    def __init__(self, adapter: Any, names: tuple[str, ...], histogram: Histogram) -> None:
        self._adapter = adapter
        for name in names:
            setattr(self, name, timed_calls(getattr(adapter, name), histogram.of(name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)


class _TimedTables(_Timed):
    def __init__(self, adapter: Tables) -> None:
        super().__init__(adapter, ("write",), STORE_SECONDS)
        self._tables: dict[str, CellTable] = {}

    def __getitem__(self, name: str) -> CellTable:
        if name not in self._tables:
            timed_table = _Timed(self._adapter[name], _TABLE, STORE_SECONDS)
            self._tables[name] = cast("CellTable", timed_table)
        return self._tables[name]


def timed_tables(tables: Tables) -> Tables:
    """The tables, with each operation but scans measured in `aragog_store_seconds`."""
    return cast("Tables", _TimedTables(tables))


def timed_content(content: ContentStore) -> ContentStore:
    """The content store, with each operation but listing measured in `aragog_content_seconds`."""
    return cast("ContentStore", _Timed(content, _CONTENT, CONTENT_SECONDS))
