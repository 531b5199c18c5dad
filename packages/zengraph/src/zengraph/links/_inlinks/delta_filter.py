"""
A filter that shows which lists have lines in the deltas of a collecting group.

Such a group (`levels_below`) has dozens of deltas, of which the reader of a list needs one or none.
Reading the others took a quarter of a read's time. So one cell of the row contains two bytes of
each list id in each delta:

    2 bytes    number of deltas
    19 bytes   for each delta: its column, followed by
    4 bytes    the number of its lists
    rest       the last two bytes of the ids, in the order of deltas and lists

A delta's content never changes, so the cell is always correct, whichever process wrote it. A reader
reads the deltas that the cell does not list, and those for which the cell contains the last two
bytes of the reader's list id.
With 8,000 lists, every eighth read includes an unneeded delta. Earlier versions ignore this cell.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from struct import Struct

from zengraph.links._inlinks import list_block
from zengraph.links._inlinks.group_rows import FILTER, ListGroup

_COUNT_BYTES = 2
_Delta = Struct(">19sI")
_MARK_BYTES = 2


def filter_cells(
    groups: Iterable[ListGroup], many_deltas: int, now_ms: int
) -> list[tuple[bytes, dict[bytes, bytes], int]]:
    """
    Return new filters, as (key, cells, time), for collecting groups without a recent filter.

    A filter is recent while fewer than `many_deltas` / 2 deltas are missing from it.
    """
    return [
        (group.key, {FILTER: pack(group)}, now_ms)
        for group in groups
        if group.header.collects and not group.header.passing
        if len(group.unmerged) >= many_deltas
        if 2 * len({*group.unmerged} - _named(group)) >= many_deltas
    ]


def pack(group: ListGroup) -> bytes:
    """Return the filter of all deltas that a group's header does not include."""
    ids = [list_block.ids(group.row[column].value) for column in group.unmerged]
    deltas = [
        _Delta.pack(column, len(some) // list_block.LOCAL_BYTES)
        for column, some in zip(group.unmerged, ids, strict=True)
    ]
    return b"".join([len(deltas).to_bytes(_COUNT_BYTES), *deltas, _marks(b"".join(ids))])


def columns_without(value: bytes, local_ids: Iterable[bytes]) -> set[bytes]:
    """Return the columns that a reader of these lists does not need, including the filter."""
    deltas, stop = _deltas(value)
    starts = [0, *accumulate(count for _, count in deltas)]
    columns = [column for column, _ in deltas]
    hits = {
        columns[bisect(starts, number) - 1]
        for local_id in local_ids
        for number in _found(value[stop:], local_id[-_MARK_BYTES:])
    }
    return {FILTER, *columns} - hits


def _named(group: ListGroup) -> set[bytes]:
    """Return the columns of deltas in a group's filter."""
    cell = group.row.get(FILTER)
    return {column for column, _ in _deltas(cell.value)[0]} if cell else set()


def _deltas(value: bytes) -> tuple[Sequence[tuple[bytes, int]], int]:
    """Return each delta's column and list count, and the offset of the ids' last bytes."""
    stop = _COUNT_BYTES + _Delta.size * int.from_bytes(value[:_COUNT_BYTES])
    return list(_Delta.iter_unpack(value[_COUNT_BYTES:stop])), stop


def _marks(ids: bytes) -> bytes:
    """Return the last two bytes of each id, joined. A loop would take ten times as long."""
    size = list_block.LOCAL_BYTES
    marks = bytearray(_MARK_BYTES * (len(ids) // size))
    marks[::2], marks[1::2] = ids[size - 2 :: size], ids[size - 1 :: size]
    return bytes(marks)


def _found(marks: bytes, mark: bytes) -> Iterable[int]:
    """Yield the indexes of the lists whose ids end with these two bytes."""
    at = marks.find(mark)
    while at >= 0:
        if at % _MARK_BYTES == 0:
            yield at // _MARK_BYTES
        at = marks.find(mark, at + 1)
