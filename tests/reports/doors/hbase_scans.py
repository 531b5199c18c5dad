"""
Many rows in a real HBase, read in various ways at once.

Input: `scenario`, the name of a function below; each returns what it read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from aragog.bootstrap.stores import hbase_tables
from tests.reports.doors.hbase import store_settings
from tests.support.waiting import wait_until

COLUMN = b"m:scans"


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The rows that the scenario read."""
    tables = hbase_tables(store_settings())
    try:
        return SCENARIOS[given["scenario"]](tables["n"])
    finally:
        tables.close()


def _fill(table: Any, prefix: bytes, count: int, size: int = 20) -> None:
    now_ms = int(time.time() * 1000)
    table.put_many(
        [(prefix + b"%06d" % n, {COLUMN: _value(n, size)}, now_ms) for n in range(count)]
    )


def _value(number: int, size: int = 20) -> bytes:
    return b"%06d" % number + b"x" * size


def scans_left_early(table: Any) -> dict[str, Any]:
    """Scans of which only one row is read, followed by other calls on the same connections."""
    _fill(table, b"a-", 500)
    for _ in range(60):
        next(iter(table.scan(b"a-", b"a.")))
    got = table.get(b"a-000007")[COLUMN].value
    return {"got": got[:6].decode(), "rows": len(list(table.scan(b"a-", b"a.")))}


def many_scans(table: Any) -> dict[str, Any]:
    """A hundred complete scans, one after the other."""
    _fill(table, b"b-", 200)
    return {"counts": sorted({len(list(table.scan(b"b-", b"b."))) for _ in range(100)})}


def own_rows(table: Any) -> dict[str, Any]:
    """Threads that read different rows at once; each gets its own."""
    _fill(table, b"c-", 400)
    wrong: list[int] = []

    def read(start: int) -> None:
        wrong.extend(
            n for n in range(start, 400, 8) if table.get(b"c-%06d" % n)[COLUMN].value != _value(n)
        )

    threads = [threading.Thread(target=read, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"wrong": wrong}


def large_values(table: Any) -> dict[str, Any]:
    """Values whose response arrives in many pieces."""
    _fill(table, b"d-", 60, size=300_000)
    got = table.get_many([b"d-%06d" % n for n in range(60)])
    whole = [got[b"d-%06d" % n][COLUMN].value == _value(n, 300_000) for n in range(60)]
    return {"whole": all(whole), "count": len(whole)}


def slow_scan(table: Any) -> dict[str, Any]:
    """A reader that pauses for longer than a gateway keeps an idle connection or a scanner."""
    _fill(table, b"e-", 3000, size=500)
    rows = []
    for row, _ in table.scan(b"e-", b"e."):
        rows.append(row)
        if len(rows) == 100:
            until_s = time.monotonic() + 75
            wait_until(lambda: time.monotonic() >= until_s, 120)  # noqa: B023 - it is waited for here
    return {"rows": len(rows), "each": len(set(rows))}


SCENARIOS = {
    each.__name__: each
    for each in (scans_left_early, many_scans, own_rows, large_values, slow_scan)
}
