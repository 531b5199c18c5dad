"""Kept connections: few, young, and none whose other end has closed."""

from __future__ import annotations

import threading

from aragog.clock import Clock
from aragog.fetcher.http1.connection import HttpConnection, Peer

# Servers close idle connections after 5 s (Apache) to 75 s (nginx); a domain that is being fetched
# is asked again within a second.
IDLE_S = 20.0


class Pool:
    """
    Idle connections by peer; safe to use from many threads, not across a fork.

    Args:
        clock: its stopwatch tells how long a connection was idle.
        max_idle: over all peers; the longest idle goes first.
        max_idle_per_peer: more are closed at once.
    """

    def __init__(self, clock: Clock, *, max_idle: int = 64, max_idle_per_peer: int = 4) -> None:
        self._clock = clock
        self._max_idle = max_idle
        self._max_per_peer = max_idle_per_peer
        self._lock = threading.Lock()
        self._idle: dict[Peer, list[HttpConnection]] = {}
        self._number = 0
        self._closed = False

    def take(self, peer: Peer) -> HttpConnection | None:
        """An idle connection to `peer` that seems alive; the caller owns it."""
        while True:
            with self._lock:
                kept = self._idle.get(peer)
                if not kept:
                    return None
                connection = kept.pop()
                self._number -= 1
                if not kept:
                    del self._idle[peer]
            idle_s = self._clock.monotonic_s() - connection.idle_since_s
            if idle_s < IDLE_S and not connection.stale:
                return connection
            connection.close()

    def give(self, connection: HttpConnection) -> None:
        """Keep a connection on which nothing is under way."""
        connection.idle_since_s = self._clock.monotonic_s()
        surplus = self._keep(connection)
        if surplus is not None:
            surplus.close()

    def _keep(self, connection: HttpConnection) -> HttpConnection | None:
        """The connection that has to go for it, if any."""
        with self._lock:
            kept = self._idle.pop(connection.peer, [])
            if self._closed or len(kept) >= self._max_per_peer:
                if kept:
                    self._idle[connection.peer] = kept
                return connection
            self._idle[connection.peer] = [*kept, connection]
            self._number += 1
            if self._number <= self._max_idle:
                return None
            # The peer that was given to least recently stands first.
            peer, oldest = next(iter(self._idle.items()))
            surplus = oldest.pop(0)
            self._number -= 1
            if not oldest:
                del self._idle[peer]
            return surplus

    def close(self) -> None:
        """Close all of them, and those still under way when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle, self._number = self._idle, {}, 0
        for kept in idle.values():
            for connection in kept:
                connection.close()
