"""
Read and change a packed row without loading all of it into memory.

A row up to `LARGE_BYTES` is read whole. For a larger row, its columns, timestamps and positions of
values are read first. Then only the needed values are read. When the row is rewritten, the other
values are copied from their old positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from zengraph.tables import Cell, CellSize, Row, RowSizes
from zengraph.tables._packed import MAX_CELLS, RowHead, number_format, pack
from zengraph.tables._shapes import make_shape, parse_columns

LARGE_BYTES = 1_048_576

ReadPart = Callable[[int, int], bytes]
"""Reads a number of bytes of the stored row, starting at an offset."""


class ValuePlace(NamedTuple):
    """A value's position in the stored row."""

    begin: int
    end: int


def locate_cells(read: ReadPart, size: int) -> dict[bytes, Any]:
    """Return the cells of a stored row of `size` bytes, with `ValuePlace`s as values."""
    cells: dict[bytes, Any] = {}
    start = 0
    while start < size:
        found, start = _locate_part(read, start)
        for column, cell in found:
            old = cells.get(column)
            if old is None or old.at_ms <= cell.at_ms:
                cells[column] = cell
    return cells


def _locate_part(read: ReadPart, start: int) -> tuple[list[tuple[bytes, Any]], int]:
    """Return the cells of the packed row at `start`, and the offset of the packed row after it."""
    count, length = RowHead.unpack(read(start, RowHead.size))
    shape = read(start + RowHead.size, length)
    numbers_format = number_format(count)
    numbers_at = start + RowHead.size + length
    numbers = numbers_format.unpack(read(numbers_at, numbers_format.size))
    values_at = numbers_at + numbers_format.size
    places = [
        ValuePlace(values_at + begin, values_at + end) for begin, end in pairwise(numbers[count:])
    ]
    columns = parse_columns(shape)
    cells: list[tuple[bytes, Any]] = [
        (column, Cell(place, at_ms))  # type: ignore[arg-type]
        for column, place, at_ms in zip(columns, places, numbers[:count], strict=True)
    ]
    return cells, values_at + numbers[-1]


def size_of(value: bytes | ValuePlace) -> int:
    """Return a value's size in bytes."""
    return value.end - value.begin if isinstance(value, ValuePlace) else len(value)


def measure_cells(cells: Mapping[bytes, Any]) -> RowSizes:
    """Return a row's cells without their values."""
    return {column: CellSize(size_of(cell.value), cell.at_ms) for column, cell in cells.items()}


def read_cells(cells: Mapping[bytes, Any], columns: Iterable[bytes], read: ReadPart) -> Row:
    """Read the values of `columns`; columns that are not in `cells` are omitted."""
    chosen = {column: cells[column] for column in columns if column in cells}
    return {
        column: Cell(read(cell.value.begin, size_of(cell.value)), cell.at_ms)
        for column, cell in chosen.items()
    }


def read_packed(cells: Mapping[bytes, Any], columns: Sequence[bytes], read: ReadPart) -> bytes:
    """Return a packed row with only some of the cells."""
    return pack(read_cells(cells, columns, read))


def lay_out(cells: Mapping[bytes, Any]) -> tuple[bytes, list[bytes | ValuePlace]]:
    """Return the header of a packed row with these cells, and its values in order."""
    if len(cells) > MAX_CELLS:
        pack(dict(cells))  # raises InvalidArgument: too many cells
    columns = sorted(cells)
    values: list[bytes | ValuePlace] = [cells[column].value for column in columns]
    shape = make_shape(columns)
    ends = accumulate(map(size_of, values), initial=0)
    times = [cells[column].at_ms for column in columns]
    numbers = number_format(len(columns)).pack(*times, *ends)
    return RowHead.pack(len(columns), len(shape)) + shape + numbers, values
