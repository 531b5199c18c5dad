"""
The latencies of responses that this process has not reported to the limiter yet.

They travel with the next report of the same domain, so they cost no round trip. The limiter slows
a domain down whose responses take longer than usual (`lua/release_permit.lua`).
"""

from __future__ import annotations

import math
import threading
import zlib
from typing import NamedTuple

from aragog.crawl.politeness.slots import SHORTEST_MS

# Domains with unreported latencies; the one that has waited longest is dropped first.
MAX_DOMAINS = 10_000
_LONGEST = 7.99
# Bits by which servers are told apart. Two share one now and then, which costs nothing but that the
# second is not noticed as new.
SERVER_BITS = 12


class Latency(NamedTuple):
    """The latency of a domain's responses, as `release_permit.lua` receives it."""

    log_ms: float
    """The mean of ln(latency in ms / `SHORTEST_MS`), from 0 to 8."""
    servers: int
    """A bit for each address that sent one; 0: there were no responses."""


NOTHING = Latency(0.0, 0)


class PendingLatencies:
    """Unreported latencies by limiter key. Thread-safe; about 1 µs a response."""

    def __init__(self, max_domains: int = MAX_DOMAINS) -> None:
        self._max = max_domains
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[float, int, int]] = {}

    def note(self, key: str, ms: float, address: str | None) -> None:
        """
        Note how long a response took.

        Args:
            key: the limiter key of the domain.
            ms: from sending the request to the response's head.
            address: of the server; another one may be slower or faster.
        """
        bit = 1 << zlib.crc32((address or "").encode()) % SERVER_BITS
        log_ms = min(_LONGEST, math.log(max(ms / SHORTEST_MS, 1.0)))
        with self._lock:
            total, count, servers = self._sums.get(key, (0.0, 0, 0))
            self._sums[key] = total + log_ms, count + 1, servers | bit
            if len(self._sums) > self._max:
                del self._sums[next(iter(self._sums))]

    def take(self, key: str) -> Latency:
        """Return what was noted for `key` since the last call, which forgets it."""
        with self._lock:
            total, count, servers = self._sums.pop(key, (0.0, 0, 0))
        return Latency(total / count, servers) if count else NOTHING

    def has(self, key: str) -> bool:
        """Whether `take` would return any latency."""
        return key in self._sums
