"""The maximum size of the spool, and the marks at which fetching stops and resumes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What a body needs beyond its own bytes: its part of a message, its index entry and its key.
OVERHEAD_BYTES = 1024
# The spool may use 1/4 of `maxmemory`, or else 1/64 of the memory of the Redis machine.
SHARE_OF_MAXMEMORY = 4
SHARE_OF_MACHINE = 64
# About 10,000 pages of 50 KB, a minute of work for one core. More would only add waiting time.
LARGEST_DEFAULT_BYTES = 128 * 2**20


@dataclass(frozen=True, slots=True)
class SpoolBounds:
    """The bounds for a spool of `max_bytes`; each body counts `OVERHEAD_BYTES` more."""

    max_bytes: int

    @property
    def high_bytes(self) -> int:
        """Workers stop claiming fetches at this fill level."""
        return self.max_bytes * 3 // 8

    @property
    def low_bytes(self) -> int:
        """
        They resume at this fill level, a few batches below: with a large distance, fetching and the
        stages after it would take turns instead of sharing the processors.
        """
        return self.high_bytes - self.max_bytes // 32

    @property
    def claimed_bytes(self) -> int:
        """
        Batches that were claimed before may fill it to here.

        With less room, they would be divided, and their rest would wait for new slots.
        """
        return self.max_bytes // 2

    @property
    def fetch_bytes(self) -> int:
        """Urgent fetches may fill it to here; the rest is for later stages."""
        return self.max_bytes * 3 // 4


def bounds_of(max_bytes: int | None, memory: Mapping[str, Any]) -> SpoolBounds:
    """
    The bounds of a spool.

    Args:
        max_bytes: `pipeline.spool_max_bytes`; None: a quarter of `maxmemory` or, if Redis has no
            `maxmemory`, 1/64 of its machine's memory; in both cases at most 128 MiB.
        memory: the reply of Redis to `INFO memory`.
    """
    if max_bytes is None:
        maxmemory = int(memory.get("maxmemory", 0))
        machine = int(memory.get("total_system_memory", 0))
        share = maxmemory // SHARE_OF_MAXMEMORY or machine // SHARE_OF_MACHINE
        max_bytes = min(share or LARGEST_DEFAULT_BYTES, LARGEST_DEFAULT_BYTES)
    return SpoolBounds(max_bytes)
