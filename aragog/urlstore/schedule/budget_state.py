"""
The pace of refreshing, shared by all beats and workers: whose tick it is, and what is remembered
of a domain whose refreshes are more than its rate allows.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence

from aragog.urlstore.schedule.crawl_budget import Budget
from aragog.zen.graph import Zen

_VALUE = b"i:v"
_BUDGET = struct.Struct(">qqddq")


class BudgetState:
    """Small cells in the table of unique values; reading and writing are one round trip each."""

    def __init__(self, zen: Zen) -> None:
        self._zen = zen
        self._registry = zen.registry

    def _row(self, kind: bytes, name: str) -> bytes:
        """
        A key that no property of a graph begins with.

        In the first file, or, while that is damaged, in the next: what is remembered begins anew.
        """
        first = self._registry.open_bucket()
        return bytes([first]) + b"pace\0" + kind + b"\0" + name.encode()

    def take_tick(self, name: str, now_ms: int, least_s: float) -> float | None:
        """
        Seconds since the last tick of that name was taken, for one caller; None: it is too soon.

        Of two that ask at once one gets it. The first ever gets `least_s`.
        """
        row = self._row(b"tick", name)
        cell = self._registry.get(row, [_VALUE]).get(_VALUE)
        passed_ms = now_ms - int.from_bytes(cell.value[:8]) if cell else int(least_s * 1000)
        # A clock that went back must not stop the ticks.
        if 0 <= passed_ms < least_s * 1000:
            return None
        taken = now_ms.to_bytes(8) + os.urandom(4)
        if not self._registry.check_and_put(row, _VALUE, cell.value if cell else None, taken):
            return None
        return max(passed_ms / 1000, least_s)

    def budgets(self, domains: Sequence[str]) -> dict[str, Budget]:
        """Of each domain; those that never had too much are new ones."""
        rows = {self._row(b"domain", domain): domain for domain in domains}
        found = self._registry.get_many(list(rows), [_VALUE]) if rows else {}
        return {
            domain: _budget(found[key][_VALUE].value) if key in found else Budget()
            for key, domain in rows.items()
        }

    def keep_budgets(self, budgets: Mapping[str, Budget], now_ms: int) -> None:
        """Remember what ticks left of them; the last one to do so counts."""
        self._registry.put_many(
            [
                (self._row(b"domain", domain), {_VALUE: _packed(budget)}, now_ms)
                for domain, budget in budgets.items()
            ]
        )

    def bookmark(self, name: str) -> str | None:
        """Where a walk was; None: at its beginning."""
        cell = self._registry.get(self._row(b"walk", name), [_VALUE]).get(_VALUE)
        return cell.value.decode() if cell and cell.value else None

    def set_bookmark(self, name: str, cursor: str, now_ms: int) -> None:
        """Where it is now."""
        row = self._row(b"walk", name)
        self._registry.put(row, {_VALUE: cursor.encode()}, at_ms=now_ms)


def _packed(budget: Budget) -> bytes:
    return _BUDGET.pack(
        budget.booked_ms, budget.free_ms, budget.price_s, budget.age_s, budget.at_ms
    )


def _budget(cell: bytes) -> Budget:
    """Of a cell that another version wrote nothing is known."""
    return Budget(*_BUDGET.unpack(cell)) if len(cell) == _BUDGET.size else Budget()
