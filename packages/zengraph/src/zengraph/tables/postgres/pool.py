"""
A pool of connections to one PostgreSQL server, for all threads of a process.

- A connection serves one call at a time. If a call ends without a response, its connection is
  closed.
- A call that the server rejects because of other transactions (deadlock, serialization) has changed
  nothing. It gets up to `ATTEMPTS` attempts.
- When a connection is lost, idle ones are closed too, because the server has probably restarted. A
  repeatable call is repeated once on a new connection. Other calls (check-and-put, increment) are
  repeated only if nothing has been sent.
- A forked process opens its own connections.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import StoreUnavailable
from zengraph.tables.postgres.connection import (
    CLOSING_STATES,
    CONFLICT_STATES,
    Call,
    ConnectionLost,
    PostgresConnection,
    Rows,
    ServerError,
    translate_error,
)
from zengraph.tables.postgres.dsn import without_password

T = TypeVar("T")

ATTEMPTS = 10
LAG_EVERY_S = 1.0
"""Seconds between measurements of a replica's lag."""
# A connected replica that has replayed everything has no lag, even if its last transaction is old:
# an idle primary sends nothing.
_LAG = """
SELECT (CASE WHEN NOT pg_is_in_recovery() THEN 0
  WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
  ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 1e9)
END)::bigint
"""


class PostgresPool:
    """
    At most `size` connections, opened when needed. Thread-safe; may be used across a fork.

    Args:
        dsn: a libpq connection string. If it names several hosts, they are tried in order.
        size: maximum number of connections of this process.
        timeout_s: limit for one call, and for waiting for a free connection.
        pooler: see `PostgresConnection`.
        opened: called with each new connection. If it raises, the connection is closed.
        words: names of commands and settings for error messages.
    """

    def __init__(
        self,
        dsn: str,
        *,
        size: int,
        timeout_s: float,
        pooler: bool = False,
        opened: Callable[[PostgresConnection], None] = lambda _: None,
        words: Remedies = DEFAULT,
    ) -> None:
        self.words = words
        self._opened = opened
        self._dsn = dsn
        self._size = size
        self._timeout_s = timeout_s
        self._pooler = pooler
        self.where = f"PostgreSQL at {without_password(dsn)}"
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._idle: list[PostgresConnection] = []
        self._open = 0

    def run(self, calls: Sequence[Call], *, repeatable: bool = True) -> list[Rows]:
        """
        Execute statements in one round trip, as one transaction; returns the rows of each.

        Raises:
            StoreUnavailable: no response. If the call is not `repeatable`, it may have been
                executed.
            InvalidArgument: the server rejects the arguments.
        """
        return self.use(lambda connection: connection.run(calls), repeatable=repeatable)

    def use(self, act: Callable[[PostgresConnection], T], *, repeatable: bool = True) -> T:
        """Call `act` with a reserved connection; raises the errors of `run`."""
        fresh = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._run_once(act, fresh=fresh)
            except ServerError as error:
                ends = error.state.startswith(CLOSING_STATES)
                if attempt == ATTEMPTS or not (
                    error.state.startswith(CONFLICT_STATES) or (ends and not fresh)
                ):
                    raise translate_error(self.where, error, self.words) from error
                fresh = fresh or ends
            except ConnectionLost as error:
                if fresh or (error.sent and not repeatable):
                    raise StoreUnavailable(self.where, str(error)) from error
                fresh = True
        raise AssertionError  # the last attempt returns or raises

    def close(self) -> None:
        """Close idle connections. Those in use are closed on an error or at process exit."""
        with self._changed:
            self._drop_idle()

    def _run_once(self, act: Callable[[PostgresConnection], T], *, fresh: bool) -> T:
        connection = self._acquire(fresh=fresh)
        try:
            result = act(connection)
        except ServerError as error:
            self._give_back(connection, keep=not error.state.startswith(CLOSING_STATES))
            raise
        except BaseException as error:
            # The response may still arrive, even after KeyboardInterrupt or a soft time limit, so
            # the connection cannot be used again.
            self._give_back(connection, keep=False, others=not isinstance(error, ConnectionLost))
            raise
        self._give_back(connection, keep=True)
        return result

    def _acquire(self, *, fresh: bool) -> PostgresConnection:
        if os.getpid() != self._pid:
            self._start()  # forget the parent's connections without closing them
        until_s = time.monotonic() + self._timeout_s
        with self._changed:
            while True:
                while self._idle and not fresh:
                    connection = self._idle.pop()
                    if connection.is_quiet():
                        return connection
                    self._forget(connection)
                if fresh:
                    self._drop_idle()
                if self._open < self._size:
                    self._open += 1
                    break
                left_s = until_s - time.monotonic()
                if left_s <= 0 or not self._changed.wait(left_s):
                    raise StoreUnavailable(
                        self.where,
                        f"all {self._size} connections stayed in use for {self._timeout_s:.1f} s; "
                        f"raise {self.words.pool_size}",
                    )
        try:
            connection = PostgresConnection(
                self._dsn, timeout_s=self._timeout_s, pooler=self._pooler, words=self.words
            )
            self._opened(connection)
            return connection
        except BaseException:
            with self._changed:
                self._open -= 1
                self._changed.notify()
            raise

    def _give_back(
        self, connection: PostgresConnection, *, keep: bool, others: bool = True
    ) -> None:
        with self._changed:
            if keep:
                self._idle.append(connection)
            else:
                self._forget(connection)
                if not others:
                    self._drop_idle()
            self._changed.notify()

    def _drop_idle(self) -> None:
        while self._idle:
            self._forget(self._idle.pop())

    def _forget(self, connection: PostgresConnection) -> None:
        self._open -= 1
        with suppress(Exception):
            connection.close()


class ReplicaPool(PostgresPool):
    """
    Connections to a replica. Calls fail while the replica's lag is too large.

    Args:
        dsn: the replica's connection string.
        max_lag_s: maximum lag, in seconds.
        options: the other arguments of `PostgresPool`.
    """

    def __init__(self, dsn: str, *, max_lag_s: float, **options: Any) -> None:
        super().__init__(dsn, **options)
        self._max_lag_s = max_lag_s
        self._lag_s = 0
        self._looked_at_s = -LAG_EVERY_S

    def run(self, calls: Sequence[Call], *, repeatable: bool = True) -> list[Rows]:
        now_s = time.monotonic()
        if now_s - self._looked_at_s >= LAG_EVERY_S:
            ((lag,),) = self.use(lambda connection: connection.read(_LAG))
            self._lag_s, self._looked_at_s = int.from_bytes(lag, signed=True), now_s
        if self._lag_s > self._max_lag_s:
            raise StoreUnavailable(
                self.where,
                f"the replica is {self._lag_s} s behind ({self.words.max_lag}: "
                f"{self._max_lag_s:g})",
            )
        return super().run(calls, repeatable=repeatable)
