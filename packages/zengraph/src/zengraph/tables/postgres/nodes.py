"""
The nodes table in PostgreSQL: all cells of a node are packed in one value, as on SQLite.

A put appends its cells to the value as one more part, without reading the value. This takes one
round trip, and concurrent writers need not retry. A reader merges the parts by timestamp. The
writer that adds the fourth part stores them merged, and so does each call that reads before it
writes (delete, check-and-put, increment). Such a call writes only if the row still has the version
that was read (PostgreSQL's `xmin`), and otherwise reads it again, so no lock is held between two
round trips.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from zengraph._read_bytes import counted_rows
from zengraph.clock import Clock
from zengraph.errors import CorruptRow, StoreUnavailable
from zengraph.tables import (
    Cell,
    CellTable,
    Row,
    RowExtent,
    RowRange,
    RowSizes,
    Scan,
    refuse_empty,
    sum_sizes,
)
from zengraph.tables._packed import (
    CellPut,
    Values,
    find_end,
    pack,
    pack_new,
    read_count,
    unpack,
    values_of_rows,
    without,
)
from zengraph.tables._packed_parts import LARGE_BYTES, measure_cells
from zengraph.tables.postgres.arrays import (
    BYTEA,
    BYTEA_ARRAY,
    INT8,
    XID_ARRAY,
    bytea_array,
    int8,
    number,
    xid_array,
)
from zengraph.tables.postgres.connection import Call, Statement
from zengraph.tables.postgres.large_rows import LargeNodeRows
from zengraph.tables.postgres.partitions import Partitions, in_batches
from zengraph.tables.postgres.pool import PostgresPool

MAX_PARTS = 4
_FIRST_ROWS = 8
_SCAN_ROWS = 256
_PAGE_BYTES = 4_194_304
_COUNTER_BYTES = 8
_DATA = b"CASE WHEN octet_length(t.data) <= %d THEN t.data END" % LARGE_BYTES
_GET = b"SELECT " + _DATA + b" FROM %s t WHERE row = $1"
ATTEMPTS = 1000
"""An attempt fails only when another writer succeeds."""

RowItem = tuple[bytes, Mapping[bytes, bytes], int]
Change = Callable[[Row, int], Row]
"""Takes a row's old cells and the server's time in ms; returns its new cells."""


class _StoredVersion(NamedTuple):
    data: bytes | None
    """The packed row, or None if it is large."""
    version: bytes


class NodeRows(CellTable):
    """The nodes table, stored as the module docstring describes."""

    def __init__(self, pool: PostgresPool, partitions: Partitions, clock: Clock | None) -> None:
        self._pool = pool
        self._of = partitions
        self._clock = clock
        full = partitions.qualified_name.encode()
        self._large = LargeNodeRows(pool, full)
        self._get_many = Statement(
            b"n_get_many",
            b"SELECT t.row, %s FROM unnest($1) AS k(row) JOIN %s t ON t.row = k.row"
            % (_DATA, full),
            (BYTEA_ARRAY,),
        )
        self._see = Statement(
            b"n_see",
            b"SELECT k.row, %s, t.xmin, (extract(epoch from clock_timestamp()) * 1000)::bigint "
            b"FROM unnest($1) AS k(row) LEFT JOIN %s t ON t.row = k.row" % (_DATA, full),
            (BYTEA_ARRAY,),
        )
        self._put = Statement(
            b"n_put",
            b"WITH put AS (INSERT INTO %s AS t (row, parts, data) "
            b"SELECT row, 1, data FROM unnest($1, $2) AS k(row, data) "
            b"ON CONFLICT (row) DO UPDATE SET data = t.data || excluded.data, parts = t.parts + 1 "
            b"RETURNING row, parts) SELECT row FROM put WHERE parts >= %d" % (full, MAX_PARTS),
            (BYTEA_ARRAY, BYTEA_ARRAY),
        )
        self._insert = Statement(
            b"n_insert",
            b"INSERT INTO %s (row, parts, data) SELECT row, 1, data "
            b"FROM unnest($1, $2) AS k(row, data) ON CONFLICT DO NOTHING RETURNING row" % full,
            (BYTEA_ARRAY, BYTEA_ARRAY),
        )
        self._update = Statement(
            b"n_update",
            b"UPDATE %s t SET parts = 1, data = k.data FROM unnest($1, $2, $3) AS "
            b"k(row, data, version) WHERE t.row = k.row AND t.xmin = k.version RETURNING t.row"
            % full,
            (BYTEA_ARRAY, BYTEA_ARRAY, XID_ARRAY),
        )
        self._remove = Statement(
            b"n_remove",
            b"DELETE FROM %s t USING unnest($1, $2) AS k(row, version) "
            b"WHERE t.row = k.row AND t.xmin = k.version RETURNING t.row" % full,
            (BYTEA_ARRAY, XID_ARRAY),
        )

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        (rows,) = self._pool.run([(self._of.statement(row, b"get", _GET, (BYTEA,)), (row,))])
        if not rows:
            return {}
        data = rows[0][0]
        if data is None:
            return cells_of(self._large.read(row, columns), columns)
        _count(len(data))
        return cells_of(data, columns)

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        fetched = self._fetch(rows, columns)
        return {row: cells for row, data in fetched if (cells := cells_of(data, columns))}

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        return {
            row: self._large.sizes(row) if data is None else measure_cells(cells_of(data, None))
            for row, data in self._measure(rows)
        }

    def extents_many(self, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        measured = self._measure(rows)
        extents = {
            row: RowExtent(len(data), read_count(data))
            for row, data in measured
            if data is not None and find_end(data) == len(data)
        }
        others = [row for row, _ in measured if row not in extents]
        return extents | sum_sizes(self.sizes_many(others)) if others else extents

    def values_many(self, rows: Sequence[bytes], columns: tuple[bytes, ...]) -> dict[bytes, Values]:
        fetched = self._fetch(rows, columns)
        whole = [pair for pair in fetched if find_end(pair[1]) == len(pair[1])]
        values = values_of_rows(whole, columns)
        if len(whole) < len(fetched):
            for row, data in fetched:
                if row not in values and (cells := cells_of(data, columns)):
                    values[row] = tuple([c.value if (c := cells.get(n)) else None for n in columns])
        return values

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        self.put_many([(row, cells, at_ms)])

    def put_many(self, items: Sequence[RowItem]) -> None:
        for call in self.puts(items):
            (full,) = self._pool.run([call])
            self.merge_parts([row for (row,) in full])

    def puts(self, items: Sequence[RowItem]) -> list[Call]:
        """Return the calls for these puts. Pass their results to `merge_parts`."""
        puts: dict[bytes, list[CellPut]] = {}
        for row, cells, at_ms in items:
            if cells:
                puts.setdefault(row, []).append((cells, at_ms))
        packed = [(row, pack_new(puts[row])) for row in sorted(puts)]
        return [
            (self._put, (bytea_array([row for row, _ in some]), bytea_array([d for _, d in some])))
            for some in in_batches(packed, lambda item: len(item[1]))
        ]

    def merge_parts(self, rows: Sequence[bytes]) -> None:
        """Merge the parts of these rows, except rows that another writer has changed."""
        if rows:
            self._try_change(rows, lambda _, cells, __: cells, {})

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self.delete_many([(row, columns, at_ms)])

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        deletes: dict[bytes, list[tuple[Sequence[bytes] | None, int]]] = {}
        for row, columns, at_ms in items:
            deletes.setdefault(row, []).append((columns, at_ms))

        def change(row: bytes, cells: Row, _: int) -> Row:
            for columns, at_ms in deletes[row]:
                cells = without(cells, columns, at_ms)
            return cells

        self._change(list(deletes), change, {})

    def _scan(self, rows: RowRange) -> Scan:
        start, stop, columns, limit, reverse = rows
        count, page = 0, _FIRST_ROWS
        while limit is None or count < limit:
            # Rows without the columns are omitted, so the page may have fewer rows than were read.
            want = page if limit is None else min(page, limit - count)
            found = self._page(start, stop, want, reverse=reverse)
            page = _next_page(page, sum(len(data or b"") for _, data in found))
            for row, stored in found:
                data = self._large.read(row, columns) if stored is None else stored
                cells = cells_of(data, columns)
                if cells:
                    count += 1
                    yield row, cells
            if len(found) < want:
                return
            last = found[-1][0]
            start, stop = (start, last) if reverse else (last + b"\0", stop)

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        numbers: dict[bytes, list[int]] = {}
        for at, (row, column, expected, value) in enumerate(items):
            refuse_empty(column, expected, value)
            numbers.setdefault(row, []).append(at)
        done = [False] * len(items)

        def change(row: bytes, cells: Row, now_ms: int) -> Row:
            for at in numbers[row]:
                _, column, expected, value = items[at]
                cell = cells.get(column)
                done[at] = (cell and cell.value) == expected
                if done[at]:
                    cells = {**cells, column: Cell(value, _stamp(cell, now_ms))}
            return cells

        needed = {row: [items[at][1] for at in places] for row, places in numbers.items()}
        self._change(list(numbers), change, needed, repeatable=False)
        return done

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        count = 0

        def change(row: bytes, cells: Row, now_ms: int) -> Row:
            nonlocal count
            cell = cells.get(column)
            if cell and len(cell.value) != _COUNTER_BYTES:
                raise CorruptRow(self._of.qualified_name, row.hex(), "not a counter")
            count = delta + (int.from_bytes(cell.value, signed=True) if cell else 0)
            value = count.to_bytes(_COUNTER_BYTES, signed=True)
            return {**cells, column: Cell(value, _stamp(cell, now_ms))}

        self._change([row], change, {row: [column]}, repeatable=False)
        return count

    def _fetch(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> list[tuple[bytes, bytes]]:
        """
        Return the existing rows' stored data.

        Large rows have `columns` only.
        """
        return [
            (row, self._large.read(row, columns) if data is None else data)
            for row, data in self._measure(rows)
        ]

    def _measure(self, rows: Sequence[bytes]) -> list[tuple[bytes, bytes | None]]:
        """Return the existing rows' stored data; None for a large row."""
        result: list[tuple[bytes, bytes | None]] = []
        for some in in_batches(list(dict.fromkeys(rows)), len):
            (found,) = self._pool.run([(self._get_many, (bytea_array(some),))])
            result += found
            _count(sum(len(data) for _, data in found if data is not None))
        return result

    def _change(
        self, rows: Sequence[bytes], change: Callable[[bytes, Row, int], Row],
        needed: Mapping[bytes, Sequence[bytes]], *, repeatable: bool = True,
    ) -> None:  # fmt: skip
        """
        Write the results of `change` for these rows; retry rows that other writers have changed.

        For a large row, `change` gets only values of `needed` columns.
        """
        left = rows
        for _ in range(ATTEMPTS):
            left = self._try_change(left, change, needed, repeatable=repeatable)
            if not left:
                return
        raise StoreUnavailable(self._pool.where, f"other writers kept changing {len(left)} rows")

    def _try_change(
        self, rows: Sequence[bytes], change: Callable[[bytes, Row, int], Row],
        needed: Mapping[bytes, Sequence[bytes]], *, repeatable: bool = True,
    ) -> list[bytes]:  # fmt: skip
        left: list[bytes] = []
        for some in in_batches(sorted(rows), lambda _: 0):
            written: list[Call] = []
            wanted: set[bytes] = set()
            kinds: dict[Statement, list[tuple[bytes, bytes, bytes]]] = {}
            for row, seen, now_ms in self._read_versions(some):
                if seen is not None and seen.data is None:
                    own = partial(self._apply_change, change, row, now_ms)
                    if not self._large.change(row, needed.get(row, ()), own, repeatable=repeatable):
                        left.append(row)
                    continue
                cells = cells_of(seen.data, None) if seen and seen.data else {}
                new = change(row, cells, now_ms)
                if new == cells and (seen is None or _is_one_part(seen.data)):
                    continue
                wanted.add(row)
                statement = self._insert if seen is None else self._update if new else self._remove
                data, version = pack(new) if new else b"", seen.version if seen else b""
                kinds.setdefault(statement, []).append((row, data, version))
            for statement, items in kinds.items():
                written.append((statement, self._arrays(statement, items)))
            if written:
                for done in self._pool.run(written, repeatable=repeatable):
                    wanted -= {row for (row,) in done}
                left += wanted
        return left

    @staticmethod
    def _apply_change(
        change: Callable[[bytes, Row, int], Row], row: bytes, now_ms: int, cells: Row
    ) -> Row:
        return change(row, cells, now_ms)

    def _arrays(
        self, statement: Statement, items: Sequence[tuple[bytes, bytes, bytes]]
    ) -> list[bytes]:
        arrays = [bytea_array([row for row, _, _ in items])]
        if statement is not self._remove:
            arrays.append(bytea_array([data for _, data, _ in items]))
        if statement is not self._insert:
            arrays.append(xid_array([version for _, _, version in items]))
        return arrays

    def _read_versions(
        self, rows: Sequence[bytes]
    ) -> list[tuple[bytes, _StoredVersion | None, int]]:
        (found,) = self._pool.run([(self._see, (bytea_array(rows),))])
        own_ms = None if self._clock is None else self._clock.now_ms()
        return [
            (
                row,
                None if version is None else _StoredVersion(data, version),
                number(now) if own_ms is None else own_ms,
            )
            for row, data, version, now in found
        ]

    def _page(
        self, start: bytes, stop: bytes | None, size: int, *, reverse: bool
    ) -> list[tuple[bytes, bytes | None]]:
        ends = b" AND row < $3" if stop is not None else b""
        statement = Statement(
            b"n_scan%d%d" % (bool(ends), reverse),
            b"SELECT row, %s FROM %s t WHERE row >= $1%s ORDER BY row%s LIMIT $2"
            % (_DATA, self._of.qualified_name.encode(), ends, b" DESC" if reverse else b""),
            (BYTEA, INT8, *([BYTEA] if ends else [])),
        )
        values = (start, int8(size)) if stop is None else (start, int8(size), stop)
        rows: list[tuple[bytes, bytes | None]] = self._pool.run([(statement, values)])[0]
        _count(sum(len(data) for _, data in rows if data is not None))
        return rows


def _next_page(rows: int, size: int) -> int:
    """Return the number of rows in the scan's next page, based on the last page's size."""
    if size > _PAGE_BYTES:
        return max(1, rows // 2)
    return rows if 4 * size > _PAGE_BYTES else min(4 * rows, _SCAN_ROWS)


def _is_one_part(data: bytes | None) -> bool:
    return data is None or find_end(data) == len(data)


def cells_of(data: bytes, columns: Sequence[bytes] | None) -> Row:
    """Return a stored row's cells, or only `columns`, merged from all parts."""
    end = find_end(data)
    cells = unpack(data, columns)
    while end < len(data):
        rest = data[end:]
        for column, cell in unpack(rest, columns).items():
            old = cells.get(column)
            if old is None or old.at_ms <= cell.at_ms:
                cells[column] = cell
        end += find_end(rest)
    return cells


def _stamp(old: Cell | None, now_ms: int) -> int:
    """
    Return the current time, or the replaced cell's time if that is later.

    Otherwise a clock that was set back would lose a write.
    """
    return max(now_ms, old.at_ms if old else 0)


def _count(size: int) -> None:
    if (counted := counted_rows()) is not None:
        counted.add(size)
