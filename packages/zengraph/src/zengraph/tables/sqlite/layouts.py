"""
The layouts of the tables.

Tables of small cells store their rows in the key's B-tree. Inner pages of such a tree contain whole
cells. With cells of 1 KB, a page would have only four branches, and a deeper tree makes each write
change more pages. So large cells are stored in order of arrival, with an index on their keys,
except in files of format 1.
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
    """Return True if that format stores the table's rows by number instead of by key."""
    return isinstance(LAYOUTS[name], Packed) or (name in _LARGE and form >= TOGETHER)


def page_bytes(form: int) -> int:
    """
    Return the page size of new files of that format.

    A transaction writes each changed page to the log as a whole. A node's row exceeds half a page
    of 4 KB, so it would take a whole page. With pages of 2 KB, storing a web page writes 20% less,
    and its rows take a sixth less disk space. Pages of 1 KB would write another 10% less but use
    10% more CPU time. Existing files keep their page size.
    """
    return SMALL_PAGE_BYTES if form >= TOGETHER else LARGE_PAGE_BYTES


def schemas(form: int) -> list[str]:
    """Return statements that create the tables in that format."""
    return [
        layout.schema + ("" if is_by_number(name, form) else " WITHOUT ROWID")
        for name, layout in LAYOUTS.items()
    ]
