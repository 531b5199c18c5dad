"""
The layout of each table.

Small cells lie in the tree of their keys. Large ones do not: inner pages of such a tree hold whole
cells, so those of 1 KB leave four branches to a page, and each write changes more pages the more
there are. They lie in the order of their arrival, and an index of keys leads to them; in files
of the first form they lie in the tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from zengraph.tables import TABLES, TOGETHER
from zengraph.tables.sqlite.layout import Layout
from zengraph.tables.sqlite.packed_layout import Packed
from zengraph.tables.sqlite.single_layout import Single

LAYOUTS: Mapping[str, Layout] = {
    name: Packed(name) if name == "n" else Single(name) for name in TABLES
}

SMALL_PAGE_BYTES, LARGE_PAGE_BYTES = 2_048, 4_096

_LARGE = ("o", "l")
"""Tables of large cells: outlinks, and lists of inlinks."""


def is_by_number(name: str, form: int) -> bool:
    """True if the rows of a table lie by their numbers in files of that form, not by their keys."""
    return isinstance(LAYOUTS[name], Packed) or (name in _LARGE and form >= TOGETHER)


def page_bytes(form: int) -> int:
    """
    The pages of a new file of that form.

    A transaction writes each page that it changes to the log, however little of it changed, and a
    row of a node is larger than half a page of 4 KB, so that it takes a whole one: with pages of
    2 KB a page of the web writes a fifth less, and its rows take a sixth less of the disk. With
    1 KB it writes a tenth less again, and costs a tenth more CPU. SQLite reads the size from the
    file, so files begun with another size stay as they are.
    """
    return SMALL_PAGE_BYTES if form >= TOGETHER else LARGE_PAGE_BYTES


def schemas(form: int) -> list[str]:
    """The statements that create the tables of a file of that form."""
    return [
        layout.schema + ("" if is_by_number(name, form) else " WITHOUT ROWID")
        for name, layout in LAYOUTS.items()
    ]
