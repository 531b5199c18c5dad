"""
DNS resolution with a time limit and a short-lived cache.

It uses the operating system's resolver, so /etc/hosts and nsswitch.conf apply. Because that
resolver does not report TTLs, results are cached for a fixed short time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenEvent

# Long enough for the pages of one batch, and short enough to notice a changed address.
TTL_S = 60.0
# A failed lookup is repeated soon, but not for every URL of a batch.
FAILURE_TTL_S = 5.0
MAX_ENTRIES = 10_000

Lookup = Callable[[str], list[str]]
"""Returns the addresses of a host name. Raises OSError if it has no address."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of a lookup: addresses to try in order, or the reason for a failure."""

    addresses: tuple[str, ...]
    reason: str = ""


def system_lookup(host: str) -> list[str]:
    """Return the host's addresses in the operating system's order, without duplicates."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


class Resolver:
    """
    A caching resolver. Thread-safe; may be used across forks.

    Args:
        lookup: performs one lookup; may block.
        timeout_s: limit for one lookup. After that, the lookup's thread continues in the
            background.
        max_entries: maximum number of cached names; the oldest is evicted.
    """

    def __init__(
        self, lookup: Lookup, clock: Clock, *, timeout_s: float, max_entries: int = MAX_ENTRIES
    ) -> None:
        self._max_entries = max_entries
        self._lookup = lookup
        self._clock = clock
        self._timeout_s = timeout_s
        self._cache: dict[str, tuple[float, Resolution]] = {}
        self._lock = threading.Lock()

    def find(self, host: str) -> Resolution:
        """
        Return the addresses of `host`.
        Takes 1 µs from the cache, otherwise at most `timeout_s`.
        """
        cached = self._cache.get(host)
        now_s = self._clock.monotonic_s()
        if cached is not None and now_s < cached[0]:
            return cached[1]
        resolution = self._resolve(host)
        ttl_s = TTL_S if resolution.addresses else FAILURE_TTL_S
        expires_s = self._clock.monotonic_s() + ttl_s
        with self._lock:
            self._cache.pop(host, None)
            if len(self._cache) >= self._max_entries:
                del self._cache[next(iter(self._cache))]
            self._cache[host] = (expires_s, resolution)
        return resolution

    def _resolve(self, host: str) -> Resolution:
        resolution = look_up(self._lookup, host, self._timeout_s)
        if resolution.addresses or resolution.reason:
            return resolution
        return Resolution((), "the name has no address")


def look_up(lookup: Lookup, host: str, timeout_s: float) -> Resolution:
    """
    Look up a host without the cache, waiting at most `timeout_s`.

    The lookup runs in its own thread, possibly longer than `timeout_s`: the operating system's
    resolver has no time limit, and would block all green threads of the calling thread.
    """
    results: list[Resolution] = []
    ended = GreenEvent()

    def resolve() -> None:
        try:
            results.append(Resolution(tuple(lookup(host))))
        except OSError as error:
            results.append(Resolution((), error.strerror or str(error)))
        except ValueError:
            # Raised by getaddrinfo for labels over 63 characters.
            results.append(Resolution((), "not a valid host name"))
        finally:
            ended.set()

    threading.Thread(target=resolve, name=f"dns {host}", daemon=True).start()
    ended.wait(timeout_s)
    return results[0] if results else Resolution((), f"no response from DNS within {timeout_s:g} s")
