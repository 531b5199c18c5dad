"""
Connections to a PostgreSQL server, with a timeout for each call.

They use libpq through `psycopg.pq`, because psycopg's cursors wait for replies without a limit, and
a server that hangs would block a worker's event loop. Statements are not prepared, so the
connection may go through a pooler in transaction mode.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from pinlater.clock import SystemClock
from pinlater.masking import without_login
from pinlater.postgres.wire import Argument, decoder

CONNECT_TIMEOUT_S = 2
"""libpq's minimum."""
MAX_IDLE_LINKS = 2
"""How many unused connections stay open: one for a worker's event loop and one for its thread."""
_clock = SystemClock()
_BINARY = pq.Format.BINARY
Row = tuple[Any, ...]


class SqlCall(NamedTuple):
    """A statement and its arguments (`$1`, …)."""

    sql: str
    arguments: Sequence[Argument] = ()


class SqlRefused(Exception):
    """The server refused a statement; the connection is still usable."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(sqlstate, message)
        self.sqlstate, self.message = sqlstate, message


def call(function: str, *arguments: Argument) -> SqlCall:
    """Return the statement that calls a function of the schema."""
    placeholders = ", ".join(f"${n}" for n in range(1, len(arguments) + 1))
    return SqlCall(f"SELECT * FROM pinlater.{function}({placeholders})", arguments)  # noqa: S608


class PostgresLink:
    """
    One connection; not thread-safe.

    Raises:
        ConnectionError: the server cannot be reached, or the connection is lost.
        TimeoutError: no reply came in time. The connection is closed. The statement may have taken
            effect.
        SqlRefused: the server refused the statement.
    """

    def __init__(self, dsn: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        try:
            options = make_conninfo(
                dsn,
                connect_timeout=CONNECT_TIMEOUT_S,
                application_name="pinlater",
                client_encoding="utf8",
            )
            # Only the process that opened the connection may close it.
            self.connection = psycopg.connect(options, autocommit=True)
        except psycopg.Error as error:
            # Omit the cause, whose text may contain the password.
            raise ConnectionError(without_login(_one_line(str(error)), dsn)) from None
        self.pgconn = self.connection.pgconn

    @property
    def is_pooled(self) -> bool:
        """Return whether the connection goes through a pooler, whose process id is made up."""
        [[pid]] = self.run(SqlCall("SELECT pg_backend_pid()"))
        return bool(pid != self.pgconn.backend_pid)

    def run(self, statement: SqlCall) -> list[Row]:
        return self.run_all([statement])[0]

    def run_all(self, statements: Sequence[SqlCall]) -> list[list[Row]]:
        """Run statements in one round trip, each in a transaction of its own."""
        deadline_s = _clock.monotonic_s() + self._timeout_s
        try:
            self.send(statements)
            results = [self._receive(deadline_s) for _ in statements]
            self.pgconn.exit_pipeline_mode()
        except psycopg.Error as error:
            self.close()
            raise ConnectionError(_one_line(str(error))) from error
        except OSError:
            self.close()
            raise
        for result in results:
            if isinstance(result, SqlRefused):
                raise result
        return [result for result in results if not isinstance(result, SqlRefused)]

    def execute(self, script: str, *, timeout_s: float) -> None:
        """Run statements without arguments, in one transaction unless they say otherwise."""
        deadline_s = _clock.monotonic_s() + timeout_s
        refused: SqlRefused | None = None
        try:
            self.pgconn.send_query(script.encode())
            while True:
                self._wait(deadline_s)
                result = self.pgconn.get_result()
                if result is None:
                    break
                rows = read_rows(result)
                refused = rows if isinstance(rows, SqlRefused) else refused
        except psycopg.Error as error:
            self.close()
            raise ConnectionError(_one_line(str(error))) from error
        except OSError:
            self.close()
            raise
        if refused:
            raise refused

    def send(self, statements: Sequence[SqlCall]) -> None:
        """Send statements; their results arrive in the same order."""
        self.pgconn.enter_pipeline_mode()
        for sql, arguments in statements:
            self.pgconn.send_query_params(
                sql.encode(),
                [value for _, value in arguments],
                param_types=[kind for kind, _ in arguments],
                param_formats=[_BINARY] * len(arguments),
                result_format=_BINARY,
            )
            self.pgconn.pipeline_sync()
        self.pgconn.flush()

    def _receive(self, deadline_s: float) -> list[Row] | SqlRefused:
        received: list[Row] | SqlRefused = []
        while True:
            self._wait(deadline_s)
            result = self.pgconn.get_result()
            if result is None:
                continue
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                return received
            received = read_rows(result)

    def _wait(self, deadline_s: float) -> None:
        """Wait for a result, and send remaining statements in the meantime."""
        unsent = self.pgconn.flush()
        poll: select.poll | None = None
        while unsent or self.pgconn.is_busy():
            poll = poll or select.poll()
            poll.register(self.pgconn.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            remaining_s = deadline_s - _clock.monotonic_s()
            if remaining_s <= 0 or not poll.poll(remaining_s * 1000 + 1):
                raise TimeoutError(f"no reply within {self._timeout_s:g} s")
            self.pgconn.consume_input()
            unsent = self.pgconn.flush()

    def close(self) -> None:
        self.connection.close()


def read_rows(result: pq.abc.PGresult) -> list[Row] | SqlRefused:
    """Return the rows of a result, or its error."""
    if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()
        if not state:
            raise psycopg.OperationalError(result.get_error_message())
        return SqlRefused(state, message)
    decoders = [decoder(result.ftype(column)) for column in range(result.nfields)]
    return [
        tuple(
            None if (value := result.get_value(row, column)) is None else decode(value)
            for column, decode in enumerate(decoders)
        )
        for row in range(result.ntuples)
    ]


class PostgresLinks:
    """
    A process's connections to one server. Thread-safe, and safe to use after a fork.

    Args:
        dsn: a libpq connection string or URL.
        timeout_s: timeout of one call.
        check: called with each new connection; if it raises, the connection is closed.
    """

    def __init__(
        self, dsn: str, timeout_s: float, check: Callable[[PostgresLink], None] | None = None
    ) -> None:
        self.dsn = dsn
        self._timeout_s = timeout_s
        self._check = check
        self._lock = threading.Lock()
        self._idle: deque[PostgresLink] = deque()
        self._pid = os.getpid()

    def open(self) -> PostgresLink:
        """Return a new connection, which the caller closes."""
        link = self.open_unchecked()
        if self._check:
            try:
                self._check(link)
            except BaseException:
                link.close()
                raise
        return link

    def open_unchecked(self) -> PostgresLink:
        return PostgresLink(self.dsn, self._timeout_s)

    def run_all(self, statements: Sequence[SqlCall]) -> list[list[Row]]:
        """Run statements as `PostgresLink.run_all` does; replaces a lost connection once."""
        link = self._pop()
        if link is not None:
            try:
                with self._return_to_pool(link):
                    return link.run_all(statements)
            except TimeoutError:
                raise
            except OSError:
                # The server restarted, so idle connections are lost as well.
                self.close()
        link = self.open()
        with self._return_to_pool(link):
            return link.run_all(statements)

    @contextmanager
    def _return_to_pool(self, link: PostgresLink) -> Iterator[None]:
        try:
            yield
        except SqlRefused:
            self._push(link)
            raise
        except BaseException:
            link.close()
            raise
        self._push(link)

    def _pop(self) -> PostgresLink | None:
        with self._lock:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._idle.clear()
            return self._idle.pop() if self._idle else None

    def _push(self, link: PostgresLink) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE_LINKS:
                self._idle.append(link)
                return
        link.close()

    def close(self) -> None:
        while (link := self._pop()) is not None:
            link.close()


def _one_line(message: str) -> str:
    return " ".join(message.split())
