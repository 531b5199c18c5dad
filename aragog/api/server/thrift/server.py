"""
The Thrift server, with connections on an event loop and calls in threads.

Short reads from an embedded store (SQLite) run on the event loop (`aragog.api.server.loop_calls`).
A call that misses its deadline gets a reply, but counts as running until its thread returns. A
waiting call (`Steps`) occupies a thread only while it runs a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus

from aragog.api.operations.operation import Pool
from aragog.api.operations.scopes import READ
from aragog.api.operations.steps import Wait
from aragog.api.problems import Problem
from aragog.api.server.access_log import AccessLog
from aragog.api.server.clients import Clients
from aragog.api.server.listener import IDLE_GRACE_S, Listener
from aragog.api.server.loop_calls import LoopCalls
from aragog.api.server.memory import SMALL_BYTES, MemoryLimit
from aragog.api.server.threads import CallThreads
from aragog.api.server.thrift import wire
from aragog.api.server.thrift.call import Call, ParkedCalls
from aragog.api.server.thrift.connection import Connection, get_limits_s
from aragog.api.server.thrift.contract import (
    ONEWAY,
    REPLY,
    CallHandler,
    message_header,
    methods,
    session_method,
)
from aragog.api.server.thrift.errors import deadline_exceeded, unavailable, wire_exception
from aragog.api.server.tokens import Tokens
from aragog.observability.instruments import REQUEST_BOUNDS_S, Histogram
from aragog.settings import ServingSettings

DRAIN_S = 5.0
_FEED_THREADS = 4
_FETCH_THREADS = 8
_EXPLAIN_THREADS = 2
_FAILURE_OUTCOMES = frozenset({"Unavailable", "DeadlineExceeded", "InternalError"})
"""Outcomes that are always logged."""


class ThriftServer:
    """
    A server on the running event loop.

    Args:
        services: the objects that handle calls, by service name.
        settings: limits, deadlines and tokens.
        embedded: True if the store responds without waiting for a network; see `CallThreads`.
        tokens: the settings' tokens; pass them if the HTTP API shares them.
        replies: counts unread data; pass it if the HTTP API shares it.
    """

    def __init__(
        self,
        services: Mapping[str, Mapping[str, CallHandler]],
        settings: ServingSettings,
        *,
        embedded: bool = True,
        tokens: Tokens | None = None,
        replies: MemoryLimit | None = None,
    ) -> None:
        self.max_frame_bytes = settings.max_body_bytes
        self.limits_s = get_limits_s(settings)
        self.requests = MemoryLimit(settings.max_request_memory_bytes, "large frames")
        """Counts large frames that are arriving or are used by calls."""
        self.replies = replies or MemoryLimit(
            settings.max_response_memory_bytes, "unread responses"
        )
        self.calls: Counter[tuple[str, str]] = Counter()
        """Number of calls so far, by (method, outcome)."""
        self.durations = Histogram(
            "aragog_thrift_call_seconds",
            "Time from the arrival of a call to its reply.",
            REQUEST_BOUNDS_S,
            "method",
        )
        """Time from a call's arrival to its reply, by method."""
        self._methods = methods(services)
        self._tokens = tokens or Tokens(settings.tokens, settings.processes)
        self._log = AccessLog(settings.access_log_share)
        self._handshake_s = settings.head_timeout_s
        short_s, long_s = settings.deadline_ms / 1000, settings.content_deadline_ms / 1000
        self._deadlines = dict.fromkeys(Pool, long_s) | {Pool.STORE: short_s, Pool.FEED: short_s}
        self._threads = _create_threads(settings, embedded=embedded)
        self._clients = Clients(settings)
        self._connections: set[Connection] = set()
        self._parked_calls = ParkedCalls(self._submit)
        self._is_draining = False
        self._listener: Listener | None = None

    async def start(self, *sockets: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._listener = Listener(
            self._create_connection, self._clients, tls=tls, handshake_s=self._handshake_s
        )
        await self._listener.start(sockets)
        self._clients.start()

    async def drain(self, limit_s: float = DRAIN_S) -> None:
        """
        Accept no new connections, reply to running calls, reject new calls as Unavailable, and
        close idle connections. A connection stays open for a moment, because otherwise a client
        with a call in transit could not know whether the call was executed.
        """
        self._is_draining = True
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.stop()
        self._parked_calls.resume_all()
        await self._close_when_idle(limit_s)
        self._clients.stop()
        for threads in self._threads.values():
            threads.close()

    async def _close_when_idle(self, limit_s: float) -> None:
        """Close each connection after a short time without calls, and all at the limit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._connections:
                    for connection in list(self._connections):
                        connection.close_if_idle(IDLE_GRACE_S)
                    await asyncio.sleep(IDLE_GRACE_S / 4)
        for connection in list(self._connections):
            connection.abort()

    @property
    def running_calls(self) -> int:
        """Number of calls running or waiting for a thread, including abandoned ones."""
        return sum(threads.call_count for threads in self._threads.values())

    @property
    def waiting_calls(self) -> int:
        return len(self._parked_calls)

    @property
    def connections(self) -> int:
        return len(self._connections)

    # Called by connections: `connection.ConnectionOwner`

    def on_open(self, connection: Connection, address: str) -> bool:
        if not self._clients.add(connection, address):
            return False
        self._connections.add(connection)
        return True

    def on_close(self, connection: Connection) -> None:
        self._clients.discard(connection)
        self._connections.discard(connection)
        call = self._parked_calls.cancel(connection)
        if call is not None:
            self._release(call)

    def is_waiting(self, connection: Connection) -> bool:
        return connection in self._parked_calls

    def refuse_frame(self, connection: Connection, frame_start: bytes) -> bytes:
        try:
            header = wire.read_head(frame_start)
        except wire.BadFrame:
            return b""
        method = self._methods.get(header.name)
        if method is None or not wire.is_call(header.kind):
            return b""
        call = Call(self, connection, method, frame_start, header, self._deadlines[method.pool])
        reason, outcome = unavailable(self.requests.problem().detail), "Unavailable"
        try:
            self._tokens.check(connection.authorization, method.scope, counts=False)
        except Problem as problem:
            reason, outcome = wire_exception(problem), "refused"
        self.calls[method.name, outcome] += 1
        return call.exception_reply(reason)

    def handle_frame(self, connection: Connection, frame: bytes) -> None:
        try:
            header = wire.read_head(frame)
        except wire.BadFrame:
            connection.abort()
            return
        if header.kind == ONEWAY:
            # The contract has no oneway methods. The client would mistake a reply for the reply to
            # its next call.
            self.calls["oneway", "refused"] += 1
            connection.send_reply(b"")
            return
        method = self._methods.get(header.name)
        if method is None or not wire.is_call(header.kind):
            connection.send_reply(session_reply(connection, frame, header, self._tokens))
            return
        call = Call(self, connection, method, frame, header, self._deadlines[method.pool])
        try:
            call.token = self._tokens.check(connection.authorization, method.scope)
        except Problem as problem:
            self._send_reply(call, call.exception_reply(wire_exception(problem)), "refused")
            return
        if self._is_draining or self._threads[method.pool].is_full:
            stopping_message = "the server is stopping; reconnect"
            refusal = unavailable(
                stopping_message if self._is_draining else "too many concurrent calls"
            )
            self._send_reply(call, call.exception_reply(refusal), "Unavailable")
            return
        if len(frame) > SMALL_BYTES:
            if not self.requests.take(len(frame)):
                refusal = unavailable(self.requests.problem().detail)
                self._send_reply(call, call.exception_reply(refusal), "Unavailable")
                return
            call.counted_bytes = len(frame)
        self._submit(call)

    def _release(self, call: Call) -> None:
        """Release a call's memory, once no thread uses it."""
        self.requests.release(call.counted_bytes)
        call.counted_bytes = 0

    def _create_connection(self) -> Connection:
        return Connection(self, trusted=not self._tokens.required)

    def _submit(self, call: Call) -> None:
        self._threads[call.method.pool].submit(call)

    # Called by calls: `call.CallOwner`

    def on_finish(self, call: Call) -> None:
        """Send a call's reply, or let the call wait."""
        if isinstance(call.reply, Wait):
            self._park(call, call.reply)
            return
        if call.counted_bytes:
            self._release(call)
        if call.is_answered:
            return
        data, outcome = call.reply, call.outcome
        counted_bytes = len(data) if len(data) > SMALL_BYTES else 0
        if counted_bytes and not self.replies.take(counted_bytes):
            counted_bytes = 0
            data = call.exception_reply(unavailable(self.replies.problem().detail))
            outcome = "Unavailable"
        self._send_reply(call, data, outcome, counted_bytes)

    def on_deadline(self, call: Call) -> None:
        self._send_reply(call, call.exception_reply(deadline_exceeded()), "DeadlineExceeded")

    def _send_reply(self, call: Call, data: bytes, outcome: str, counted_bytes: int = 0) -> None:
        call.is_answered = True
        self.calls[call.method.name, outcome] += 1
        call.connection.send_reply(data, counted_bytes)
        duration_s = time.monotonic() - call.started_at_s
        self.durations.labels(call.method.name).observe(duration_s)
        if self._log.should_log(failed=outcome in _FAILURE_OUTCOMES):
            call_labels = {"service": call.method.service, "method": call.method.name}
            target = wire.first_string(call.frame, call.arguments_offset)
            self._log.write(call_labels, target, outcome, duration_s * 1000, call.token)

    def _park(self, call: Call, wait: Wait) -> None:
        """
        Let a call wait. If its client may have disconnected, end the call, because it must not
        count towards the limit on waiting calls. If the server is stopping, resume it now.
        """
        if call.connection.is_half_closed:
            call.connection.abort()
        if call.is_answered or call.connection.is_closed:
            if call.steps is not None:
                call.steps.close()
            self._release(call)
        elif self._is_draining:
            self._submit(call)
        else:
            self._parked_calls.park(call, wait)


def _create_threads(settings: ServingSettings, *, embedded: bool) -> dict[Pool, CallThreads]:
    counts = {
        Pool.STORE: settings.threads,
        Pool.CONTENT: settings.content_threads,
        Pool.FEED: _FEED_THREADS,
        Pool.BROKER: settings.content_threads,
        Pool.FETCH: _FETCH_THREADS,
        Pool.EXPLAIN: _EXPLAIN_THREADS,
    }
    result = {
        pool: CallThreads(f"thrift-{pool.value}", count, settings.max_in_flight)
        for pool, count in counts.items()
    }
    if embedded:
        name = f"thrift-{Pool.STORE.value}"
        result[Pool.STORE] = LoopCalls(name, settings.threads, settings.max_in_flight)
    return result


def session_reply(
    connection: Connection, frame: bytes, message: wire.MessageHead, tokens: Tokens
) -> bytes:
    """
    Return the reply to `ping`, `authenticate` (which sets `connection.authorization`), and messages
    that are not calls.
    """
    call = session_method(message.name)
    if not wire.is_call(message.kind):
        return wire.refusal_reply(
            message.name, message.sequence_id, wire.INVALID_MESSAGE_TYPE, "only calls are accepted"
        )
    if call is None:
        return wire.refusal_reply(
            message.name, message.sequence_id, wire.UNKNOWN_METHOD, "unknown method"
        )
    if call == b"authenticate":
        return _authenticate(connection, frame, message, tokens)
    return wire.frame(message_header(REPLY, call), message.sequence_id, b"\x00")


def _authenticate(
    connection: Connection, frame: bytes, message: wire.MessageHead, tokens: Tokens
) -> bytes:
    offset = message.arguments_offset
    token = frame[offset + 7 : -1] if frame[offset : offset + 3] == b"\x0b\x00\x01" else b""
    authorization = f"Bearer {token.decode('utf-8', 'replace')}"
    connection.authorize(None)
    try:
        tokens.check(authorization, READ, counts=False)
    except Problem as problem:
        if problem.status == HTTPStatus.UNAUTHORIZED:
            error = wire_exception(problem)
            return wire.exception_reply(
                b"authenticate", message.sequence_id, error.field, error.error
            )
    connection.authorize(authorization)  # the token is known, but may lack the scope `read`
    return wire.frame(message_header(REPLY, b"authenticate"), message.sequence_id, b"\x00")
