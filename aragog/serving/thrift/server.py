"""
The Thrift server: connections on an event loop, calls in threads, deadlines, limits and drain.

No call of a store runs on the event loop. A call that misses its deadline is answered, and its
thread is given up until the call returns; it counts as in flight until then. A call that waits for
something (`Steps`) occupies a thread only while it takes a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import Counter, deque
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

from aragog.serving.access_log import AccessLog
from aragog.serving.auth import READ, Tokens
from aragog.serving.durations import Durations
from aragog.serving.http.problems import Problem
from aragog.serving.steps import Steps, Wait
from aragog.serving.stopping import QUIET_S, stop_listening
from aragog.serving.thrift import wire
from aragog.serving.thrift.connection import SMALL_BYTES, Connection
from aragog.serving.thrift.contract import REPLY, Method, Pool, head, methods, session_call
from aragog.serving.thrift.errors import Raised, raised_for, too_late, unavailable
from aragog.serving.thrift.workers import Workers
from aragog.settings import ServingSettings

DRAIN_S = 5.0
MOST_HELD_BYTES = 256 << 20
"""Of all large frames that are being received and all replies that clients do not read."""
_TICK_S = 0.002
_REPLIES_AT_ONCE = 16
_SWEEP_S = 1.0
_FETCH_THREADS = 8
_TOGETHER = 32
"""Calls of one method that a thread makes together."""
_FAILURES = frozenset({"Unavailable", "DeadlineExceeded", "InternalError"})
"""Outcomes that are always in the access log."""


class Call:
    """One call, from its frame to its reply."""

    __slots__ = (
        "answered",
        "arguments",
        "arguments_at",
        "began_s",
        "connection",
        "deadline_s",
        "frame",
        "limit_s",
        "method",
        "number",
        "steps",
        "timer",
        "token",
    )

    def __init__(
        self, connection: Connection, method: Method, frame: bytes, head: wire.MessageHead,
        limit_s: float,
    ) -> None:  # fmt: skip
        self.connection = connection
        self.method = method
        self.frame = frame
        self.number = head.number
        self.arguments_at = head.arguments_at
        self.began_s = now_s = time.monotonic()
        self.limit_s = limit_s
        """For the whole call, or for each of its steps."""
        self.deadline_s = now_s + limit_s
        self.arguments: Any = None
        """Decoded; None: not yet."""
        self.answered = False
        self.token: str | None = None
        """The name of its token."""
        self.steps: Steps[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None
        """Runs while the call waits."""


class Done(NamedTuple):
    """What a thread has made of a call."""

    call: Call
    data: bytes | Wait
    """The reply in its frame, or what the call waits for."""
    outcome: str


class ThriftServer:
    """
    A server on the running event loop.

    Args:
        services: name in the contract to the object that handles its calls.
        settings: limits, deadlines and tokens.
        embedded: the store answers without waiting for a network; see `Workers`.
        tokens: those in the settings, shared with the HTTP API; None: they are not shared.
    """

    def __init__(
        self,
        services: Mapping[str, Any],
        settings: ServingSettings,
        *,
        embedded: bool = True,
        tokens: Tokens | None = None,
    ) -> None:
        self.max_frame_bytes = settings.max_body_bytes
        self.calls: Counter[tuple[str, str]] = Counter()
        """Calls so far, by (method, outcome), for metrics."""
        self.durations = Durations()
        """From the arrival of each call to its reply, by method."""
        self._settings = settings
        self._embedded = embedded
        self._methods = methods(dict(services))
        self._tokens = tokens or Tokens(settings.tokens, settings.processes)
        self._log = AccessLog(settings.access_log_share)
        self._most = settings.max_in_flight
        short_s, long_s = settings.deadline_ms / 1000, settings.content_deadline_ms / 1000
        self._deadlines = dict.fromkeys(Pool, long_s) | {Pool.STORE: short_s}
        self._workers = {
            Pool.STORE: self._threads(Pool.STORE, settings.threads, eager=not embedded),
            Pool.CONTENT: self._threads(Pool.CONTENT, settings.content_threads, eager=True),
            Pool.BROKER: self._threads(Pool.BROKER, settings.content_threads, eager=True),
            Pool.FETCH: self._threads(Pool.FETCH, _FETCH_THREADS, eager=True),
        }
        self._connections: set[Connection] = set()
        self._in_flight: set[Call] = set()
        self._parked: dict[Connection, Call] = {}
        """Calls that wait; a connection has one call at a time."""
        self._running = dict.fromkeys(Pool, 0)
        self._held = 0
        self._done: deque[Done] = deque()
        self._signalled = False
        self._ticking = False
        self._draining = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: tuple[socket.socket, ...] = ()
        self._tls: ssl.SSLContext | None = None
        self._listeners: list[asyncio.Server] = []
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self, *sockets: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Serve on these listening sockets."""
        self._loop = loop = asyncio.get_running_loop()
        self._sockets, self._tls = sockets, tls
        for sock in sockets:
            listener = await loop.create_server(lambda: Connection(self), sock=sock, ssl=tls)
            self._listeners.append(listener)
        self._sweeper = loop.create_task(self._sweep())

    async def drain(self, limit_s: float = DRAIN_S) -> None:
        """
        Accept no connections, answer the calls that run or come, and close quiet connections.

        Calls that come meanwhile get Unavailable. A client whose call crossed the close of its
        connection would not know whether it was made.
        """
        self._draining = True
        sockets, self._sockets = self._sockets, ()
        await stop_listening(sockets, self._listeners, lambda: Connection(self), self._tls)
        for call in list(self._parked.values()):
            self._resume(call)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._connections:
                    for connection in list(self._connections):
                        connection.close_if_quiet(QUIET_S)
                    await asyncio.sleep(QUIET_S / 4)
        for connection in list(self._connections):
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        for workers in self._workers.values():
            workers.close()

    @property
    def running_calls(self) -> int:
        """How many calls run or wait, including abandoned ones."""
        return sum(self._running.values())

    @property
    def waiting_calls(self) -> int:
        """How many calls wait without a thread."""
        return len(self._parked)

    @property
    def held_bytes(self) -> int:
        """The large frames and unread replies in memory."""
        return self._held

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    # What connections ask: `connection.Gate`

    def opened(self, connection: Connection) -> bool:
        if len(self._connections) >= self._settings.max_connections:
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        call = self._unpark(connection)
        if call is not None and call.steps is not None:
            call.steps.close()

    def reserve(self, size: int) -> bool:
        self._held += size
        if self._held <= MOST_HELD_BYTES:
            return True
        self._held -= size
        return False

    def free(self, size: int) -> None:
        self._held -= size

    def take(self, connection: Connection, frame: bytes) -> None:
        try:
            head = wire.read_head(frame)
        except wire.BadFrame:
            connection.abort()
            return
        method = self._methods.get(head.name)
        if method is None or not wire.is_call(head.kind):
            connection.answer(self._without_method(connection, frame, head))
            return
        call = Call(connection, method, frame, head, self._deadlines[method.pool])
        try:
            call.token = self._tokens.check(connection.authorization, method.scope)
        except Problem as problem:
            self._answer(call, _raised(method, head.number, raised_for(problem)), "refused")
            return
        if self._draining or self._running[method.pool] >= self._most:
            stopping = "the server is stopping; connect again"
            refusal = unavailable(stopping if self._draining else "too many calls at once")
            self._answer(call, _raised(method, head.number, refusal), "Unavailable")
            return
        self._submit(call)

    def _submit(self, call: Call) -> None:
        """Run a call, or its next step, in a thread."""
        pool = call.method.pool
        self._in_flight.add(call)
        self._running[pool] += 1
        self._workers[pool].submit(call)
        if self._done:  # they need not wait for `_tick`: the event loop is awake
            self._flush_soon()
        if not self._ticking:
            self._tick_later()

    def _without_method(
        self, connection: Connection, frame: bytes, message: wire.MessageHead
    ) -> bytes:
        """The reply to `ping`, to `authenticate`, and to what is no call."""
        call = session_call(message.name)
        if not wire.is_call(message.kind):
            return wire.refused(
                message.name, message.number, wire.INVALID_MESSAGE_TYPE, "only calls are accepted"
            )
        if call is None:
            return wire.refused(
                message.name, message.number, wire.UNKNOWN_METHOD, "there is no such method"
            )
        if call == b"authenticate":
            return self._authenticate(connection, frame, message)
        return wire.frame(head(REPLY, call), message.number, b"\x00")

    def _authenticate(
        self, connection: Connection, frame: bytes, message: wire.MessageHead
    ) -> bytes:
        at = message.arguments_at
        token = frame[at + 7 : -1] if frame[at : at + 3] == b"\x0b\x00\x01" else b""
        connection.authorization = f"Bearer {token.decode('utf-8', 'replace')}"
        try:
            self._tokens.check(connection.authorization, READ, counts=False)
        except Problem as problem:
            if problem.status != HTTPStatus.UNAUTHORIZED:  # known, with other scopes
                return wire.frame(head(REPLY, b"authenticate"), message.number, b"\x00")
            connection.authorization = None
            error = raised_for(problem)
            return wire.raised(b"authenticate", message.number, error.field, error.error)
        return wire.frame(head(REPLY, b"authenticate"), message.number, b"\x00")

    # In threads

    def _threads(self, pool: Pool, count: int, *, eager: bool) -> Workers[Call]:
        return Workers(f"thrift-{pool.value}", self._run, count, eager=eager)

    def _run(self, call: Call) -> None:
        """Make a call in a thread of its pool, and pass its reply to the event loop."""
        more = self._alike(call) if self._embedded and call.method.shares is not None else ()
        if more:
            self._done.extend(self._made_together([call, *more]))
        else:
            self._done.append(self._made(call))
        if self._workers[call.method.pool].waiting and len(self._done) < _REPLIES_AT_ONCE:
            return  # waking the event loop costs as much as a call; `_tick` bounds the delay
        if not self._signalled and self._loop is not None:
            self._signalled = True
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._flush)

    def _made(self, call: Call) -> Done:
        """The reply and the outcome of a call, or what it waits for."""
        if call.answered:
            return Done(call, b"", "abandoned")
        try:
            value = call.steps or call.method.run(self._arguments(call))
            if isinstance(value, Generator):
                call.steps = value
                try:
                    return Done(call, next(value), "waits")
                except StopIteration as end:
                    value = end.value
            return Done(call, wire.reply(call.method, call.number, value), "ok")
        except Exception as error:  # noqa: BLE001 - any defect is this call's, and is logged
            return _failed(call, error)

    def _alike(self, call: Call) -> Sequence[Call]:
        """Calls that wait and share one call of the store with this one."""
        method, rest = call.method, wire.after_string(call.frame, call.arguments_at)
        workers = self._workers[method.pool]
        if rest is None or method.shares is None or not workers.waiting:
            return ()
        with contextlib.suppress(wire.BadArguments):
            if method.shares(wire.cached(method.arguments, rest)):
                return workers.also(partial(_is_alike, method, rest), _TOGETHER - 1)
        return ()

    def _made_together(self, calls: list[Call]) -> list[Done]:
        """The same of several calls of one method, for little more than one of them costs."""
        done: list[Done] = []
        begun: list[tuple[Call, Any]] = []
        for call in calls:
            try:
                if not call.answered:
                    begun.append((call, self._arguments(call)))
                else:
                    done.append(Done(call, b"", "abandoned"))
            except Exception as error:  # noqa: BLE001 - see `_made`
                done.append(_failed(call, error))
        method, together = calls[0].method, calls[0].method.together
        values = together([arguments for _, arguments in begun]) if together else []
        for (call, _), value in zip(begun, values, strict=True):
            if isinstance(value, Exception):
                done.append(_failed(call, value))
            else:
                done.append(Done(call, wire.reply(method, call.number, value), "ok"))
        return done

    def _arguments(self, call: Call) -> Any:
        """The arguments of a call, which may have a deadline of its own."""
        if call.arguments is not None:
            return call.arguments
        arguments = wire.read_arguments(call.method, call.frame, call.arguments_at)
        arguments.token = call.token
        options = arguments.__dict__.get("options")
        given_ms = getattr(options, "deadline_ms", None)
        if given_ms is not None:
            call.limit_s = min(call.limit_s, max(given_ms, 1) / 1000)
            call.deadline_s = call.began_s + call.limit_s
        call.arguments = arguments
        return arguments

    # On the event loop

    def _flush_soon(self) -> None:
        if not self._signalled and self._loop is not None:
            self._signalled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Send the replies that are there."""
        self._signalled = False
        while self._done:
            call, data, outcome = self._done.popleft()
            self._running[call.method.pool] -= 1
            if isinstance(data, Wait):
                self._park(call, data)
                continue
            if call.answered:
                continue
            if len(data) > SMALL_BYTES and self._held + len(data) > MOST_HELD_BYTES:
                data = _raised(call.method, call.number, unavailable("too many unread replies"))
                outcome = "Unavailable"
            self._answer(call, data, outcome)

    def _answer(self, call: Call, data: bytes, outcome: str) -> None:
        call.answered = True
        self._in_flight.discard(call)
        self.calls[call.method.name, outcome] += 1
        call.connection.answer(data)
        took_s = time.monotonic() - call.began_s
        self.durations.add(call.method.name, took_s)
        if self._log.takes(failed=outcome in _FAILURES):
            what = {"service": call.method.service, "method": call.method.name}
            target = wire.first_string(call.frame, call.arguments_at)
            self._log.write(what, target, outcome, took_s * 1000, call.token)

    def _park(self, call: Call, wait: Wait) -> None:
        """Let a call wait without a thread, until its time is over or its client leaves."""
        self._in_flight.discard(call)
        if call.answered or call.connection.gone:
            if call.steps is not None:
                call.steps.close()
            return
        if self._draining or self._loop is None:
            self._submit(call)
            return
        loop = self._loop
        self._parked[call.connection] = call
        call.timer = loop.call_later(wait.most_s, self._resume, call)

        def woken(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._resume, call, timer)

        timer = call.timer
        wait.until.add_done_callback(woken)

    def _resume(self, call: Call, timer: asyncio.TimerHandle | None = None) -> None:
        """Take the next step of a call; `timer`: unless it has been taken since that wait."""
        if timer is not None and call.timer is not timer:
            return
        if self._unpark(call.connection) is not None:
            call.deadline_s = time.monotonic() + call.limit_s
            self._submit(call)

    def _unpark(self, connection: Connection) -> Call | None:
        call = self._parked.pop(connection, None)
        if call is not None and call.timer is not None:
            call.timer.cancel()
            call.timer = None
        return call

    def _tick_later(self) -> None:
        self._ticking = True
        if self._loop is not None:
            self._loop.call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        """While calls are in flight: reply, enforce deadlines, help stuck threads."""
        self._flush()
        now_s = time.monotonic()
        for call in self._in_flight:
            if call.arguments is None and call.began_s < now_s - _TICK_S:
                self._read_ahead(call)
        for call in [call for call in self._in_flight if call.deadline_s <= now_s]:
            self._answer(call, _raised(call.method, call.number, too_late()), "DeadlineExceeded")
        for workers in self._workers.values():
            workers.help_if_stuck()
        self._ticking = False
        if self._in_flight:
            self._tick_later()

    def _read_ahead(self, call: Call) -> None:
        """Learn the deadline of a call that no thread has begun; a large one keeps the default."""
        if len(call.frame) <= SMALL_BYTES:
            with contextlib.suppress(wire.BadArguments):  # the thread will say so
                self._arguments(call)

    async def _sweep(self) -> None:
        """Once a second: disconnect clients that are too slow or silent."""
        given = self._settings
        while True:
            await asyncio.sleep(min(_SWEEP_S, given.head_timeout_s, given.send_timeout_s))
            now_s = time.monotonic()
            for connection in list(self._connections):
                if connection.overdue(
                    now_s, given.head_timeout_s, given.send_timeout_s, given.keep_alive_s
                ):
                    connection.abort()


def _failed(call: Call, error: Exception) -> Done:
    """The reply to a call that raised."""
    if isinstance(error, wire.BadArguments):
        name = call.method.name.encode()
        data = wire.refused(name, call.number, wire.PROTOCOL_ERROR, str(error))
        return Done(call, data, "malformed")
    found = raised_for(error)
    return Done(call, _raised(call.method, call.number, found), type(found.error).__name__)


def _is_alike(method: Method, rest: bytes, call: Call) -> bool:
    return call.method is method and wire.after_string(call.frame, call.arguments_at) == rest


def _raised(method: Method, number: bytes, found: Raised) -> bytes:
    return wire.raised(method.name.encode(), number, found.field, found.error)
