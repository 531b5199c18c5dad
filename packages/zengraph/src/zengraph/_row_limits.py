"""
Limits for rows that applications write. Without them, a node or an edge could become unreadable.

Each write is checked against the stored row first. Writers of one row in one process take turns.
Each writer in another process can exceed a limit by one request.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from weakref import WeakValueDictionary

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import SizeExceeded
from zengraph.tables import CellTable, RowExtent, RowSizes


class Limits(NamedTuple):
    """The limits of a row."""

    size_bytes: int = 16_777_216
    """The maximum size of all values together."""
    properties: int = 2_000


RowPut = tuple[bytes, Mapping[bytes, bytes]]
"""(row, cells)."""


class RowLimits:
    """
    The limits of one table's rows. Threads may share it.

    Args:
        family: the prefix of property columns.
        hidden: the column of this family that is not a property.
        limits: the limits of a row.
        remedies: the names used in messages.
    """

    def __init__(
        self,
        table: CellTable,
        family: bytes,
        hidden: bytes,
        limits: Limits | None = None,
        remedies: Remedies = DEFAULT,
    ) -> None:
        self._remedies = remedies
        self._max_bytes, self._max_properties = limits or Limits()
        self._table = table
        self._family = family
        self._hidden = hidden
        self._mutex = threading.Lock()
        self._locks: WeakValueDictionary[bytes, _RowLock] = WeakValueDictionary()

    @contextmanager
    def check_write(
        self, puts: Sequence[RowPut], to_delete: Collection[bytes] = ()
    ) -> Iterator[None]:
        """
        Hold the locks of these rows and check their limits; write the puts inside the block.

        A put that does not enlarge its row is always allowed. The columns in `to_delete` do not
        count, because the caller deletes them right after the block.

        Raises:
            SizeExceeded: a row would exceed a limit; nothing was written.
        """
        if not puts:
            yield
            return
        new_cells: dict[bytes, dict[bytes, bytes]] = {}
        for row, cells in puts:
            new_cells.setdefault(row, {}).update(cells)
        locks = [self._get_lock(row) for row in sorted(new_cells)]
        with ExitStack() as held:
            for each in locks:
                held.enter_context(each.lock)
            extents = self._table.extents_many(list(new_cells))
            rows_to_check = [
                row for row in new_cells if self._may_exceed(extents.get(row), new_cells[row])
            ]
            stored = self._table.sizes_many(rows_to_check) if rows_to_check else {}
            for row in rows_to_check:
                self.check(stored.get(row, {}), new_cells[row], to_delete)
            yield

    def _may_exceed(self, stored: RowExtent | None, cells: Mapping[bytes, bytes]) -> bool:
        """Check the limits roughly, as if all of these cells were new."""
        size_bytes, count = stored or (0, 0)
        size_bytes += sum(map(len, cells.values()))
        return size_bytes > self._max_bytes or count + len(cells) > self._max_properties

    def check(
        self, stored: RowSizes, cells: Mapping[bytes, bytes], to_delete: Collection[bytes] = ()
    ) -> None:
        """Raise SizeExceeded if a put of these cells would make a stored row too large."""
        before = {column: size.size_bytes for column, size in stored.items()}
        after = before | {column: len(value) for column, value in cells.items()}
        for column in to_delete:
            if column not in cells:
                after.pop(column, None)
        size = sum(after.values())
        if size > max(self._max_bytes, sum(before.values())):
            raise SizeExceeded(
                f"the record would have {size:,} bytes, the limit is {self._max_bytes:,} "
                f"({self._remedies.record_bytes}); {self._remedies.smaller_record}"
            )
        count = self._properties(after)
        if count > max(self._max_properties, self._properties(before)):
            raise SizeExceeded(
                f"the record would have {count:,} fields, the limit is {self._max_properties:,} "
                f"({self._remedies.record_properties}); {self._remedies.fewer_properties}"
            )

    def _properties(self, columns: Collection[bytes]) -> int:
        count = sum(column.startswith(self._family) for column in columns)
        return count - (self._hidden in columns)

    def _get_lock(self, row: bytes) -> _RowLock:
        with self._mutex:
            lock = self._locks.get(row)
            if lock is None:
                lock = self._locks[row] = _RowLock()
            return lock


class _RowLock:
    """Lets the writers of one row take turns. Kept while a writer holds it or waits for it."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
