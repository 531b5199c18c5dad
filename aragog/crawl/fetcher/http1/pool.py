"""The pool of idle connections, limited by number and age."""

from __future__ import annotations

import contextlib
import threading
from collections import deque

from aragog.crawl.fetcher.http1.connection import HttpConnection, Peer
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenEvent
from aragog.runtime.open_files import limit

# Servers close idle connections after 5 s (Apache) to 75 s (nginx); `take` detects this. A shorter
# limit would waste connections, because requests to a domain may be a minute apart.
MAX_IDLE_S = 70.0

# With 250 hosts, one request per second each, and a pool of only 64 connections, every page would
# need a new connection. An idle connection takes 3 KB, or 50 KB with TLS.
MAX_IDLE = 512
# The pool may keep one idle connection for this many file descriptors of the process.
DESCRIPTORS_PER_IDLE = 8


def max_idle() -> int:
    """
    Return the maximum number of idle connections: `MAX_IDLE`, but at most an eighth of the file
    descriptors.
    """
    return min(MAX_IDLE, limit() // DESCRIPTORS_PER_IDLE)


class ConnectionPool:
    """
    Idle connections by peer (server and route). Thread-safe. Must not be used across a fork.

    Also tracks connections in use, so that a request can wait for one.

    Args:
        max_idle: the limit for all peers together. The least recently used connection is closed
            first. Expired ones are closed whenever a connection is returned.
        max_idle_per_peer: the limit per peer. Additional connections are closed.
    """

    def __init__(
        self, clock: Clock, *, max_idle: int = MAX_IDLE, max_idle_per_peer: int = 4
    ) -> None:
        self._clock = clock
        self._max_idle = max_idle
        self._max_per_peer = max_idle_per_peer
        self._lock = threading.Lock()
        self._idle: dict[Peer, list[HttpConnection]] = {}
        self._idle_count = 0
        self._closed = False
        self._in_use: dict[Peer, set[HttpConnection]] = {}
        self._waiters: dict[Peer, deque[GreenEvent]] = {}

    def take(self, peer: Peer, wait_s: float = 0.0) -> HttpConnection | None:
        """
        Take an idle connection to `peer` out of the pool, or return None.

        Args:
            peer: the server and the route to it.
            wait_s: how long to wait for a connection that is in use.
        """
        end_s = self._clock.monotonic_s() + wait_s
        while (connection := self._take_idle(peer)) is None:
            remaining_s = end_s - self._clock.monotonic_s()
            if remaining_s <= 0 or not self._wait_for_idle(peer, remaining_s):
                return None
        self.add_in_use(connection)
        return connection

    def add_in_use(self, connection: HttpConnection) -> None:
        """Record a new connection as in use, until it is put back or closed."""
        with self._lock:
            self._in_use.setdefault(connection.peer, set()).add(connection)
        connection.on_close = self._on_close

    def _on_close(self, connection: HttpConnection) -> None:
        with self._lock:
            events = self._remove_in_use(connection)
        for event in events:
            event.set()

    def _remove_in_use(self, connection: HttpConnection) -> list[GreenEvent]:
        """
        Record that a connection is no longer in use. Returns the events of the threads to wake. The
        caller holds the lock.
        """
        peer = connection.peer
        in_use, waiters = self._in_use.get(peer), self._waiters.get(peer)
        if in_use is not None:
            in_use.discard(connection)
            if not in_use:
                del self._in_use[peer]
        if not waiters:
            return []
        if peer in self._idle:
            return [waiters.popleft()]
        return [] if peer in self._in_use else list(self._waiters.pop(peer))

    def _wait_for_idle(self, peer: Peer, seconds: float) -> bool:
        with self._lock:
            if peer in self._idle:
                return True
            if peer not in self._in_use:
                return False
            event = GreenEvent()
            self._waiters.setdefault(peer, deque()).append(event)
        is_woken = event.wait(seconds)
        with self._lock:
            waiters = self._waiters.get(peer)
            if waiters is not None:
                with contextlib.suppress(ValueError):  # removed by the thread that woke us
                    waiters.remove(event)
                if not waiters:
                    del self._waiters[peer]
        return is_woken

    def _take_idle(self, peer: Peer) -> HttpConnection | None:
        while True:
            with self._lock:
                connections = self._idle.get(peer)
                if not connections:
                    return None
                connection = connections.pop()
                self._idle_count -= 1
                if not connections:
                    del self._idle[peer]
            idle_s = self._clock.monotonic_s() - connection.idle_since_s
            if idle_s < MAX_IDLE_S and not connection.is_stale:
                return connection
            connection.close()

    def put_back(self, connection: HttpConnection) -> None:
        """Return a connection, with no request in progress, to the pool."""
        connection.idle_since_s = self._clock.monotonic_s()
        with self._lock:
            surplus = [] if self._keep_idle(connection) else [connection]
            while oldest := self._remove_surplus(connection.idle_since_s):
                surplus.append(oldest)
            events = self._remove_in_use(connection)
        for event in events:
            event.set()
        for closing in surplus:
            closing.close()

    def _keep_idle(self, connection: HttpConnection) -> bool:
        """Keep the connection as the most recently used, unless its peer has enough."""
        connections = self._idle.pop(connection.peer, [])
        is_kept = not self._closed and len(connections) < self._max_per_peer
        if is_kept:
            connections.append(connection)
            self._idle_count += 1
        if connections:
            self._idle[connection.peer] = connections
        return is_kept

    def _remove_surplus(self, now_s: float) -> HttpConnection | None:
        """Remove and return the oldest connection if it is too old or there are too many."""
        if not self._idle:
            return None
        peer, connections = next(iter(self._idle.items()))
        if self._idle_count <= self._max_idle and now_s - connections[0].idle_since_s < MAX_IDLE_S:
            return None
        self._idle_count -= 1
        oldest = connections.pop(0)
        if not connections:
            del self._idle[peer]
        return oldest

    def close(self) -> None:
        """Close all idle connections now, and the others when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle, self._idle_count = self._idle, {}, 0
        for connections in idle.values():
            for connection in connections:
                connection.close()
