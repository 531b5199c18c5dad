"""
One cell table on HBase, through its Thrift 1 gateways.

Behavior of HBase and its gateway, and how this adapter handles it (observed on HBase 2.6):

- A batch executes its puts before its deletes, so here a batch contains only one kind. A batch has
  one timestamp, so rows are grouped by timestamp.
- Writes carry the caller's timestamps, so the newest write wins, no matter which arrives first. The
  region server assigns the timestamps of check-and-put and increment, never earlier than that of
  the replaced cell.
- `getRowsWithColumns` omits rows that have none of the columns, as `CellTable` requires.
- A scan is read in pages. Each page has its own scanner, which is closed before its rows are
  returned. So the caller does not occupy a connection while it works, and a failed page can be read
  again.
- Check-and-put treats an empty cell as absent, so empty values are rejected here.
- HBase acknowledges but loses a put whose column has no colon, so it is rejected here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from zengraph._codec import after
from zengraph._read_bytes import counted_rows
from zengraph.errors import CorruptRow, StoreUnavailable
from zengraph.tables import (
    TABLES,
    Cell,
    CellSize,
    CellTable,
    Deletion,
    Row,
    RowRange,
    RowSizes,
    Scan,
    refuse_empty,
)
from zengraph.tables.hbase.connection import call_many, call_pipelined, thrift_api
from zengraph.tables.hbase.mutations import (
    MAX_BATCH_BYTES,
    MAX_BATCH_ROWS,
    Cells,
    Group,
    group_deletions,
    group_puts,
    put_mutations,
    split_batches,
)
from zengraph.tables.hbase.pages import (
    FIRST_PAGE_ROWS,
    count_bytes,
    first_page_rows,
    next_page_rows,
)
from zengraph.tables.hbase.pool import HBasePool

# This many calls may be sent before their responses are read. The responses are small and fit in
# the socket buffers, so gateway and client never block each other.
MAX_UNANSWERED_CALLS = 100

_SIZES_FILTER = b"KeyOnlyFilter(true)"

Call = Callable[[Any, Sequence[tuple[str, Mapping[str, Any]]]], list[Any]]


class HBaseTable(CellTable):
    """One table. A call takes about 1 ms on one machine, including 0.1 ms in this adapter."""

    def __init__(self, pool: HBasePool, name: str, full_name: bytes) -> None:
        self._pool = pool
        self._name = full_name
        self._families = [family.encode() for family in TABLES[name]]

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        if columns is not None and not columns:
            return {}
        call = "getRow" if columns is None else "getRowWithColumns"
        columns_argument = () if columns is None else (list(columns),)
        results = self._pool.call(call, self._name, row, *columns_argument, {})
        count_bytes(results)
        return _cells(results[0]) if results else {}

    def get_each(self, rows: Sequence[bytes], columns: Sequence[bytes]) -> list[Row]:
        table = {"tableName": self._name, "columns": list(columns), "attributes": {}}
        calls = [{**table, "row": row} for row in rows]
        read = partial(call_many, method="getRowWithColumns", calls=calls)
        found: list[list[Any]] = self._pool.run(read)
        for results in found:
            count_bytes(results)
        return [_cells(results[0]) if results else {} for results in found]

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        return {result.row: _cells(result) for result in self._results(rows, columns)}

    def values_many(
        self, rows: Sequence[bytes], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        values: dict[bytes, tuple[bytes | None, ...]] = {}
        for result in self._results(rows, columns):  # creates no Cell objects
            find = (result.columns or {}).get
            values[result.row] = tuple(
                [None if (cell := find(column)) is None else cell.value for column in columns]
            )
        return values

    def _results(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> Iterator[thrift_api.TRowResult]:
        if columns is not None and not columns:
            return
        call = "getRows" if columns is None else "getRowsWithColumns"
        columns_argument = () if columns is None else (list(columns),)
        distinct = list(dict.fromkeys(rows))
        # A caller that counts bytes may stop the read (`_read_bytes`), so start with a small page
        # for it.
        start, size = 0, MAX_BATCH_ROWS if counted_rows() is None else FIRST_PAGE_ROWS
        while part := distinct[start : start + size]:
            results = self._pool.call(call, self._name, part, *columns_argument, {})
            count_bytes(results)
            yield from results
            start += len(part)
            if size < MAX_BATCH_ROWS:
                size = min(next_page_rows(size, results), MAX_BATCH_ROWS)

    def get_prefix(self, row: bytes, prefix: bytes, limit: int, start_after: bytes = b"") -> Row:
        if limit <= 0:
            return {}
        family, _, name = prefix.partition(b":")
        # A name is UTF-8, which never contains the byte 0xff, so this key sorts after all names.
        low, high = max(name, start_after.partition(b":")[2]), after(name) or b"\xff"
        filters = b"ColumnRangeFilter('%s', %s, '%s', false) AND ColumnPaginationFilter(%d, 0)" % (
            _quote(low),
            b"false" if start_after else b"true",
            _quote(high),
            limit,
        )
        read = partial(
            self._read, rows=1, startRow=row, stopRow=row + b"\0", columns=[family],
            filterString=filters,
        )  # fmt: skip
        results = self._pool.run(read)
        count_bytes(results)
        cells = _cells(results[0]) if results else {}
        return {column: cells[column] for column in sorted(cells)}

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        sizes: dict[bytes, RowSizes] = {}
        distinct = list(dict.fromkeys(rows))
        for start in range(0, len(distinct), MAX_UNANSWERED_CALLS):
            batch = distinct[start : start + MAX_UNANSWERED_CALLS]
            sizes |= self._pool.run(partial(self._sizes, batch))
        return sizes

    def _sizes(self, rows: Sequence[bytes], client: Any) -> dict[bytes, RowSizes]:
        """Scan rows with a filter that replaces each value with its length."""
        table = {"tableName": self._name, "attributes": {}}
        scans = [
            thrift_api.TScan(startRow=row, stopRow=row + b"\0", filterString=_SIZES_FILTER)
            for row in rows
        ]
        ids = call_many(client, "scannerOpenWithScan", [{**table, "scan": scan} for scan in scans])
        found = call_many(
            client, "scannerGetList", [{"id": scanner, "nbRows": 1} for scanner in ids]
        )
        call_many(client, "scannerClose", [{"id": scanner} for scanner in ids])
        return {
            row.row: {
                column: CellSize(int.from_bytes(cell.value), cell.timestamp)
                for column, cell in row.columns.items()
            }
            for results in found
            for row in results
        }

    def put(self, row: bytes, cells: Cells, *, at_ms: int) -> None:
        if cells:
            self._pool.call("mutateRowTs", self._name, row, put_mutations(cells), at_ms, {})

    def put_many(self, items: Sequence[tuple[bytes, Cells, int]]) -> None:
        self._send(group_puts(items))

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        mutations = self._delete_mutations(columns)
        if mutations:
            self._pool.call("mutateRowTs", self._name, row, mutations, at_ms, {})

    def delete_many(self, items: Sequence[Deletion]) -> None:
        self._send(group_deletions(items, self._delete_mutations))

    def put_and_delete_many(
        self, puts: Sequence[tuple[bytes, Cells, int]], deletions: Sequence[Deletion]
    ) -> None:
        self._send([*group_puts(puts), *group_deletions(deletions, self._delete_mutations)])

    def get_then_scan(
        self,
        row: bytes,
        columns: Sequence[bytes],
        start: bytes,
        stop: bytes,
        *,
        limit: int,
        reverse: bool = False,
    ) -> tuple[Row, Scan]:
        arguments = {"tableName": self._name, "row": row, "columns": list(columns)}
        ahead = [("getRowWithColumns", {**arguments, "attributes": {}})]
        rows = RowRange(start, stop, None, limit, reverse)
        found, page = self._pool.run(partial(self._get_and_open_page, ahead, rows))
        count_bytes(found)
        return _cells(found[0]) if found else {}, self._pages(rows, page)

    def _get_and_open_page(
        self, ahead: Sequence[tuple[str, Mapping[str, Any]]], rows: RowRange, client: Any
    ) -> tuple[list[Any], tuple[list[Any], bool]]:
        """Send `ahead` while opening a scan. Returns its first result and the scan's first page."""
        results: list[list[Any]] = []
        page = self._page(
            rows, first_page_rows(rows), client, partial(_call_after_others, ahead, results)
        )
        return results[0], page

    def _scan(self, rows: RowRange) -> Scan:
        return self._pages(rows, None)

    def _pages(self, rows: RowRange, page: tuple[list[Any], bool] | None) -> Scan:
        """Yield a range's rows; `page` is the first page if already read."""
        start, stop, columns, limit, reverse = rows
        if columns is not None and not columns:
            return
        remaining = limit
        size = first_page_rows(rows._replace(limit=None))
        while (remaining is None or remaining > 0) and (stop is None or start < stop):
            max_rows = size if remaining is None else min(size, remaining)
            rest = RowRange(start, stop, columns, remaining, reverse)
            found, more = page or self._pool.run(partial(self._page, rest, max_rows))
            page = None
            count_bytes(found)
            for row in found:
                yield row.row, _cells(row)
            if not more:
                return
            if reverse:
                stop = found[-1].row
            else:
                start = found[-1].row + b"\0"
            remaining = None if remaining is None else remaining - len(found)
            size = next_page_rows(size, found)

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        refuse_empty(column, expected, value)
        mutation = thrift_api.Mutation(column=column, value=value)
        done: bool = self._pool.call(
            "checkAndPut", self._name, row, column, expected, mutation, {}, repeatable=False
        )
        return done

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        for _, column, expected, value in items:
            refuse_empty(column, expected, value)
        done: list[bool] = []
        for start in range(0, len(items), MAX_UNANSWERED_CALLS):
            batch = items[start : start + MAX_UNANSWERED_CALLS]
            done += self._pool.run(partial(self._send_checks, batch), repeatable=False)
        return done

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        try:
            count: int = self._pool.call(
                "atomicIncrement", self._name, row, column, delta, repeatable=False
            )
        except StoreUnavailable as error:
            if "not a long" in error.reason:
                raise CorruptRow(self._name.decode(), row.hex(), "not a counter") from error
            raise
        return count

    def _send_checks(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]], client: Any
    ) -> list[bool]:
        calls = [
            {
                "tableName": self._name,
                "row": row,
                "column": column,
                "value": expected,
                "mput": thrift_api.Mutation(column=column, value=value),
                "attributes": {},
            }
            for row, column, expected, value in items
        ]
        return call_many(client, "checkAndPut", calls)

    def _send(self, groups: Iterable[Group]) -> None:
        calls: list[dict[str, Any]] = []
        calls_bytes = 0
        for at_ms, rows in groups:
            for batch, batch_bytes in split_batches(rows):
                if (
                    len(calls) == MAX_UNANSWERED_CALLS
                    or calls_bytes + batch_bytes > MAX_BATCH_BYTES
                ):
                    self._mutate(calls)
                    calls, calls_bytes = [], 0
                call = {"tableName": self._name, "rowBatches": batch, "timestamp": at_ms}
                calls.append({**call, "attributes": {}})
                calls_bytes += batch_bytes
        self._mutate(calls)

    def _mutate(self, calls: Sequence[Mapping[str, Any]]) -> None:
        if calls:
            self._pool.run(partial(call_many, method="mutateRowsTs", calls=calls))

    def _delete_mutations(self, columns: Sequence[bytes] | None) -> list[thrift_api.Mutation]:
        # A family without a colon means all of its cells.
        names = self._families if columns is None else columns
        return [thrift_api.Mutation(isDelete=True, column=name) for name in names]

    def _page(
        self, rows: RowRange, max_rows: int, client: Any, call: Call = call_pipelined
    ) -> tuple[list[Any], bool]:
        """Return up to `max_rows` rows, and True if there may be more. `call` opens the scanner."""
        start, stop, columns, _, reverse = rows
        if not reverse:
            page = self._read(client, max_rows, call, startRow=start, stopRow=stop, columns=columns)
            return page, len(page) == max_rows
        # HBase's reverse scan includes its first row and excludes its last, unlike
        # `CellTable.scan`. So read one more row at each end and drop it here.
        page = self._read(
            client, max_rows + 1, call,
            startRow=stop, stopRow=_key_before(start), columns=columns, reversed=True,
        )  # fmt: skip
        is_full = len(page) == max_rows + 1
        in_range = [row for row in page if row.row >= start and (stop is None or row.row < stop)]
        return in_range[:max_rows], is_full and bool(in_range) and page[-1].row >= start

    def _read(self, client: Any, rows: int, call: Call = call_pipelined, **scan: Any) -> list[Any]:
        columns = scan.pop("columns")
        # The filter ends the scan in the region server, which saves a call to the gateway.
        scan.setdefault("filterString", b"PageFilter(%d)" % rows)
        scan_request = thrift_api.TScan(
            caching=rows, columns=None if columns is None else list(columns), **scan
        )
        arguments = {"tableName": self._name, "scan": scan_request, "attributes": {}}
        (scanner,) = call(client, [("scannerOpenWithScan", arguments)])
        # Read rows and close the scanner in one round trip. After an error, the connection is
        # closed, and the gateway closes the scanner a minute later.
        calls = [
            ("scannerGetList", {"id": scanner, "nbRows": rows}),
            ("scannerClose", {"id": scanner}),
        ]
        results: list[Any] = call_pipelined(client, calls)[0]
        return results


def _call_after_others(
    ahead: Sequence[tuple[str, Mapping[str, Any]]],
    results: list[list[Any]],
    client: Any,
    calls: Sequence[tuple[str, Mapping[str, Any]]],
) -> list[Any]:
    """Like `call_pipelined`, but send `ahead` first, and append its results to `results`."""
    found = call_pipelined(client, [*ahead, *calls])
    results += found[: len(ahead)]
    return found[len(ahead) :]


def _quote(text: bytes) -> bytes:
    return text.replace(b"'", b"''")


def _cells(row: Any) -> Row:
    return {
        column: Cell(cell.value, cell.timestamp) for column, cell in (row.columns or {}).items()
    }


def _key_before(key: bytes) -> bytes | None:
    """Return a key just below `key`, or None if there is none. Almost no keys are in between."""
    if not key:
        return None
    if key[-1] == 0:
        return key[:-1] or None
    return key[:-1] + bytes((key[-1] - 1,)) + b"\xff" * 16
