"""
Leases in a cell: what only one process may do at a time, until it releases it or its time is over.

A lease is acquired, renewed and released by check-and-put, so each step fails for a process whose
lease was taken over in the meantime. The cell holds when the lease expires, by the clocks of the
processes, and who holds it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Self

from zengraph.clock import Clock
from zengraph.tables import CellTable, Row

_FREE = b"\0"
"""The cell of a released lease: it expired at the beginning of time."""
_EXPIRY_BYTES = 8


class Lease(NamedTuple):
    """A lease as it is stored."""

    cell: bytes
    """When it expires, in ms since the epoch (8 bytes), then its holder."""

    @classmethod
    def of(cls, row: Row, column: bytes) -> Self | None:
        """The lease in a row that was read; None if there never was one."""
        cell = row.get(column)
        return None if cell is None else cls(cell.value)

    @classmethod
    def until(cls, until_ms: int, holder: bytes) -> Self:
        """A lease of that holder until that time."""
        return cls(until_ms.to_bytes(_EXPIRY_BYTES) + holder)

    @property
    def holder(self) -> bytes:
        """Who holds it, or held it; empty if it was released."""
        return self.cell[_EXPIRY_BYTES:]

    def is_live(self, now_ms: int) -> bool:
        """True until it expires."""
        return int.from_bytes(self.cell[:_EXPIRY_BYTES]) > now_ms


class CellLeases:
    """
    Leases in one column of a table, a row each. Only this writes the column.

    Args:
        lease_ms: lifetime of a lease that was acquired or renewed.
        clock: its clock may differ from those of other processes by less than `lease_ms`.
    """

    def __init__(self, table: CellTable, column: bytes, lease_ms: int, clock: Clock) -> None:
        self._table = table
        self._column = column
        self._lease_ms = lease_ms
        self._clock = clock

    def read(self, row: bytes) -> Lease | None:
        """The lease of a row; None if there never was one."""
        return Lease.of(self._table.get(row, [self._column]), self._column)

    def acquire(self, row: bytes) -> Lease | None:
        """The lease of a row; None while another process holds it."""
        before = self.read(row)
        if before is not None and before.is_live(self._clock.now_ms()):
            return None
        return self.take(row, before, os.urandom(8))

    def take(self, row: bytes, before: Lease | None, holder: bytes) -> Lease | None:
        """
        Take the lease in place of one that was read; None if it changed since.

        The caller decides that the one before may be taken over.
        """
        lease = Lease.until(self._clock.now_ms() + self._lease_ms, holder)
        expected = None if before is None else before.cell
        return lease if self._table.check_and_put(row, self._column, expected, lease.cell) else None

    def renew(self, row: bytes, lease: Lease) -> Lease | None:
        """The same lease from now on; None if another process has taken it over."""
        return self.take(row, lease, lease.holder)

    def end(self, row: bytes, lease: Lease) -> Lease | None:
        """Let the lease expire now; its holder stays named. None: it was taken over."""
        ended = Lease.until(0, lease.holder)
        done = self._table.check_and_put(row, self._column, lease.cell, ended.cell)
        return ended if done else None

    def release(self, row: bytes, lease: Lease) -> bool:
        """Release the lease; False if another process has taken it over: it keeps it."""
        return self._table.check_and_put(row, self._column, lease.cell, _FREE)


def take_many(
    table: CellTable,
    column: bytes,
    rows: Sequence[tuple[bytes, Lease | None]],
    lease: Lease,
) -> list[bool]:
    """`CellLeases.take` of each (row, lease that was read), with the same new lease."""
    return table.check_and_put_many(
        [(row, column, before and before.cell, lease.cell) for row, before in rows]
    )
