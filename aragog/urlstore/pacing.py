"""
The pace of refreshing, shared by all beats and workers: whose tick it is, and how far ahead a
domain's refreshes were put off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from aragog.zen.tables import Tables

# No property of a graph has a name that begins so.
_PREFIX = b"\0pace\0"
_VALUE = b"i:v"


class Pacing:
    """Small cells in the table of unique values; reading and writing are one round trip each."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["u"]

    def take_tick(self, name: str, now_ms: int, least_s: float) -> float | None:
        """
        Seconds since the last tick of that name was taken, for one caller; None: it is too soon.

        Of two that ask at once one gets it. The first ever gets `least_s`.
        """
        row = _PREFIX + b"tick\0" + name.encode()
        cell = self._table.get(row, [_VALUE]).get(_VALUE)
        passed_ms = now_ms - int.from_bytes(cell.value[:8]) if cell else int(least_s * 1000)
        # A clock that went back must not stop the ticks.
        if 0 <= passed_ms < least_s * 1000:
            return None
        taken = now_ms.to_bytes(8) + os.urandom(4)
        if not self._table.check_and_put(row, _VALUE, cell.value if cell else None, taken):
            return None
        return max(passed_ms / 1000, least_s)

    def booked_ms(self, domains: Sequence[str]) -> dict[str, int]:
        """Up to when refreshes of domains were put off; those that never were are left out."""
        rows = {_PREFIX + b"domain\0" + domain.encode(): domain for domain in domains}
        found = self._table.get_many(list(rows), [_VALUE])
        return {rows[key]: int.from_bytes(row[_VALUE].value) for key, row in found.items()}

    def book(self, upto_ms: Mapping[str, int], now_ms: int) -> None:
        """Put the refreshes of these domains off up to these instants."""
        self._table.put_many(
            [
                (_PREFIX + b"domain\0" + domain.encode(), {_VALUE: at_ms.to_bytes(8)}, now_ms)
                for domain, at_ms in upto_ms.items()
            ]
        )

    def bookmark(self, name: str) -> str | None:
        """Where a walk was; None: at its beginning."""
        cell = self._table.get(_PREFIX + b"walk\0" + name.encode(), [_VALUE]).get(_VALUE)
        return cell.value.decode() if cell and cell.value else None

    def set_bookmark(self, name: str, cursor: str, now_ms: int) -> None:
        """Where it is now."""
        row = _PREFIX + b"walk\0" + name.encode()
        self._table.put(row, {_VALUE: cursor.encode()}, at_ms=now_ms)
