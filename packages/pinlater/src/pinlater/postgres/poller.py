"""
Wake a worker when PostgreSQL has new jobs.

PostgreSQL notifies every connection that listens on a channel, and ten workers that look for one
job cost more than the job itself. So each worker registers and listens on its own channel, and for
a new job `pinlater.wake` notifies one registered worker. A worker registers first and looks for
jobs in a second transaction, so it misses no job.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import psycopg
from psycopg import pq

from pinlater.postgres.link import PostgresLink, SqlCall, SqlRefused, call, read_rows
from pinlater.postgres.wire import text, texts

if TYPE_CHECKING:
    from pinlater.postgres.shard import PostgresShard

REGISTER_EVERY_S = 3.0
"""Seconds between registrations. A worker whose registration is older than 10 s counts as dead."""
OVERDUE_S = 5.0
CHECK_EVERY_S = 1.0
POLL_EVERY_S = 0.2
"""Seconds between checks where a connection pooler prevents notifications."""


class PostgresPoller:
    """A connection that listens for notifications. Not thread-safe."""

    def __init__(self, shard: PostgresShard) -> None:
        self.shard = shard
        self.connection: PostgresLink | None = None
        self.waiting_since_s: float | None = None
        """When it last registered; None while not waiting."""
        self.check_every_s = CHECK_EVERY_S
        self._channel = f"pinlater_{uuid.uuid4().hex[:16]}"
        self._is_pooled: bool | None = None
        self._replies_due = 0
        self._registered: Sequence[str] | None = None

    @property
    def fileno(self) -> int | None:
        return None if self.connection is None else self.connection.pgconn.socket

    def must_send(self, now_s: float) -> bool:
        if self._is_pooled or self._replies_due:
            return False
        return (
            self.waiting_since_s is None
            or self._registered is None
            or (now_s - self.waiting_since_s > REGISTER_EVERY_S)
        )

    def is_overdue(self, now_s: float) -> bool:
        return bool(self._replies_due) and now_s - (self.waiting_since_s or 0.0) > OVERDUE_S

    def send(self, queues: Sequence[str], now_s: float) -> None:
        """
        Register for jobs of any of the queues. `read` reads the reply.

        Raises:
            OSError: the server cannot be reached, or refuses a new connection.
        """
        try:
            link = None if self._is_pooled else self.connection or self._connect()
            if link is None:
                return
            names = texts(self.shard.prefix + queue for queue in queues)
            link.send([call("register", text(self._channel), names), call("due_of", names)])
        except psycopg.Error as error:
            raise ConnectionError(str(error)) from error
        except SqlRefused as error:
            raise ConnectionError(error.message) from error
        self._replies_due, self._registered, self.waiting_since_s = 2, tuple(queues), now_s

    def _connect(self) -> PostgresLink | None:
        """Listen on a new connection; returns None behind a connection pooler."""
        self.shard.ping()  # creates the schema
        link = self.shard.links.open()
        self._is_pooled = link.is_pooled
        if self._is_pooled:
            self.check_every_s = POLL_EVERY_S
            link.close()
            return None
        link.run(SqlCall(f"LISTEN {self._channel}"))
        self.connection = link
        return link

    def read(self) -> tuple[str, ...]:
        """
        Return the queues that may have jobs; empty if the server only replied.

        Raises:
            OSError: the connection is lost.
        """
        if self.connection is None:
            return ()
        try:
            return tuple(self._read(self.connection))
        except psycopg.Error as error:
            raise ConnectionError(str(error)) from error
        except SqlRefused as error:
            raise ConnectionError(error.message) from error

    def _read(self, link: PostgresLink) -> list[str]:
        names: list[str] = []
        pgconn = link.pgconn
        pgconn.consume_input()
        while self._replies_due and not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                continue
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                self._replies_due -= 1
                continue
            rows = read_rows(result)
            if isinstance(rows, SqlRefused):
                raise rows
            if self._replies_due == 1:
                names += [name for (name,) in rows]
        if not self._replies_due and pgconn.pipeline_status != pq.PipelineStatus.OFF:
            pgconn.exit_pipeline_mode()
        while (notification := pgconn.notifies()) is not None:
            names.append(notification.extra.decode())
            self._registered = None
        prefix_length = len(self.shard.prefix)
        return [name[prefix_length:] for name in dict.fromkeys(names)]

    def drop(self) -> None:
        link, self.connection, self.waiting_since_s = self.connection, None, None
        self._replies_due, self._registered, self._is_pooled = 0, None, None
        if link is not None:
            link.close()
