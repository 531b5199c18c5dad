"""
The refresh state that all beats and workers share.

It has the time of the last tick (a round that starts due refreshes), the budgets of domains with
more due refreshes than their rate allows, and the trust in the changes that each host's sitemaps
and feeds report.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence

from aragog.urlstore.crawl_budget import Budget
from zengraph import MultiGraph

_VALUE = b"i:v"
_BUDGET = struct.Struct(">qqddq")


class BudgetState:
    """Stored in the table of unique values; a call takes one or two round trips."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._registry = zen.registry

    def _row(self, kind: bytes, name: str) -> bytes:
        """
        Return a row key that cannot collide with a graph property.

        The row is in the table's first file. If that file is damaged, the next intact file is used,
        and the state starts empty.
        """
        first = self._registry.open_bucket()
        return bytes([first]) + b"budget\0" + kind + b"\0" + name.encode()

    def take_tick(self, name: str, now_ms: int, min_interval_s: float) -> float | None:
        """
        Claim the tick with this name. Returns the seconds since the last one.

        Returns None if the last tick was less than `min_interval_s` seconds ago, or a concurrent
        caller claimed this tick. The very first caller gets `min_interval_s`.
        """
        row = self._row(b"tick", name)
        cell = self._registry.get(row, [_VALUE]).get(_VALUE)
        elapsed_ms = now_ms - int.from_bytes(cell.value[:8]) if cell else int(min_interval_s * 1000)
        # A negative value (a clock was set back) must not stop the ticks.
        if 0 <= elapsed_ms < min_interval_s * 1000:
            return None
        tick = now_ms.to_bytes(8) + os.urandom(4)
        if not self._registry.check_and_put(row, _VALUE, cell.value if cell else None, tick):
            return None
        return max(elapsed_ms / 1000, min_interval_s)

    def budgets(self, domains: Sequence[str]) -> dict[str, Budget]:
        """Return the domains' budgets; empty for a domain without a stored budget."""
        rows = {self._row(b"domain", domain): domain for domain in domains}
        cells = self._registry.get_many(list(rows), [_VALUE]) if rows else {}
        return {
            domain: _unpack(cells[key][_VALUE].value) if key in cells else Budget()
            for key, domain in rows.items()
        }

    def keep_budgets(self, budgets: Mapping[str, Budget], now_ms: int) -> None:
        """Store the domains' budgets. The last writer wins."""
        self._registry.put_many(
            [
                (self._row(b"domain", domain), {_VALUE: _pack(budget)}, now_ms)
                for domain, budget in budgets.items()
            ]
        )

    def trust_cells(self, hosts: Sequence[str]) -> dict[str, bytes | None]:
        """Return each host's stored trust as a cell (`signal_trust.from_cell`), or None."""
        rows = {self._row(b"signals", name): name for name in hosts}
        cells = self._registry.get_many(list(rows), [_VALUE]) if rows else {}
        return {
            name: cells[key][_VALUE].value if _VALUE in cells.get(key, {}) else None
            for key, name in rows.items()
        }

    def put_trust(self, host: str, before: bytes | None, after: bytes) -> bool:
        """
        Store the trust in a host.

        Returns False if another process changed it since it was read.
        """
        return self._registry.check_and_put(self._row(b"signals", host), _VALUE, before, after)

    def bookmark(self, name: str) -> str | None:
        """Return the stored position of a walk through the table, or None at the beginning."""
        cell = self._registry.get(self._row(b"walk", name), [_VALUE]).get(_VALUE)
        return cell.value.decode() if cell and cell.value else None

    def set_bookmark(self, name: str, cursor: str, now_ms: int) -> None:
        row = self._row(b"walk", name)
        self._registry.put(row, {_VALUE: cursor.encode()}, at_ms=now_ms)


def _pack(budget: Budget) -> bytes:
    return _BUDGET.pack(
        budget.booked_ms, budget.free_ms, budget.price_s, budget.age_s, budget.at_ms
    )


def _unpack(cell: bytes) -> Budget:
    """Decode a budget; empty if its version is unknown."""
    return Budget(*_BUDGET.unpack(cell)) if len(cell) == _BUDGET.size else Budget()
