"""How large the spool may be, and the marks between which fetching stops and goes on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What a body takes beyond itself: its part of the message that names it, its index entry, its key.
OVERHEAD_BYTES = 1024
# Of `maxmemory`; without one, of the memory of Redis' machine.
SHARE_OF_MAXMEMORY = 4
SHARE_OF_MACHINE = 64
# Some 10,000 pages of 50 KB: a minute of work for one core. More only makes pages wait longer.
LARGEST_DEFAULT_BYTES = 128 * 2**20


@dataclass(frozen=True, slots=True)
class SpoolBounds:
    """The bounds that follow from the spool's size. Bodies count `OVERHEAD_BYTES` more each."""

    max_bytes: int

    @property
    def high_bytes(self) -> int:
        """From here on fetching stops."""
        return self.max_bytes // 2

    @property
    def low_bytes(self) -> int:
        """Down here it goes on."""
        return self.max_bytes // 4

    @property
    def fetch_bytes(self) -> int:
        """Fetches under way and urgent ones may fill it so far; the rest is for later stages."""
        return self.max_bytes * 3 // 4


def bounds_of(max_bytes: int | None, memory: Mapping[str, Any]) -> SpoolBounds:
    """
    The bounds of a spool.

    Args:
        max_bytes: `pipeline.spool_max_bytes`; None: a quarter of `maxmemory`, or where Redis has
            none a 64th of its machine's memory, 128 MiB at most.
        memory: what Redis answers to `INFO memory`.
    """
    if max_bytes is None:
        maxmemory = int(memory.get("maxmemory", 0))
        machine = int(memory.get("total_system_memory", 0))
        share = maxmemory // SHARE_OF_MAXMEMORY or machine // SHARE_OF_MACHINE
        max_bytes = min(share or LARGEST_DEFAULT_BYTES, LARGEST_DEFAULT_BYTES)
    return SpoolBounds(max_bytes)
