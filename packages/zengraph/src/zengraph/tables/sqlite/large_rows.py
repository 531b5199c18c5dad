"""
Rows of a packed table that are too large to be read whole.

Such a row is one blob, which SQLite reads and writes in parts ("incremental I/O").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from zengraph._read_bytes import counted_rows
from zengraph.tables import Row, RowSizes
from zengraph.tables._packed import pack
from zengraph.tables._packed_parts import (
    ReadPart,
    ValuePlace,
    lay_out,
    locate_cells,
    measure_cells,
    read_packed,
    size_of,
)

_MAX_IN_MEMORY = 8_388_608
_COPIED_BYTES = 1_048_576


class LargePackedRows:
    """The large rows of one table."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = f"SELECT rowid, length(data) FROM {name} WHERE row=?"  # noqa: S608
        self._remove = f"DELETE FROM {name} WHERE row=?"  # noqa: S608
        self._insert = f"INSERT INTO {name} (row, data) VALUES (?, zeroblob(?))"  # noqa: S608

    def read(self, db: sqlite3.Connection, row: bytes, columns: Sequence[bytes] | None) -> bytes:
        """Return the packed row with `columns` only. Counts the bytes before reading them."""
        with self._open_row(db, row) as (blob, size):
            if blob is None:
                return pack({})
            read = _reader(blob)
            if columns is None:
                _count(size)
                return read(0, size)
            cells = locate_cells(read, size)
            _count(sum(size_of(cells[c].value) for c in columns if c in cells))
            return read_packed(cells, columns, read)

    def sizes(self, db: sqlite3.Connection, row: bytes) -> RowSizes:
        with self._open_row(db, row) as (blob, size):
            return {} if blob is None else measure_cells(locate_cells(_reader(blob), size))

    def change(self, db: sqlite3.Connection, row: bytes, change: Callable[[Row], Row]) -> None:
        """
        Write the cells that `change` returns for a row. Unchanged values are copied.

        The caller's transaction must have found the row, so that the row still exists.
        """
        with self._open_row(db, row) as (blob, size):
            assert blob is not None  # noqa: S101 - nobody else writes meanwhile
            read = _reader(blob)
            before = locate_cells(read, size)
            after = change(before)
            if after == before:
                return
            head, values = lay_out(after)
            kept = _copy(read, values)
        with kept:
            db.execute(self._remove, (row,))
            if after:
                new = len(head) + sum(map(size_of, values))
                number = db.execute(self._insert, (row, new)).lastrowid
                with db.blobopen(self._name, "data", number or 0) as target:
                    target.write(head)
                    while some := kept.read(_COPIED_BYTES):
                        target.write(some)

    @contextmanager
    def _open_row(
        self, db: sqlite3.Connection, row: bytes
    ) -> Iterator[tuple[sqlite3.Blob | None, int]]:
        """Yield the row and its size, or None if it was removed."""
        db.execute("SAVEPOINT large_row")  # so that both reads below see the same version
        try:
            found = db.execute(self._number, (row,)).fetchone()
            if found is None:
                yield None, 0
                return
            number, size = found
            with db.blobopen(self._name, "data", number, readonly=True) as blob:
                yield blob, size
        finally:
            db.execute("RELEASE large_row")


def _reader(blob: sqlite3.Blob) -> ReadPart:
    def read(offset: int, size: int) -> bytes:
        blob.seek(offset)
        return blob.read(size)

    return read


def _copy(read: ReadPart, values: Sequence[bytes | ValuePlace]) -> IO[bytes]:
    """Write the values into memory or an unnamed temporary file."""
    copied: Any = SpooledTemporaryFile(_MAX_IN_MEMORY)  # noqa: SIM115 - the caller closes it
    for value in values:
        if isinstance(value, bytes):
            copied.write(value)
            continue
        for at in range(value.begin, value.end, _COPIED_BYTES):
            copied.write(read(at, min(_COPIED_BYTES, value.end - at)))
    copied.seek(0)
    return copied  # type: ignore[no-any-return]


def _count(size: int) -> None:
    if (counted := counted_rows()) is not None:
        counted.add(size)
