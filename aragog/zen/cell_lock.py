"""A lock in one cell that expires, taken and released by check-and-put."""

from __future__ import annotations

import os

from aragog.clock import Clock
from aragog.zen.tables import CellTable

_FREE = b"\0"
"""The cell of a released lock: it expired at the beginning of time."""
_EXPIRY_BYTES = 8


class CellLock:
    """Mutual exclusion between processes; the lock of a killed process expires."""

    def __init__(self, table: CellTable, column: bytes, lease_ms: int, clock: Clock) -> None:
        self._table = table
        self._column = column
        self._lease_ms = lease_ms
        self._clock = clock

    def acquire(self, row: bytes) -> bytes | None:
        """A token for `release`; None when another process holds the lock."""
        now_ms = self._clock.now_ms()
        cell = self._table.get(row, [self._column]).get(self._column)
        current = cell.value if cell else None
        if current and int.from_bytes(current[:_EXPIRY_BYTES]) > now_ms:
            return None
        token = (now_ms + self._lease_ms).to_bytes(_EXPIRY_BYTES) + os.urandom(8)
        return token if self._table.check_and_put(row, self._column, current, token) else None

    def release(self, row: bytes, token: bytes) -> None:
        """Release the lock unless it expired and another process took it."""
        self._table.check_and_put(row, self._column, token, _FREE)
