"""
Copy a whole UrlStore to another engine: from SQLite and a folder to HBase and S3, or back.

Cells keep their timestamps and objects are unchanged, so a copy is idempotent and can be resumed.
Concurrent writes to the source may or may not be copied. Rows of a store with an earlier format get
keys in the target's format (docs/adr/0113, docs/adr/0162).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from aragog.errors import BadInput, CorruptContent
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.due_index import DUE_URL
from aragog.urlstore.hosts import (
    HOST_URL,
    SAMPLE,
    SAMPLED,
    SENDER,
    is_in_sample,
    moved_sender,
)
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.nodes import ALIAS_URL, DUE, URL, text
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.pack_index import pack_index
from urlspelling import url_key
from zengraph.records import ID_BYTES, Cell, newest_ms, put_number
from zengraph.rekeying import find_ids, rekey_row
from zengraph.tables import OWN_ROWS, TABLES, TOGETHER, CellTable, Row, Tables

BATCH_BYTES = 1 << 20
BATCH_ROWS = 1000

OnCopied = Callable[[str, str, int], None]
"""
Called after each batch with the table's name, the last key in hex, and the number of copied rows.
"""


def copy_tables(
    source: Tables,
    target: Tables,
    *,
    on_progress: OnCopied = lambda *_: None,
    after: tuple[str, str] | None = None,
) -> int:
    """
    Copy all rows to the existing tables of `target`; returns how many.

    To resume, pass the (table, key) that `on_progress` reported last as `after`.

    Raises:
        BadInput: the target has an earlier format than the source; nothing was copied.
        StoreUnavailable: everything reported to `on_progress` is copied.
    """
    formats = source.format(), target.format()
    if formats[0] > formats[1]:
        raise BadInput(
            f"the target has data in the earlier format {formats[1]}, and the source has format "
            f"{formats[0]}; copy to a new store"
        )
    new_ids = NewIds(source, formats[1]) if formats[0] < formats[1] else None
    names = list(TABLES)
    copied_count = 0
    if after is not None:
        names = names[names.index(after[0]) :]
    for name in names:
        start = bytes.fromhex(after[1]) + b"\0" if after and name == after[0] else b""
        for key, rows in _copy_table(name, source[name], target[name], start, new_ids):
            copied_count += rows
            on_progress(name, key, copied_count)
    return copied_count


def copy_content(
    source: ContentStore,
    target: ContentStore,
    *,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    after: str = "",
) -> int:
    """
    Copy every object from `source` to `target`; returns how many.

    A damaged object is reported with its key and skipped. To resume, pass the key that
    `on_progress` reported last as `after`.

    Raises:
        ContentUnavailable: everything reported to `on_progress` is copied.
    """
    copied_count = 0
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
            copied_count += 1
            on_progress(key, copied_count)
    return copied_count


def copy_packs(
    source: PackFiles,
    target: PackFiles,
    *,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    after: str = "",
) -> int:
    """
    Copy every pack with its index from `source` to `target`; returns how many.

    Packs never change, so packs in the target are not read again. A damaged pack is reported and
    copied up to the damage.

    Raises:
        ContentUnavailable: everything reported to `on_progress` is copied.
    """
    existing_sizes = {file.name: file.size for file in target.packs()}
    copied_count = 0
    for file in source.packs():
        if file.name <= after or existing_sizes.get(file.name) == file.size:
            continue
        data = source.read_all(file.name)
        if data is None:
            continue
        index, problem = pack_index(file.name, data)
        if problem:
            on_problem(file.name, problem)
        target.put(file.name, data, index)
        copied_count += 1
        on_progress(file.name, copied_count)
    return copied_count


def _copy_table(
    name: str, source: CellTable, target: CellTable, start: bytes, new_ids: NewIds | None
) -> Iterator[tuple[str, int]]:
    with closing(source.scan(start, None)) as scanned:
        for rows in _batches(row for row in scanned if row[0] not in OWN_ROWS):
            moved_rows = rows if new_ids is None else new_ids.rekey_rows(name, rows)
            target.put_many(
                [
                    (key, cells, at_ms)
                    for key, row in moved_rows
                    for at_ms, cells in _by_time(row).items()
                ]
            )
            yield rows[-1][0].hex(), len(rows)


def _batches(rows: Iterable[tuple[bytes, Row]]) -> Iterator[list[tuple[bytes, Row]]]:
    batch: list[tuple[bytes, Row]] = []
    size = 0
    for key, row in rows:
        batch.append((key, row))
        size += sum(len(cell.value) for cell in row.values())
        if len(batch) == BATCH_ROWS or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _by_time(row: Row) -> dict[int, dict[bytes, bytes]]:
    by_time: dict[int, dict[bytes, bytes]] = {}
    for column, cell in row.items():
        by_time.setdefault(cell.at_ms, {})[column] = cell.value
    return by_time


_URLS = {"n": URL, "d": DUE_URL, "h": HOST_URL, "e": ALIAS_URL}
"""For each table, a column that contains the URL of a node to which the row belongs."""

Rows = Sequence[tuple[bytes, Row]]


class NewIds:
    """
    Maps page ids from an earlier format to a later one.

    A new id is derived from the page's URL, which is stored in its node or, if the page was never
    fetched, in its due row. Ids of applications' nodes stay unchanged.

    Args:
        source: the tables. Nodes are read here if a row lacks their URL.
        form: the later format.
    """

    def __init__(self, source: Tables, form: int) -> None:
        self._source = source
        self._old, self._new = UrlNaming(source.format), UrlNaming(lambda: form)
        self._lacks_sample = source.format() < TOGETHER

    def rekey_rows(self, table: str, rows: Rows) -> Rows:
        """Return the rows with new ids. Needs at most two multi-gets."""
        ids = dict.fromkeys(node_id for key, row in rows for node_id in find_ids(table, key, row))
        new_ids = self._ids_in_rows(table, rows)
        new_ids |= self._read_ids([node_id for node_id in ids if node_id not in new_ids])
        moved_rows = [rekey_row(table, key, row, new_ids) for key, row in rows]
        if table == "h":
            moved_rows = [
                (moved_sender(key, text(row, SENDER), self._new), row) for key, row in moved_rows
            ]
            return [*moved_rows, *_sample_rows(moved_rows)] if self._lacks_sample else moved_rows
        return moved_rows

    def _ids_in_rows(self, table: str, rows: Rows) -> dict[bytes, bytes]:
        column = _URLS.get(table)
        urls = (text(row, column) for _, row in rows) if column else ()
        return self._new_ids_by_old(url for url in urls if url)

    def _read_ids(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return new ids for nodes, from the URL in the node or its due row."""
        if not ids:
            return {}
        nodes = self._source["n"].get_many(ids, [URL, DUE])
        due = {
            put_number(node_id, int(at_ms), {}, 0)[1]
            for node_id, row in nodes.items()
            if URL not in row and (at_ms := text(row, DUE))
        }
        never_fetched = self._source["d"].get_many(list(due), [DUE_URL]) if due else {}
        urls = [text(row, URL) for row in nodes.values()]
        urls += [text(row, DUE_URL) for row in never_fetched.values()]
        return self._new_ids_by_old(url for url in urls if url)

    def _new_ids_by_old(self, urls: Iterable[str]) -> dict[bytes, bytes]:
        return {self._old.node_id(url): self._new.node_id(url) for url in urls}


def _sample_rows(rows: Rows) -> Rows:
    """Return rows for the page sample, which stores with the first key layout do not have."""
    return [
        (key[:1] + SAMPLE + url_key(url) + key[-ID_BYTES:], {SAMPLED: Cell(b"1", newest_ms(row))})
        for key, row in rows
        if SENDER not in row and (url := text(row, HOST_URL)) and is_in_sample(url)
    ]
