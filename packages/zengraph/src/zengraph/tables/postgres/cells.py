"""
A PostgreSQL table that stores each cell as one row. Most calls take one round trip.

PostgreSQL compares timestamps itself, so an older put never overwrites a newer one. Batches are
sorted by key, so two batches lock rows in the same order and cannot deadlock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zengraph._read_bytes import counted_rows
from zengraph.clock import Clock
from zengraph.errors import CorruptRow
from zengraph.tables import Cell, CellTable, Deletion, Row, RowRange, Scan, refuse_empty
from zengraph.tables.postgres.arrays import (
    BYTEA,
    BYTEA_ARRAY,
    INT8,
    INT8_ARRAY,
    bytea_array,
    int8,
    int8_array,
    number,
)
from zengraph.tables.postgres.connection import Call, Rows, Statement
from zengraph.tables.postgres.partitions import Partitions, in_batches
from zengraph.tables.postgres.pool import PostgresPool

_FIRST_CELLS = 16
_MAX_CELLS = 2048
_PAGE_BYTES = 1_048_576
_NOW = "(extract(epoch from clock_timestamp()) * 1000)::bigint"
_new = tuple.__new__

RowItem = tuple[bytes, Mapping[bytes, bytes], int]


class CellRows(CellTable):
    """One table, stored as the module docstring describes."""

    def __init__(self, pool: PostgresPool, partitions: Partitions, clock: Clock | None) -> None:
        self._pool = pool
        self._of = partitions
        self._clock = clock
        name, full = partitions.name.encode(), partitions.qualified_name.encode()
        self._get_many = Statement(
            name + b"_get_many",
            b"SELECT t.row, t.col, t.at, t.value FROM unnest($1) AS k(row) JOIN "
            + full + b" t ON t.row = k.row",
            (BYTEA_ARRAY,),
        )  # fmt: skip
        self._get_some = Statement(
            name + b"_get_some",
            self._get_many.text + b" WHERE t.col = ANY ($2)",
            (BYTEA_ARRAY, BYTEA_ARRAY),
        )
        self._put = Statement(
            name + b"_put",
            b"INSERT INTO " + full + b" AS t (row, col, at, value) "
            b"SELECT * FROM unnest($1, $2, $3, $4) ON CONFLICT (row, col) DO UPDATE "
            b"SET at = excluded.at, value = excluded.value WHERE excluded.at >= t.at",
            (BYTEA_ARRAY, BYTEA_ARRAY, INT8_ARRAY, BYTEA_ARRAY),
        )
        self._delete_rows = Statement(
            name + b"_delete_rows",
            b"DELETE FROM " + full + b" t USING unnest($1, $2) AS k(row, at) "
            b"WHERE t.row = k.row AND t.at <= k.at",
            (BYTEA_ARRAY, INT8_ARRAY),
        )
        self._delete_cells = Statement(
            name + b"_delete_cells",
            b"DELETE FROM " + full + b" t USING unnest($1, $2, $3) AS k(row, col, at) "
            b"WHERE t.row = k.row AND t.col = k.col AND t.at <= k.at",
            (BYTEA_ARRAY, BYTEA_ARRAY, INT8_ARRAY),
        )
        now = b"coalesce($5, " + _NOW.encode() + b")"
        # $5 is a test clock's time, or null for the server's time. With `greatest`, a cell's time
        # never goes backward.
        self._replace = Statement(
            name + b"_replace",
            b"UPDATE " + full + b" SET value = $4, at = greatest(at, " + now + b") "
            b"WHERE row = $1 AND col = $2 AND value = $3 RETURNING 1",
            (BYTEA, BYTEA, BYTEA, BYTEA, INT8),
        )
        self._insert = Statement(
            name + b"_insert",
            b"INSERT INTO " + full + b" (row, col, at, value) VALUES ($1, $2, "
            + now.replace(b"$5", b"$4") + b", $3) ON CONFLICT DO NOTHING RETURNING 1",
            (BYTEA, BYTEA, BYTEA, INT8),
        )  # fmt: skip
        self._incr = Statement(
            name + b"_incr",
            b"INSERT INTO " + full + b" AS t (row, col, at, value) VALUES ($1, $2, "
            + now.replace(b"$5", b"$4") + b", int8send($3)) ON CONFLICT (row, col) DO UPDATE SET "
            b"value = int8send($3 + ('x' || encode(t.value, 'hex'))::bit(64)::bigint), "
            b"at = greatest(t.at, excluded.at) WHERE octet_length(t.value) = 8 RETURNING value",
            (BYTEA, BYTEA, INT8, INT8),
        )  # fmt: skip

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        (rows,) = self._pool.run([(self._of.statement(row, b"get", _GET, (BYTEA,)), (row,))])
        return {
            column: _new(Cell, (value, int.from_bytes(at, signed=True)))
            for column, at, value in rows
            if columns is None or column in columns
        }

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        if not rows or (columns is not None and not columns):
            return {}
        cells_of: dict[bytes, Row] = {}
        for some in in_batches(list(dict.fromkeys(rows)), len):
            keys = bytea_array(some)
            call: Call = (
                (self._get_many, (keys,))
                if columns is None
                else (self._get_some, (keys, bytea_array(columns)))
            )
            found = self._pool.run([call])[0]
            _count(found)
            _collect(found, cells_of)
        return cells_of

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        self.put_many([(row, cells, at_ms)])

    def put_many(self, items: Sequence[RowItem]) -> None:
        for call in self.puts(items):
            self._pool.run([call])

    def puts(self, items: Sequence[RowItem]) -> list[Call]:
        """
        Return the calls for these puts. A statement can change a cell only once, so send only each
        cell's newest value.
        """
        newest: dict[tuple[bytes, bytes], tuple[int, bytes]] = {}
        for row, cells, at_ms in items:
            for column, value in cells.items():
                old = newest.get((row, column))
                if old is None or old[0] <= at_ms:
                    newest[row, column] = (at_ms, value)
        calls: list[Call] = []
        for some in in_batches(sorted(newest.items()), lambda item: len(item[1][1])):
            arrays = (
                bytea_array([row for (row, _), _ in some]),
                bytea_array([column for (_, column), _ in some]),
                int8_array([at_ms for _, (at_ms, _) in some]),
                bytea_array([value for _, (_, value) in some]),
            )
            calls.append((self._put, arrays))
        return calls

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self.delete_many([(row, columns, at_ms)])

    def delete_many(self, items: Sequence[Deletion]) -> None:
        if calls := self.deletions(items):
            self._pool.run(calls)

    def put_and_delete_many(self, puts: Sequence[RowItem], deletions: Sequence[Deletion]) -> None:
        if calls := [*self.puts(puts), *self.deletions(deletions)]:
            self._pool.run(calls)

    def deletions(self, items: Sequence[Deletion]) -> list[Call]:
        whole: dict[bytes, int] = {}
        cells: dict[tuple[bytes, bytes], int] = {}
        for row, columns, at_ms in items:
            if columns is None:
                whole[row] = max(at_ms, whole.get(row, at_ms))
            for column in columns or ():
                cells[row, column] = max(at_ms, cells.get((row, column), at_ms))
        calls: list[Call] = []
        for rows in in_batches(sorted(whole.items()), lambda _: 0):
            keys, times = zip(*rows, strict=True)
            calls.append((self._delete_rows, (bytea_array(keys), int8_array(times))))
        for some in in_batches(sorted(cells.items()), lambda _: 0):
            arrays = (
                bytea_array([row for (row, _), _ in some]),
                bytea_array([column for (_, column), _ in some]),
                int8_array([at_ms for _, at_ms in some]),
            )
            calls.append((self._delete_cells, arrays))
        return calls

    def _scan(self, rows: RowRange) -> Scan:
        start, stop, columns, limit, reverse = rows
        if columns is not None and not columns:
            return
        size = _FIRST_CELLS
        while limit is None or limit > 0:
            found = self._page(start, stop, columns, size, reverse=reverse)
            _count(found)
            page: dict[bytes, Row] = {}
            _collect(found, page)
            ended = len(found) < size
            if not ended and len(page) == 1:  # a row that is longer than a page
                size *= 2
                continue
            if not ended:
                last = next(reversed(page))
                del page[last]  # the next page reads it again, perhaps with more cells
                start, stop = (start, last + b"\0") if reverse else (last, stop)
            for row, cells in page.items():
                yield row, cells
                if limit is not None:
                    limit -= 1
                    if limit == 0:
                        return
            if ended:
                return
            if sum(len(value) for _, _, _, value in found) > _PAGE_BYTES:
                size = max(_FIRST_CELLS, size // 2)
            else:
                size = min(4 * size, max(size, _MAX_CELLS))

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        now = self._time()
        calls: list[Call] = []
        for row, column, expected, value in items:
            refuse_empty(column, expected, value)
            calls.append(
                (self._insert, (row, column, value, now))
                if expected is None
                else (self._replace, (row, column, expected, value, now))
            )
        done: list[bool] = []
        for some in in_batches(calls, lambda _: 0):
            done += [bool(rows) for rows in self._pool.run(some, repeatable=False)]
        return done

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        (rows,) = self._pool.run(
            [(self._incr, (row, column, int8(delta), self._time()))], repeatable=False
        )
        if not rows:
            raise CorruptRow(self._of.qualified_name, row.hex(), "not a counter")
        return number(rows[0][0])

    def _time(self) -> bytes | None:
        return None if self._clock is None else int8(self._clock.now_ms())

    def _page(
        self, start: bytes, stop: bytes | None, columns: Sequence[bytes] | None, size: int, *,
        reverse: bool,
    ) -> Rows:  # fmt: skip
        ends = b" AND row < $3" if stop is not None else b""
        some = b" AND col = ANY ($%d)" % (3 + bool(ends)) if columns is not None else b""
        down = b" DESC" if reverse else b""
        statement = Statement(
            b"%s_scan%d%d%d" % (self._of.name.encode(), bool(ends), bool(some), reverse),
            b"SELECT row, col, at, value FROM %s WHERE row >= $1%s%s ORDER BY row%s, col%s LIMIT $2"
            % (self._of.qualified_name.encode(), ends, some, down, down),
            (BYTEA, INT8, *([BYTEA] if ends else []), *([BYTEA_ARRAY] if some else [])),
        )
        values = [start, int8(size)]
        if stop is not None:
            values.append(stop)
        if columns is not None:
            values.append(bytea_array(columns))
        return self._pool.run([(statement, values)])[0]


def _count(rows: Rows) -> None:
    if (counted := counted_rows()) is not None:
        counted.add(sum(len(value) for _, _, _, value in rows))


_GET = b"SELECT col, at, value FROM %s WHERE row = $1"


def _collect(rows: Rows, cells_of: dict[bytes, Row]) -> None:
    for row, column, at, value in rows:
        cell = _new(Cell, (value, int.from_bytes(at, signed=True)))
        if row in cells_of:
            cells_of[row][column] = cell
        else:
            cells_of[row] = {column: cell}
