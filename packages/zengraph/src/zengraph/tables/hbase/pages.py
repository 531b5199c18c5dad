"""
How many rows a scan's next page has, given what earlier pages contained.

A caller that counts bytes may stop its read early (`_read_bytes`), so it gets small pages first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zengraph._read_bytes import counted_rows
from zengraph.tables import RowRange

FIRST_PAGE_ROWS = 64
FIRST_COUNTED_ROWS = 8
MAX_PAGE_ROWS = 1024
MAX_PAGE_BYTES = 1 << 20


def first_page_rows(rows: RowRange) -> int:
    """Return the first page's number of rows."""
    size = FIRST_PAGE_ROWS if counted_rows() is None else FIRST_COUNTED_ROWS
    return size if rows.limit is None else min(size, rows.limit)


def next_page_rows(size: int, page: Sequence[Any]) -> int:
    """Return four times as many rows as the last page had, or fewer if its rows were large."""
    page_bytes = sum(map(value_bytes, page))
    if page_bytes > MAX_PAGE_BYTES:
        return max(1, size // 2)
    return size if page_bytes * 4 > MAX_PAGE_BYTES else min(size * 4, MAX_PAGE_ROWS)


def value_bytes(row: Any) -> int:
    """Return the size of a row's values."""
    return sum(len(cell.value) for cell in (row.columns or {}).values())


def count_bytes(rows: Sequence[Any]) -> None:
    """Count the bytes of rows that the gateway has sent."""
    if (counted := counted_rows()) is not None:
        counted.add(sum(map(value_bytes, rows)))
