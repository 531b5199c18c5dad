"""
Traces of removed links: which long posting lists still contain a link that a page once had.

A short list is merged by the compaction that removes a link from it. A list with segments keeps
the removed link until all of its segments are merged, which may take months. Until then a cell of
the page's row in `o`, `l:g<list id in hex>`, names the list, so that a takedown can find it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from aragog.zen.node_ids import id_of
from aragog.zen.tables import Tables

_TRACE = b"l:g"
_AT_ONCE = 1000


class Traces:
    """The traces of removed links, by page."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["o"]

    def note(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Record (URL of the page, list id of the target) each."""
        self._table.put_many(
            [(id_of(source), {_column(target): b""}, now_ms) for source, target in removals]
        )

    def targets(self, pages: Sequence[bytes]) -> set[bytes]:
        """List ids of targets whose lists may still contain a removed link of these pages (ids)."""
        rows = self._table.get_many(pages)
        return {
            bytes.fromhex(column[len(_TRACE) :].decode())
            for row in rows.values()
            for column in row
            if column.startswith(_TRACE)
        }

    def forget(self, removals: Iterable[tuple[bytes, bytes]], now_ms: int) -> None:
        """Delete the records of (URL of the page, list id of the target) each."""
        left = iter(removals)
        while some := list(islice(left, _AT_ONCE)):
            self._table.delete_many(
                [(id_of(source), [_column(target)], now_ms) for source, target in some]
            )


def _column(target: bytes) -> bytes:
    return _TRACE + target.hex().encode()
