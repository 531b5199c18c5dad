"""
Rows of the nodes table that are too large to be read whole.

Values are stored uncompressed, so the server can read parts of a value. The server also builds a
changed value from parts of the old one, which are not transferred. If a row changes between two
reads (its version, PostgreSQL's `xmin`, differs), it is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from zengraph._read_bytes import counted_rows
from zengraph.errors import StoreUnavailable
from zengraph.tables import Row, RowSizes
from zengraph.tables._packed import pack
from zengraph.tables._packed_parts import (
    ValuePlace,
    lay_out,
    locate_cells,
    measure_cells,
    read_cells,
    read_packed,
    size_of,
)
from zengraph.tables.postgres.arrays import (
    BYTEA,
    BYTEA_ARRAY,
    INT8,
    INT8_ARRAY,
    XID,
    bytea_array,
    int8,
    int8_array,
    number,
)
from zengraph.tables.postgres.connection import Statement
from zengraph.tables.postgres.pool import PostgresPool

T = TypeVar("T")

_AHEAD_BYTES = 65_536
"""Minimum number of bytes per read. Most row indexes fit in one read."""
_ATTEMPTS = 1000


class _Changed(Exception):
    """The row has changed since the first read."""


class LargeNodeRows:
    """The large rows of one table. `full` is its full name."""

    def __init__(self, pool: PostgresPool, full: bytes) -> None:
        self._pool = pool
        self._part = Statement(
            b"n_part",
            b"SELECT octet_length(data)::bigint, xmin, substring(data FROM ($2 + 1)::int FOR "
            b"$3::int) FROM %s WHERE row = $1" % full,
            (BYTEA, INT8, INT8),
        )
        self._rewrite = Statement(
            b"n_rewrite",
            b"UPDATE %s t SET parts = 1, data = (SELECT string_agg(CASE WHEN k.size < 0 THEN "
            b"k.own ELSE substring(t.data FROM (k.at + 1)::int FOR k.size::int) END, ''::bytea "
            b"ORDER BY k.n) FROM unnest($3, $4, $5) WITH ORDINALITY AS k(own, at, size, n)) "
            b"WHERE t.row = $1 AND t.xmin = $2 RETURNING t.row" % full,
            (BYTEA, XID, BYTEA_ARRAY, INT8_ARRAY, INT8_ARRAY),
        )
        self._remove = Statement(
            b"n_remove_large",
            b"DELETE FROM %s WHERE row = $1 AND xmin = $2 RETURNING row" % full,
            (BYTEA, XID),
        )

    def read(self, row: bytes, columns: Sequence[bytes] | None) -> bytes:
        """Return the packed row with `columns` only. Counts the bytes before reading them."""

        def act(stored: _StoredRow) -> bytes:
            if columns is None:
                _count(stored.size)
                return stored.read(0, stored.size)
            cells = locate_cells(stored.read, stored.size)
            _count(sum(size_of(cells[c].value) for c in columns if c in cells))
            return read_packed(cells, columns, stored.read)

        return self._retry(row, act, pack({}))

    def sizes(self, row: bytes) -> RowSizes:
        return self._retry(row, lambda s: measure_cells(locate_cells(s.read, s.size)), {})

    def change(
        self, row: bytes, needed: Sequence[bytes], change: Callable[[Row], Row], *, repeatable: bool
    ) -> bool:
        """
        Write the cells that `change` returns. Returns False, without writing, if another writer
        changed the row.

        `change` gets the values of `needed` columns, and only the positions of others.
        """

        def act(stored: _StoredRow) -> bool:
            before = locate_cells(stored.read, stored.size)
            before |= read_cells(before, needed, stored.read)
            after = change(before)
            head, values = lay_out(after)
            if after == before and len(head) + sum(map(size_of, values)) == stored.size:
                return True
            where = row, stored.version
            call = (self._rewrite, (*where, *_pieces([head, *values])))
            ended = (self._remove, where)
            (done,) = self._pool.run([call if after else ended], repeatable=repeatable)
            return bool(done)

        try:
            stored = _StoredRow(self._pool, self._part, row)
            return act(stored)
        except _Changed:
            return False

    def _retry(self, row: bytes, act: Callable[[_StoredRow], T], missing: T) -> T:
        for _ in range(_ATTEMPTS):
            try:
                stored = _StoredRow(self._pool, self._part, row)
                return act(stored) if stored.size else missing
            except _Changed:
                continue
        raise StoreUnavailable(self._pool.where, "other writers kept changing a large row")


class _StoredRow:
    """Reads parts of a row, all from one version. `size` is 0 if the row does not exist."""

    def __init__(self, pool: PostgresPool, part: Statement, row: bytes) -> None:
        self._pool = pool
        self._statement = part
        self._row = row
        self.size, self.version, self._ahead = self._get(0, _AHEAD_BYTES)
        self._ahead_at = 0

    def read(self, offset: int, size: int) -> bytes:
        """Return a part; raises _Changed if the row has changed."""
        at = offset - self._ahead_at
        if not 0 <= at <= at + size <= len(self._ahead):
            _, version, self._ahead = self._get(offset, max(size, _AHEAD_BYTES))
            if version != self.version:
                raise _Changed
            self._ahead_at, at = offset, 0
        return self._ahead[at : at + size]

    def _get(self, offset: int, size: int) -> tuple[int, bytes, bytes]:
        (rows,) = self._pool.run([(self._statement, (self._row, int8(offset), int8(size)))])
        if not rows:
            return 0, b"", b""
        length, version, data = rows[0]
        return number(length), version, data


def _pieces(values: Sequence[bytes | ValuePlace]) -> list[bytes]:
    """Return the arrays for `_rewrite`: each piece's new bytes, or its position in the old row."""
    placed = [value if isinstance(value, ValuePlace) else None for value in values]
    return [
        bytea_array([b"" if isinstance(value, ValuePlace) else value for value in values]),
        int8_array([place.begin if place else 0 for place in placed]),
        int8_array([size_of(place) if place else -1 for place in placed]),
    ]


def _count(size: int) -> None:
    if (counted := counted_rows()) is not None:
        counted.add(size)
