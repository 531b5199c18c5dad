"""
A connection to PostgreSQL that sends several statements in one round trip, with a timeout.

It uses libpq directly, because psycopg's cursors take 40 µs of CPU per statement. Statements are
sent together in libpq's pipeline mode, as one transaction. A connection prepares each statement at
its first use, except with a pooler, which may run each transaction on another server process.
"""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import pq

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidArgument, StoreUnavailable
from zengraph.tables.postgres.dsn import without_login

MAX_IDLE_S = 240.0
"""Connections that were idle longer (s) are not used, because firewalls drop them silently."""

_OK = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_BINARY = pq.Format.BINARY


class Statement(NamedTuple):
    """A statement and the types (object ids) of its parameters."""

    name: bytes
    text: bytes
    types: tuple[int, ...]


Call = tuple[Statement, Sequence[bytes | None]]
"""A statement and its parameters in PostgreSQL's binary formats."""
Rows = list[tuple[Any, ...]]
"""A statement's result: bytes in PostgreSQL's binary formats, None for null."""


class ServerError(Exception):
    """PostgreSQL rejected a statement and rolled its transaction back."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state
        """The five-character SQLSTATE; empty if unknown."""
        self.text = text


class ConnectionLost(Exception):
    """No response, or a malformed one. If `sent`, the statements may have been executed."""

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


def remedies_by_state(words: Remedies) -> dict[str, str]:
    """Remedies for errors, by SQLSTATE."""
    return {
        "25006": f"this server is a replica, or is read-only: name the primary in {words.dsn}",
        "3D000": f"the database does not exist: create it, or correct {words.dsn}",
        "28P01": f"the password is wrong: correct {words.dsn}",
        "28000": f"the user may not connect: correct {words.dsn} or the server's pg_hba.conf",
        "42501": f"the user lacks a right: {words.check}",
        "42P01": f"a table is missing: {words.create}",
        "3F000": f"the schema is missing: {words.create}",
        "53100": "the disk of the server is full; nothing acknowledged is lost: free space",
        "53300": "the server has no free connection: raise its max_connections, or lower "
        f"{words.pool_size}",
        "57014": f"a statement took longer than {words.timeout}",
        "57P03": "the server is starting or stopping",
        "26000": f"the server is behind a pooler in transaction mode: set {words.pooler}",
        "42P05": f"the server is behind a pooler in transaction mode: set {words.pooler}",
    }


# libpq reports no SQLSTATE for a refused connection, so these strings identify the error.
_REFUSED_CONNECTIONS = (
    ("too many connections", "53300"),
    ("remaining connection slots", "53300"),
    ("sorry, too many clients", "53300"),
    ("password authentication failed", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("does not exist", "3D000"),
)
CONFLICT_STATES = ("40", "55P03")
"""Conflicts with other transactions: repeating the statements at once may succeed."""
CLOSING_STATES = ("57P01", "57P02", "57P03", "57P05", "08")
"""The server or connection is closing: the call may succeed on another connection."""
_INVALID_ARGUMENT_STATES = ("22", "54")
"""The server rejects the arguments; repeating the call does not help."""


def translate_error(
    where: str, error: ServerError, words: Remedies = DEFAULT
) -> InvalidArgument | StoreUnavailable:
    """Return this library's exception for a server error."""
    if error.state.startswith(_INVALID_ARGUMENT_STATES):
        return InvalidArgument(f"{where}: {error.text}")
    remedy = remedies_by_state(words).get(error.state)
    return StoreUnavailable(where, f"{remedy} ({error.text})" if remedy else error.text)


class PostgresConnection:
    """
    One connection, for one thread at a time.

    Args:
        dsn: a libpq connection string, either a URL or `key=value` pairs.
        timeout_s: limit for connecting, and for the response to one call.
        pooler: True behind a pooler in transaction mode. Then statements are not prepared and
            session settings not changed, because both would affect other clients.
        words: names of commands and settings for error messages.

    Raises:
        ConnectionLost: the connection cannot be opened.
        ServerError: the server refuses the connection.
    """

    def __init__(
        self, dsn: str, *, timeout_s: float, pooler: bool, words: Remedies = DEFAULT
    ) -> None:
        self._words = words
        self._timeout_s = timeout_s
        self._prepared: set[bytes] | None = None if pooler else set()
        options = (
            # A prepared statement keeps its plan. These settings prevent a plan, made while tables
            # were empty, that reads whole tables after they have grown.
            "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off "
            f"-c enable_mergejoin=off -c jit=off -c statement_timeout={int(timeout_s * 1000)}"
        )
        try:
            self._connection = psycopg.connect(
                dsn,
                autocommit=True,
                connect_timeout=max(2, int(timeout_s)),
                application_name=words.program,
                tcp_user_timeout=int(timeout_s * 1000),
                prepare_threshold=None,
                options="" if pooler else options,
            )
        except psycopg.OperationalError as error:
            # `from None`: the text of the cause may contain the password.
            text = without_login(" ".join(str(error).split()), dsn)
            state = error.sqlstate or next(
                (s for words, s in _REFUSED_CONNECTIONS if words in text), None
            )
            if state:
                raise ServerError(state, text) from None
            raise ConnectionLost(text, sent=False) from None
        except psycopg.Error as error:
            text = without_login(" ".join(str(error).split()), dsn)
            raise ServerError(error.sqlstate or "", text) from None
        self._pg = self._connection.pgconn
        self._pg.nonblocking = 1
        self._poll = select.poll()
        self._poll.register(self._pg.socket, select.POLLIN)
        self._pid = os.getpid()
        self.used_at_s = time.monotonic()

    def is_quiet(self) -> bool:
        """
        Return False if the connection was idle too long or has unread data, for example because the
        server closed it.
        """
        return time.monotonic() - self.used_at_s < MAX_IDLE_S and not self._poll.poll(0)

    def run(self, calls: Sequence[Call]) -> list[Rows]:
        """
        Execute statements in one round trip, as one transaction; returns the rows of each.

        Raises:
            ServerError: a statement was rejected, and the transaction was rolled back.
            ConnectionLost: the caller must close the connection.
        """
        until_s = time.monotonic() + self._timeout_s
        self._prepare([statement for statement, _ in calls], until_s)
        try:
            if len(calls) == 1:
                self._send(*calls[0])
                results = [self._result(until_s)]
                self._end_of_results()
            else:
                results = self._pipeline(calls, until_s)
        except psycopg.OperationalError as error:
            raise ConnectionLost(" ".join(str(error).split()), sent=True) from error
        self.used_at_s = time.monotonic()
        for result in results:
            if result.status not in _OK:
                raise _error(result)
        return [_rows(result) for result in results]

    def read(self, text: str) -> Rows:
        """Execute one statement without preparing it; raises the errors of `run`."""
        self._pg.send_query_params(text.encode(), [], result_format=_BINARY)
        (result,) = self._all_results(time.monotonic() + self._timeout_s)
        return _rows(result)

    def execute(self, script: str) -> None:
        """Execute statements without parameters, as one transaction, without a timeout."""
        try:
            self._pg.send_query(f"BEGIN;\n{script}COMMIT".encode())
            self._all_results(math.inf)
        finally:
            if self._pg.transaction_status == pq.TransactionStatus.INERROR:
                self._pg.send_query(b"ROLLBACK")
                self._all_results(math.inf)

    def _all_results(self, until_s: float) -> list[pq.abc.PGresult]:
        results = [self._result(until_s)]
        while True:
            while self._pg.is_busy():
                self._wait(select.POLLIN, until_s)
            result = self._pg.get_result()
            if result is None:
                break
            results.append(result)
        for result in results:
            if result.status not in _OK:
                raise _error(result)
        return results

    def close(self) -> None:
        """
        Close the connection. A forked child only forgets it, because closing it would close the
        parent's.
        """
        if os.getpid() == self._pid:
            self._connection.close()

    def _prepare(self, statements: Sequence[Statement], until_s: float) -> None:
        if self._prepared is None:
            return
        for statement in statements:
            if statement.name not in self._prepared:
                try:
                    self._pg.send_prepare(statement.name, statement.text, statement.types)
                    result = self._result(until_s)
                    self._end_of_results()
                except psycopg.OperationalError as error:
                    raise ConnectionLost(" ".join(str(error).split()), sent=False) from error
                except ConnectionLost as error:
                    raise ConnectionLost(str(error), sent=False) from error
                if result.status not in _OK:
                    raise _error(result)
                self._prepared.add(statement.name)

    def _send(self, statement: Statement, values: Sequence[bytes | None]) -> None:
        formats = [_BINARY] * len(values)
        if self._prepared is None:
            self._pg.send_query_params(statement.text, values, statement.types, formats, _BINARY)
        else:
            self._pg.send_query_prepared(statement.name, values, formats, _BINARY)

    def _pipeline(self, calls: Sequence[Call], until_s: float) -> list[pq.abc.PGresult]:
        self._pg.enter_pipeline_mode()
        for statement, values in calls:
            self._send(statement, values)
        self._pg.pipeline_sync()
        results = []
        for _ in calls:
            results.append(self._result(until_s))
            self._end_of_results()
        synced = self._result(until_s)
        if synced.status != pq.ExecStatus.PIPELINE_SYNC:
            raise ConnectionLost("the responses are out of order", sent=True)
        self._pg.exit_pipeline_mode()
        # After it rejects a statement, the server skips the others.
        refused = [one for one in results if one.status == pq.ExecStatus.FATAL_ERROR]
        return refused or results

    def _result(self, until_s: float) -> pq.abc.PGresult:
        """Return the next result. While waiting, send what is left in libpq's buffer."""
        while self._pg.flush():
            self._wait(select.POLLIN | select.POLLOUT, until_s)
        while self._pg.is_busy():
            self._wait(select.POLLIN, until_s)
        result = self._pg.get_result()
        if result is None:
            raise ConnectionLost("the server sent no result", sent=True)
        return result

    def _end_of_results(self) -> None:
        while self._pg.get_result() is not None:
            pass

    def _wait(self, events: int, until_s: float) -> None:
        if events != select.POLLIN:
            self._poll.modify(self._pg.socket, events)
        left_ms = None if until_s == math.inf else max(0.0, until_s - time.monotonic()) * 1000
        try:
            ready = self._poll.poll(left_ms)
        finally:
            if events != select.POLLIN:
                self._poll.modify(self._pg.socket, select.POLLIN)
        if not ready:
            text = f"no response within {self._timeout_s:g} s ({self._words.timeout})"
            raise ConnectionLost(text, sent=True)
        if any(event & ~select.POLLOUT for _, event in ready):
            self._pg.consume_input()


def _error(result: pq.abc.PGresult) -> ServerError:
    state = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
    text = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    return ServerError(state.decode(), text.decode(errors="replace").strip())


def _rows(result: pq.abc.PGresult) -> Rows:
    value = result.get_value
    columns = range(result.nfields)
    return [tuple([value(row, column) for column in columns]) for row in range(result.ntuples)]
