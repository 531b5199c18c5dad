"""
Copy a whole UrlStore to another engine: from SQLite and a folder to HBase and S3, or back.

Cells are copied with their timestamps and objects unchanged, so copying again changes nothing, and
an interrupted copy can be resumed. Nothing should write to the source meanwhile: such writes may or
may not be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from aragog.errors import CorruptContent
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.pack_index import pack_index
from zengraph.tables import TABLES, CellTable, Row, Tables

BATCH_BYTES = 1 << 20
BATCH_ROWS = 1000

OnCopied = Callable[[str, str, int], None]
"""Called after each batch with the table's name, the last key in hex, and the rows so far."""


def copy_tables(
    source: Tables,
    target: Tables,
    *,
    on_progress: OnCopied = lambda *_: None,
    after: tuple[str, str] | None = None,
) -> int:
    """
    Put every row of every table of `source` into the existing tables of `target`; returns how many.

    `after` is the (table, key) that `on_progress` reported last, to resume there.

    Raises:
        StoreUnavailable: everything that was reported is copied.
    """
    names = list(TABLES)
    copied = 0
    if after is not None:
        names = names[names.index(after[0]) :]
    for name in names:
        start = bytes.fromhex(after[1]) + b"\0" if after and name == after[0] else b""
        for key, rows in _copy_table(source[name], target[name], start):
            copied += rows
            on_progress(name, key, copied)
    return copied


def copy_content(
    source: ContentStore,
    target: ContentStore,
    *,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    after: str = "",
) -> int:
    """
    Put every object of `source` into `target`; returns how many.

    An object that is damaged is reported with its key and skipped. `after` is the key that
    `on_progress` reported last.

    Raises:
        ContentUnavailable: everything that was reported is copied.
    """
    copied = 0
    for key in source.keys(""):
        if key <= after:
            continue
        try:
            content = source.get(key)
        except CorruptContent as error:
            on_problem(key, error.reason)
            continue
        if content is not None:
            target.put(key, *content)
            copied += 1
            on_progress(key, copied)
    return copied


def copy_packs(
    source: PackFiles,
    target: PackFiles,
    *,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    after: str = "",
) -> int:
    """
    Put every pack of `source`, with its index, into `target`; returns how many.

    Packs never change, so those that are there are not read again. One that is damaged is copied up
    to the damage, and reported: its other records stay readable.

    Raises:
        ContentUnavailable: everything that was reported is copied.
    """
    there = {file.name: file.size for file in target.packs()}
    copied = 0
    for file in source.packs():
        if file.name <= after or there.get(file.name) == file.size:
            continue
        data = source.read_all(file.name)
        if data is None:
            continue
        index, problem = pack_index(file.name, data)
        if problem:
            on_problem(file.name, problem)
        target.put(file.name, data, index)
        copied += 1
        on_progress(file.name, copied)
    return copied


def _copy_table(source: CellTable, target: CellTable, start: bytes) -> Iterator[tuple[str, int]]:
    """(last key, rows) of each batch that was put."""
    items: list[tuple[bytes, dict[bytes, bytes], int]] = []
    size = rows = 0
    key = start
    with closing(source.scan(start, None)) as scanned:
        for key, row in scanned:
            for at_ms, cells in _by_time(row).items():
                items.append((key, cells, at_ms))
                size += sum(map(len, cells.values()))
            rows += 1
            if rows == BATCH_ROWS or size > BATCH_BYTES:
                target.put_many(items)
                yield key.hex(), rows
                items, size, rows = [], 0, 0
    if items:
        target.put_many(items)
        yield key.hex(), rows


def _by_time(row: Row) -> dict[int, dict[bytes, bytes]]:
    by_time: dict[int, dict[bytes, bytes]] = {}
    for column, cell in row.items():
        by_time.setdefault(cell.at_ms, {})[column] = cell.value
    return by_time
