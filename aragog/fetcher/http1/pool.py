"""The pool of idle connections, limited by number and age."""

from __future__ import annotations

import threading

from aragog.clock import Clock
from aragog.fetcher.http1.connection import HttpConnection, Peer

# Servers close idle connections after 5 s (Apache) to 75 s (nginx). A domain with work is requested
# again within a second.
IDLE_S = 20.0


class ConnectionPool:
    """
    Idle connections by peer. Thread-safe; must not be used across a fork.

    Args:
        clock: measures how long a connection was idle.
        max_idle: limit over all peers; the least recently used connection is closed first.
        max_idle_per_peer: limit per peer; further connections are closed.
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
        """Take an open idle connection to `peer`, which the caller then owns; None without one."""
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
        """Return a connection without an active request to the pool."""
        connection.idle_since_s = self._clock.monotonic_s()
        surplus = self._keep(connection)
        if surplus is not None:
            surplus.close()

    def _keep(self, connection: HttpConnection) -> HttpConnection | None:
        """Store the connection; return the one to close in exchange, if any."""
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
            # Peers are in the order in which connections were returned.
            peer, oldest = next(iter(self._idle.items()))
            surplus = oldest.pop(0)
            self._number -= 1
            if not oldest:
                del self._idle[peer]
            return surplus

    def close(self) -> None:
        """Close all idle connections, and active ones when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle, self._number = self._idle, {}, 0
        for kept in idle.values():
            for connection in kept:
                connection.close()
