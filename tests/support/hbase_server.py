"""
A private HBase with two Thrift gateways for the whole run.

HBase takes seconds to create the tables, and deleted rows leave tombstones that hide what a later
test writes with an older timestamp. So the tables are created once, and `fresh_hbase` gives each
test its own key space: `KeySpace` puts a few bytes before every row key.
"""

from __future__ import annotations

import atexit
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from aragog.bootstrap.stores import hbase_tables
from aragog.settings import StoreSettings
from deploy.hbase.server import HBaseServer
from tests.support.missing_parts import HBASE
from tests.support.servers import folder_of_a_server, start_or_skip
from zengraph.tables import FORMAT, TABLES, Cell, CellTable, Deletion, Row, RowRange, Scan, Tables
from zengraph.tables.hbase import HBaseTables

_numbers = itertools.count(1)
_stack = ExitStack()
atexit.register(_stack.close)


def start_hbase(folder: Path, *, gateways: int) -> HBaseServer:
    """Start a server; see `start_or_skip`."""
    return start_or_skip(HBaseServer(folder, ports=(0,) * gateways).start, HBASE)


@cache
def running_hbase() -> HBaseServer:
    """Return the HBase of this process, with two gateways. The first call starts it."""
    server = start_hbase(_stack.enter_context(folder_of_a_server("hbase")), gateways=2)
    _stack.callback(server.kill)
    return server


@pytest.fixture(scope="session")
def hbase_server() -> HBaseServer:
    """One HBase for the whole run, with two gateways. Tests leave both running."""
    return running_hbase()


@pytest.fixture(scope="session")
def hbase_settings(hbase_server: HBaseServer) -> StoreSettings:
    """Settings with both gateways and a table prefix for this run."""
    return StoreSettings(
        engine="hbase",
        hbase_gateways=hbase_server.gateways,
        hbase_prefix="run_",
        hbase_timeout_ms=20_000,
    )


@pytest.fixture(scope="session")
def all_hbase_tables(hbase_settings: StoreSettings) -> Iterator[HBaseTables]:
    """The tables of this run, created once. Tests share their rows, so use `fresh_hbase` instead."""
    tables = hbase_tables(hbase_settings)
    tables.create()
    yield tables
    tables.close()


@pytest.fixture
def fresh_hbase(all_hbase_tables: HBaseTables) -> Callable[[], Tables]:
    """Return a maker of empty tables, which are only a new prefix."""
    return lambda: KeySpaces(all_hbase_tables, next(_numbers).to_bytes(4))


# The time of tests' clocks, as in aragog.runtime.clock.ManualClock.
STILL_MS = 1_700_000_000_000
AHEAD_MS = 60_000


class KeySpace(CellTable):
    """
    The rows of a table whose keys begin with `prefix`, as a separate table.

    A region server stamps what check_and_put writes with its own clock, while tests' clocks stand
    still in 2023. So times are shifted: the tests' time is a minute ahead of HBase's, and a delete
    removes what was checked and put a moment ago, as if the clocks agreed.
    """

    def __init__(self, table: CellTable, prefix: bytes, shift_ms: int) -> None:
        self._table = table
        self._prefix = prefix
        self._end = (int.from_bytes(prefix) + 1).to_bytes(len(prefix))
        self._shift_ms = shift_ms

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        return self._shown(self._table.get(self._prefix + row, columns))

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        stored = self._table.get_many([self._prefix + row for row in rows], columns)
        return {row[len(self._prefix) :]: self._shown(cells) for row, cells in stored.items()}

    def get_prefix(self, row: bytes, prefix: bytes, limit: int, start_after: bytes = b"") -> Row:
        return self._shown(self._table.get_prefix(self._prefix + row, prefix, limit, start_after))

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        self._table.put(self._prefix + row, cells, at_ms=at_ms + self._shift_ms)

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        self._table.put_many(
            [(self._prefix + row, cells, at_ms + self._shift_ms) for row, cells, at_ms in items]
        )

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self._table.delete(self._prefix + row, columns, at_ms=at_ms + self._shift_ms)

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        self._table.delete_many(
            [(self._prefix + row, columns, at_ms + self._shift_ms) for row, columns, at_ms in items]
        )

    def put_and_delete_many(
        self,
        puts: Sequence[tuple[bytes, Mapping[bytes, bytes], int]],
        deletions: Sequence[Deletion],
    ) -> None:
        self._table.put_and_delete_many(
            [(self._prefix + row, cells, at_ms + self._shift_ms) for row, cells, at_ms in puts],
            [(self._prefix + row, some, at_ms + self._shift_ms) for row, some, at_ms in deletions],
        )

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
        found, scanned = self._table.get_then_scan(
            self._prefix + row, columns, self._prefix + start, self._prefix + stop,
            limit=limit, reverse=reverse,
        )  # fmt: skip
        return self._shown(found), self._shown_rows(scanned)

    def _shown_rows(self, scanned: Scan) -> Scan:
        for row, cells in scanned:
            yield row[len(self._prefix) :], self._shown(cells)

    def _scan(self, rows: RowRange) -> Scan:
        start, stop, columns, limit, reverse = rows
        end = self._end if stop is None else self._prefix + stop
        return self._shown_rows(
            self._table.scan(
                self._prefix + start, end, columns=columns, limit=limit, reverse=reverse
            )
        )

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        return self._table.check_and_put(self._prefix + row, column, expected, value)

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        return self._table.check_and_put_many([(self._prefix + row, *rest) for row, *rest in items])

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        return self._table.incr(self._prefix + row, column, delta)

    def _shown(self, cells: Row) -> Row:
        return {c: Cell(cell.value, cell.at_ms - self._shift_ms) for c, cell in cells.items()}


class KeySpaces(Tables):
    """All tables, each reduced to the rows of one prefix. Closing them does nothing."""

    def __init__(self, tables: Tables, prefix: bytes) -> None:
        shift_ms = time.time_ns() // 1_000_000 + AHEAD_MS - STILL_MS
        self._tables = {name: KeySpace(tables[name], prefix, shift_ms) for name in TABLES}

    def __getitem__(self, name: str) -> KeySpace:
        return self._tables[name]

    def format(self) -> int:
        return FORMAT
