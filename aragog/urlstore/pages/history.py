"""Field history: the last values of a field, in one cell. Pure."""

from __future__ import annotations

import orjson

from aragog.urlstore.pages.nodes import field_column, history_column
from aragog.zen.properties import Cell, Row


def entries(cell: Cell | None) -> list[tuple[bytes, int]]:
    """(value, at_ms), newest first."""
    if cell is None:
        return []
    return [(value.encode("latin-1"), at_ms) for at_ms, value in orjson.loads(cell.value)]


def extended(cell: Cell | None, value: bytes, at_ms: int, length: int) -> bytes | None:
    """
    The cell with one value more; None when that changes nothing.

    Only changes are kept: a value equal to the one before it in time is left out, and so is one
    that the next one repeats. Values may come in any order, and twice.
    """
    before = entries(cell)
    moments = sorted({at: v for v, at in [*before, (value, at_ms)]}.items())
    distinct = [m for i, m in enumerate(moments) if not i or moments[i - 1][1] != m[1]]
    after = [(at, v) for at, v in reversed(distinct)][:length]
    if after == [(at, v) for v, at in before]:
        return None
    return orjson.dumps([(at, v.decode("latin-1")) for at, v in after])


def cell_of(row: Row, name: str) -> Cell | None:
    """A field's history; if there is none yet, it begins with the present value."""
    past, now = row.get(history_column(name)), row.get(field_column(name))
    if past is None and now is not None:
        return Cell(orjson.dumps([(now.at_ms, now.value.decode("latin-1"))]), now.at_ms)
    return past
