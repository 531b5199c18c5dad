"""
Tables, packs and content stores that measure how long their operations take.

`aragog_store_seconds` has the operations on tables, except scans; `aragog_content_seconds` has
those on packs and on the content store, except listings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ParamSpec, TypeVar

from aragog.observability.instruments import CONTENT_SECONDS, STORE_SECONDS, timed_calls
from aragog.urlstore.content_port import Connectable, ContentPut, ContentStore
from aragog.urlstore.pack_files import PackFile, PackFiles
from zengraph.tables import CellTable, Deletion, Put, Row, Tables
from zengraph.tables.forwarding import Cells, ForwardingTable, ForwardingTables, Values

P = ParamSpec("P")
R = TypeVar("R")


def _store_timed(call: Callable[P, R]) -> Callable[P, R]:
    """Measure a method of tables. The label is the method's name."""
    return timed_calls(call, STORE_SECONDS.labels(call.__name__))


def _content_timed(call: Callable[P, R]) -> Callable[P, R]:
    """Measure a method of a content store. The label is the method's name."""
    return timed_calls(call, CONTENT_SECONDS.labels(call.__name__))


def _pack_timed(call: Callable[P, R]) -> Callable[P, R]:
    """Measure a method of pack files. The label is the method's name after `pack_`."""
    return timed_calls(call, CONTENT_SECONDS.labels("pack_" + call.__name__))


class TimedTables(ForwardingTables):
    """Measures the operations on an engine's tables, except scans."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._timed: dict[str, CellTable] = {}

    def __getitem__(self, name: str) -> CellTable:
        if name not in self._timed:
            self._timed[name] = _TimedTable(self._tables[name])
        return self._timed[name]

    @_store_timed
    def write(self, puts: Sequence[Put]) -> None:
        self._tables.write(puts)


class _TimedTable(ForwardingTable):
    @_store_timed
    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        return self._table.get(row, columns)

    @_store_timed
    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        return self._table.get_many(rows, columns)

    @_store_timed
    def values_many(self, rows: Sequence[bytes], columns: tuple[bytes, ...]) -> dict[bytes, Values]:
        return self._table.values_many(rows, columns)

    @_store_timed
    def put(self, row: bytes, cells: Cells, *, at_ms: int) -> None:
        self._table.put(row, cells, at_ms=at_ms)

    @_store_timed
    def put_many(self, items: Sequence[tuple[bytes, Cells, int]]) -> None:
        self._table.put_many(items)

    @_store_timed
    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self._table.delete(row, columns, at_ms=at_ms)

    @_store_timed
    def delete_many(self, items: Sequence[Deletion]) -> None:
        self._table.delete_many(items)

    @_store_timed
    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        return self._table.check_and_put(row, column, expected, value)

    @_store_timed
    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        return self._table.check_and_put_many(items)

    @_store_timed
    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        return self._table.incr(row, column, delta)


class TimedPacks:
    """Measures the operations on pack files, as `pack_put`, `pack_read` and `pack_delete`."""

    def __init__(self, packs: PackFiles) -> None:
        self._packs = packs

    @_pack_timed
    def put(self, name: str, data: bytes | Sequence[bytes], index: bytes) -> None:
        self._packs.put(name, data, index)

    @_pack_timed
    def read(self, name: str, offset: int, length: int) -> bytes | None:
        return self._packs.read(name, offset, length)

    def read_all(self, name: str) -> bytes | None:
        return self._packs.read_all(name)

    def read_index(self, name: str) -> bytes | None:
        return self._packs.read_index(name)

    @_pack_timed
    def delete(self, name: str) -> None:
        self._packs.delete(name)

    def packs(self) -> Iterator[PackFile]:
        return self._packs.packs()

    def connect(self) -> None:
        _connect(self._packs)


class TimedContent:
    """Measures the operations on a content store."""

    def __init__(self, content: ContentStore) -> None:
        self._content = content

    @_content_timed
    def put(self, key: str, body: bytes, meta: Mapping[str, str]) -> None:
        self._content.put(key, body, meta)

    @_content_timed
    def put_many(self, puts: Sequence[ContentPut]) -> None:
        self._content.put_many(puts)

    @_content_timed
    def get(self, key: str) -> tuple[bytes, Mapping[str, str]] | None:
        return self._content.get(key)

    @_content_timed
    def delete(self, key: str) -> None:
        self._content.delete(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        return self._content.keys(prefix)

    def connect(self) -> None:
        _connect(self._content)


def _connect(backend: PackFiles | ContentStore) -> None:
    """Connect in the background to a store on a server. Does nothing for a folder."""
    if isinstance(backend, Connectable):
        backend.connect()
