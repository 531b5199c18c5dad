"""
Cell tables on SQLite, the default engine. It requires no server.

A power loss can lose only the latest writes (WAL, synchronous=NORMAL). Any number of processes on
one machine may write. The folder must be on a local file system.

Rows are spread over files by first key byte, so that writers rarely wait for each other: with one
file, writers stalled up to 1.2 s; with sixteen, up to 0.14 s. Each file has its share
of every table, so a node's rows can be written in one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from zengraph._remedies import DEFAULT, Remedies
from zengraph.clock import Clock, SystemClock
from zengraph.errors import InvalidConfig
from zengraph.tables import (
    TABLES,
    Cell,
    CellTable,
    Put,
    Row,
    RowExtent,
    RowRange,
    RowSizes,
    Salvaged,
    Scan,
    Tables,
    Unneeded,
    refuse_empty,
)
from zengraph.tables.sqlite import replacements
from zengraph.tables.sqlite.checkpoints import CheckpointTimes
from zengraph.tables.sqlite.files import BUSY_TIMEOUT_S, LOCK_WAIT_S, StoreFiles
from zengraph.tables.sqlite.layout import Layout
from zengraph.tables.sqlite.layouts import LAYOUTS
from zengraph.tables.sqlite.salvage import salvage_damaged

_COUNTER_BYTES = 8
_FIRST_ROWS = 8
_SCAN_ROWS = 256
"""Rows per page of a scan: few at first, because some readers need only a few."""

T = TypeVar("T")
RowItem = tuple[bytes, Mapping[bytes, bytes], int]


class SqliteTable(CellTable):
    """One table across all files; threads and forked processes may share it."""

    def __init__(self, name: str, shards: StoreFiles, clock: Clock) -> None:
        self._layout: Layout = LAYOUTS[name]
        self._shards = shards
        self._clock = clock

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        # Avoids a context manager, which would double the time of this frequent call.
        try:
            return self._layout.get(self._shards.connection(row[0]), row, columns)
        except sqlite3.Error as error:
            raise self._shards.translate(error, row[0]) from error

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        cells_of: dict[bytes, Row] = {}
        first_byte = 0
        try:
            for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
                db = self._shards.connection(first_byte)
                cells_of |= self._layout.get_many(db, file_items, columns)
        except sqlite3.Error as error:
            raise self._shards.translate(error, first_byte) from error
        return cells_of

    def get_many_needed(
        self, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        cells_of: dict[bytes, Row] = {}
        first_byte = 0
        try:
            for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
                db = self._shards.connection(first_byte)
                cells_of |= self._layout.get_many_needed(db, file_items, guide, unneeded)
        except sqlite3.Error as error:
            raise self._shards.translate(error, first_byte) from error
        return cells_of

    def get_many_names(self, rows: Sequence[bytes], column: bytes) -> dict[bytes, Row]:
        cells_of: dict[bytes, Row] = {}
        for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
            with self._shards.reading(first_byte) as db:
                cells_of |= self._layout.get_many_names(db, file_items, column)
        return cells_of

    def values_many(
        self, rows: Sequence[bytes], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        fetched: list[tuple[bytes, Any]] = []
        first_byte = 0
        try:
            for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
                fetched += self._layout.fetch(
                    self._shards.connection(first_byte), file_items, columns
                )
        except sqlite3.Error as error:
            raise self._shards.translate(error, first_byte) from error
        return self._layout.values(fetched, columns)

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        sizes: dict[bytes, RowSizes] = {}
        for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
            with self._shards.reading(first_byte) as db:
                sizes |= self._layout.sizes(db, file_items)
        return sizes

    def extents_many(self, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        extents: dict[bytes, RowExtent] = {}
        for first_byte, file_items in self._group_by_file(rows, itemgetter(0)):
            with self._shards.reading(first_byte) as db:
                extents |= self._layout.extents(db, file_items)
        return extents

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        with self._shards.writing(row[0]) as db:
            self._layout.put(db, [(row, cells, at_ms)])

    def put_many(self, items: Sequence[RowItem]) -> None:
        for first_byte, file_items in self._group_by_file(items, lambda item: item[0][0]):
            with self._shards.writing(first_byte) as db:
                self._layout.put(db, file_items)

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self.delete_many([(row, columns, at_ms)])

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        for first_byte, file_items in self._group_by_file(items, lambda item: item[0][0]):
            with self._shards.writing(first_byte) as db:
                self._layout.delete(db, file_items)

    def _scan(self, rows: RowRange) -> Scan:
        start, stop, columns, limit, reverse = rows
        count, page = 0, _FIRST_ROWS
        for first, low, high in _split_by_first_byte(start, stop, reverse=reverse):
            while limit is None or count < limit:
                # Rows without the requested columns are omitted, so the page may be short.
                want = page if limit is None else min(page, limit - count)
                page = min(4 * page, _SCAN_ROWS)
                with self._shards.reading(first) as db:
                    page_rows, more = self._layout.scan(
                        db, low, high, want, columns, reverse=reverse
                    )
                for row, cells in page_rows:
                    if columns is not None:
                        cells = {c: cells[c] for c in columns if c in cells}  # noqa: PLW2901
                    if cells:
                        count += 1
                        yield row, cells
                if not more:
                    break
                low, high = _get_rest(page_rows[-1][0], low, high, reverse=reverse)  # noqa: PLW2901

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        for _, column, expected, value in items:
            refuse_empty(column, expected, value)
        done = [False] * len(items)
        numbered = list(enumerate(items))
        for first_byte, file_items in self._group_by_file(numbered, lambda pair: pair[1][0][0]):
            with self._shards.writing(first_byte) as db:
                now_ms = self._clock.now_ms()
                put = self._layout.check_and_put(db, [item for _, item in file_items], now_ms)
            for (number, _), is_put in zip(file_items, put, strict=True):
                done[number] = is_put
        return done

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        with self._shards.writing(row[0]) as db:
            cell = self._layout.get(db, row, [column]).get(column)
            count = delta + (int.from_bytes(cell.value, signed=True) if cell else 0)
            value = count.to_bytes(_COUNTER_BYTES, signed=True)
            self._layout.put(db, [(row, {column: value}, self._stamp(cell))])
        return count

    def _stamp(self, old: Cell | None) -> int:
        """
        Return the current time, or the replaced cell's time if that is later.

        Otherwise a clock that was set back would lose a write.
        """
        return max(self._clock.now_ms(), old.at_ms if old else 0)

    def _group_by_file(
        self, items: Sequence[T], first_byte: Callable[[T], int]
    ) -> Iterator[tuple[int, list[T]]]:
        """For each file, yield the first byte of one of its items' keys, and these items."""
        firsts = [first_byte(item) for item in items]
        if firsts and firsts.count(firsts[0]) == len(
            firsts
        ):  # a frequent case, and faster than grouping
            yield firsts[0], list(items)
            return
        files: dict[int, list[T]] = {}
        count = self._shards.count
        for first, item in zip(firsts, items, strict=True):
            number = first % count  # a call of `StoreFiles.number` would take longer
            if number in files:
                files[number].append(item)
            else:
                files[number] = [item]
        yield from files.items()


class SqliteTables(Tables):
    """
    All tables in `folder`, which is created if missing.

    Args:
        folder: on a local file system.
        shards: number of files; a power of two, at most 256, fixed once there is data.
        clock: the clock of `check_and_put` and `incr`.
        checkpoints: when logs are moved into files.
        waits_s: how long to wait for another writer of a file, and for another process to create
            the files.
        remedies: names of commands and settings for error messages.

    Raises:
        InvalidConfig: the folder cannot be created, is not writable, or has another number of
            `shards`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shards: int = 16,
        clock: Clock | None = None,
        checkpoints: CheckpointTimes | None = None,
        waits_s: tuple[float, float] = (BUSY_TIMEOUT_S, LOCK_WAIT_S),
        remedies: Remedies = DEFAULT,
    ) -> None:
        if shards & (shards - 1):
            raise InvalidConfig(f"{remedies.shards}: must be a power of two, got {shards}")
        self._shards = StoreFiles(
            folder, shards, checkpoints or CheckpointTimes(), waits_s, remedies
        )
        clock = clock or SystemClock()
        self._tables = {name: SqliteTable(name, self._shards, clock) for name in TABLES}

    def __getitem__(self, name: str) -> SqliteTable:
        return self._tables[name]

    def write(self, puts: Sequence[Put]) -> None:
        """See `Tables.write`. One transaction per file, so a node's writes are atomic."""
        shard_of = lambda put: self._shards.number(put[1][0])  # noqa: E731
        for _, group in groupby(sorted(puts, key=shard_of), key=shard_of):
            file_items = list(group)
            with self._shards.writing(file_items[0][1][0]) as db:
                for name, items in _by_table(file_items):
                    LAYOUTS[name].put(db, items)

    def create(self) -> None:
        """Create all files now instead of at their first use."""
        self._shards.create()

    def format(self) -> int:
        return self._shards.form

    def identity(self) -> str:
        return self._shards.identity()

    def serves(self, first_byte: int) -> bool:
        return not self._shards.health.generation(first_byte % self._shards.count) & 1

    def check(self) -> list[str]:
        self.create()
        health = self._shards.health
        return [f"{health.path(number)} is damaged: {health.remedy}" for number in health.damaged()]

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:
        return salvage_damaged(self._shards, report)

    def salvage_finished(self, done: Sequence[Salvaged]) -> None:
        replacements.forget(done)

    def scrub(self) -> None:
        self._shards.scrub()

    def close(self) -> None:
        self._shards.close()


def _by_table(puts: Iterable[Put]) -> Iterator[tuple[str, list[RowItem]]]:
    ordered = sorted(puts, key=itemgetter(0))
    for name, group in groupby(ordered, key=itemgetter(0)):
        yield name, [(row, cells, at_ms) for _, row, cells, at_ms in group]


def _split_by_first_byte(
    start: bytes, stop: bytes | None, *, reverse: bool
) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Split the range where the first byte changes; each part is in one file."""
    first = start[0] if start else 0
    last = 255 if stop is None else stop[0] if stop else -1
    for byte in range(last, first - 1, -1) if reverse else range(first, last + 1):
        low = max(start, bytes([byte]))
        high = bytes([byte + 1]) if byte < 255 else None
        if stop is not None and (high is None or stop < high):
            high = stop
        if high is None or low < high:
            yield byte, low, high


def _get_rest(
    row: bytes, low: bytes, high: bytes | None, *, reverse: bool
) -> tuple[bytes, bytes | None]:
    return (low, row) if reverse else (row + b"\0", high)
