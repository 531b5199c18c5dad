"""
Leases in a cell, for work that only one process may do at a time.

A lease is valid until it is released or expires. It is acquired, renewed and released by
check-and-put, so each of these steps fails if another process has taken the lease over. The cell
contains the holder and the expiration time, according to the clock of the process that wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Self

from zengraph.clock import Clock
from zengraph.tables import CellTable, Row

_FREE = b"\0"
"""The cell of a released lease: expired in 1970, with no holder."""
_EXPIRY_BYTES = 8


class Lease(NamedTuple):
    cell: bytes
    """The expiration time in ms since the epoch (8 bytes), then the holder."""

    @classmethod
    def of(cls, row: Row, column: bytes) -> Self | None:
        """Decode the lease in a row; None if there never was one."""
        cell = row.get(column)
        return None if cell is None else cls(cell.value)

    @classmethod
    def until(cls, until_ms: int, holder: bytes) -> Self:
        return cls(until_ms.to_bytes(_EXPIRY_BYTES) + holder)

    @property
    def holder(self) -> bytes:
        """The current or last holder; empty if the lease was released."""
        return self.cell[_EXPIRY_BYTES:]

    def is_live(self, now_ms: int) -> bool:
        return int.from_bytes(self.cell[:_EXPIRY_BYTES]) > now_ms


class CellLeases:
    """
    Leases in one column of a table, one per row. Only this class writes the column.

    Args:
        lease_ms: lifetime of a lease after it is acquired or renewed.
        clock: must differ from the clocks of other processes by less than `lease_ms`.
    """

    def __init__(self, table: CellTable, column: bytes, lease_ms: int, clock: Clock) -> None:
        self._table = table
        self._column = column
        self._lease_ms = lease_ms
        self._clock = clock

    def read(self, row: bytes) -> Lease | None:
        """Return the row's lease, or None if there never was one."""
        return Lease.of(self._table.get(row, [self._column]), self._column)

    def acquire(self, row: bytes) -> Lease | None:
        """Acquire the row's lease. Returns None if another process holds it."""
        before = self.read(row)
        if before is not None and before.is_live(self._clock.now_ms()):
            return None
        return self.take(row, before, os.urandom(8))

    def take(self, row: bytes, before: Lease | None, holder: bytes) -> Lease | None:
        """
        Replace the lease `before` with a new one. Returns None if `before` has changed.

        The caller decides whether `before` may be taken over.
        """
        lease = Lease.until(self._clock.now_ms() + self._lease_ms, holder)
        expected = None if before is None else before.cell
        return lease if self._table.check_and_put(row, self._column, expected, lease.cell) else None

    def renew(self, row: bytes, lease: Lease) -> Lease | None:
        """Extend the lease, counted from now. Returns None if another process took it over."""
        return self.take(row, lease, lease.holder)

    def end(self, row: bytes, lease: Lease) -> Lease | None:
        """Expire the lease now but keep its holder. Returns None if the lease was taken over."""
        ended_lease = Lease.until(0, lease.holder)
        done = self._table.check_and_put(row, self._column, lease.cell, ended_lease.cell)
        return ended_lease if done else None

    def release(self, row: bytes, lease: Lease) -> bool:
        """Release the lease. If it was taken over, change nothing and return False."""
        return self._table.check_and_put(row, self._column, lease.cell, _FREE)


def take_many(
    table: CellTable,
    column: bytes,
    rows: Sequence[tuple[bytes, Lease | None]],
    lease: Lease,
) -> list[bool]:
    """Call `CellLeases.take` for each (row, lease before), all with the same new lease."""
    return table.check_and_put_many(
        [(row, column, before and before.cell, lease.cell) for row, before in rows]
    )
