"""
Response latencies that this process has not yet reported to the limiter.

They are sent along with the domain's next report, so they cost no round trip. The limiter slows
down domains that respond more slowly than usual (`lua/release_permit.lua`).
"""

from __future__ import annotations

import math
import threading
import zlib
from typing import NamedTuple

from aragog.crawl.politeness.slots import MIN_LATENCY_MS

# How many domains may have unreported latencies. If there are more, the oldest are dropped.
MAX_DOMAINS = 10_000
_MAX_LOG_MS = 7.99
# Number of bits that distinguish servers. If two servers share a bit, the second is not recognized
# as new, which does no harm.
SERVER_BITS = 12


class Latency(NamedTuple):
    """The latency of a domain's responses, for `release_permit.lua`."""

    log_ms: float
    """The mean of ln(latency in ms / `MIN_LATENCY_MS`), from 0 to 8."""
    servers: int
    """One bit per address that responded; 0 if none did."""


NO_LATENCY = Latency(0.0, 0)


class PendingLatencies:
    """Unreported latencies by limiter key (domain). Thread-safe. Costs 1 µs per response."""

    def __init__(self, max_domains: int = MAX_DOMAINS) -> None:
        self._max_domains = max_domains
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[float, int, int]] = {}

    def record(self, key: str, ms: float, address: str | None) -> None:
        """
        Record a response's latency.

        Args:
            key: the domain's limiter key.
            ms: the time from sending the request to receiving the response's headers.
            address: the server's address, because a domain's servers differ in speed.
        """
        bit = 1 << zlib.crc32((address or "").encode()) % SERVER_BITS
        log_ms = min(_MAX_LOG_MS, math.log(max(ms / MIN_LATENCY_MS, 1.0)))
        with self._lock:
            total, count, servers = self._sums.get(key, (0.0, 0, 0))
            self._sums[key] = total + log_ms, count + 1, servers | bit
            if len(self._sums) > self._max_domains:
                del self._sums[next(iter(self._sums))]

    def take(self, key: str) -> Latency:
        """Return and remove the latencies recorded for `key`."""
        with self._lock:
            total, count, servers = self._sums.pop(key, (0.0, 0, 0))
        return Latency(total / count, servers) if count else NO_LATENCY

    def contains(self, key: str) -> bool:
        """Return True if `take` would return a latency."""
        return key in self._sums
