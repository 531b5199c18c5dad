"""
uvicorn's HTTP/1.1 protocol with additional limits that usually a reverse proxy enforces.

uvicorn limits bodies by flow control and idle connections by a timeout. This module also limits the
size of a request's head, the time until the head is complete, the number of pipelined requests,
the number of connections in all and of one address, and the time during which a client may stop
reading.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from aragog.api.clients import Clients
from aragog.api.http.transport.fast_reads import FastReads
from aragog.api.http.transport.timer import Timer
from aragog.api.memory import MemoryLimit, UnreadBytes
from aragog.api.problems import MEDIA_TYPE, Problem
from aragog.api.stopping import QUIET_S
from aragog.settings import ServingSettings

MOST_PIPELINED = 32
"""How many requests of one connection may wait for the previous response."""


class _Refused(Exception):
    """Raised in a callback to stop the parser."""


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of one connection; `limited` creates the class for given settings."""

    limits = ServingSettings()
    fast_reads: FastReads | None = None
    clients: Clients[LimitedProtocol] = Clients(limits)
    unsent = MemoryLimit(limits.max_response_memory_bytes, "unread responses")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer = Timer(self.loop, self.limits.head_timeout_s, self._head_is_late)
        self._write_timer = Timer(self.loop, self.limits.send_timeout_s, self.abort)
        self._idle_timer = Timer(
            self.loop, self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        self._idle_since_s = time.monotonic()
        self._unread = UnreadBytes(self.unsent)
        self._head_bytes = 0
        self._chunk_bytes = 0
        self._head_bound = 0
        """At least the bytes of the head; cheaper than to add up its headers."""
        self._in_head = True
        self._refusal: Problem | None = None
        self._last_response: Problem | None = None
        """Sent after the responses to the requests before it; then the connection is closed."""
        self._stopping = False
        self._running: RequestResponseCycle | None = None
        """The request that ASGI answers; `cycle` is the last one, which may wait for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self.clients.add(self, self.client[0] if self.client else ""):
            self._refuse(Problem(503, "too many connections", {"Retry-After": "1"}))
            return
        self._head_timer.start()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_timer, self._write_timer, self._idle_timer):
            timer.close()
        self.clients.discard(self)
        self._unread.were_read()
        self._discard(self._running)
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._idle_timer.stop()
        self._chunk_bytes = len(data)
        if self._in_head:
            self._head_bytes += len(data)
            self._head_bound += len(data)
            self._head_timer.start()
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and self._head_bytes > self.limits.max_header_bytes:
            self._refuse(_too_long(self.limits.max_header_bytes))

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes, self._head_bound = True, 0, self._chunk_bytes
        # uvicorn's scope of the request is made when ASGI gets it.
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        most, too_long = self.limits.max_header_bytes, False
        if self._head_bound > most:
            sizes = (len(name) + len(value) + 4 for name, value in self.headers)
            too_long = len(self.url) + sum(sizes) > most
        self._in_head, self._head_bytes = False, 0
        self._head_timer.stop()
        if too_long:
            self._refusal = _too_long(self.limits.max_header_bytes)
        elif len(self.pipeline) >= MOST_PIPELINED:
            self._refusal = Problem(429, f"more than {MOST_PIPELINED} pipelined requests")
        elif self.parser.get_method() == b"CONNECT":
            self._refusal = Problem(501, "this server is not a proxy")
        if self._refusal is not None:
            raise _Refused
        if not self._read_fast():
            self._begin_scope()
            super().on_headers_complete()
            if self._stopping:
                self.cycle.keep_alive = False

    def _begin_scope(self) -> None:
        """Begin the scope of a request as uvicorn does."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Like uvicorn's method, but with one timer for all responses."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._last_response is not None:
            self._refuse(self._last_response)
        else:
            self._idle_since_s = time.monotonic()
            self._idle_timer.start()
        if self._last_response is None:
            self.flow.resume_reading()

    def _read_fast(self) -> bool:
        """Respond to a plain read of a record without ASGI; False: it is none, or has to wait."""
        cycle: RequestResponseCycle | _FastCycle | None = self.cycle
        if self.fast_reads is None or (cycle is not None and not cycle.response_complete):
            return False
        if self.flow.write_paused or self.parser.get_method() != b"GET":
            return False
        if self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return False
        fast = _FastCycle(self)
        fast.keep_alive = not self._stopping
        common = self.server_state.default_headers
        # The answer may come at once, so the cycle is in place before.
        self.cycle = fast  # type: ignore[assignment]
        if self.fast_reads.take(self.url, self.headers, common, fast.answer):
            return True
        self.cycle = cycle  # type: ignore[assignment]
        return False

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text
        self._refuse(self._refusal or Problem(400, "this is not an HTTP/1.1 request"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer.start()

    def resume_writing(self) -> None:
        self._write_timer.stop()
        self._unread.were_read()
        super().resume_writing()

    def write_large(self, response: bytes, held_bytes: int) -> None:
        """Send a response of which so many bytes are counted in `unsent`."""
        self.transport.write(response)
        if held_bytes:
            self._unread.written(held_bytes, blocked=self.flow.write_paused)

    @property
    def idle_since_s(self) -> float | None:
        """Since when the connection has had no request; the head of one does not count."""
        return None if self._responding() else self._idle_since_s

    def abort(self) -> None:
        """Close at once."""
        self.transport.abort()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._write_timer.start()  # the client may not have read the end of the last response

    def shutdown(self) -> None:
        """
        Close after the current response; if there is none, after a moment without a request.

        A request may be on its way: closing at once would lose it.
        """
        self._stopping = True
        if self._responding():
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(QUIET_S, self._close_if_quiet)

    def _close_if_quiet(self) -> None:
        if not self._head_bytes and not self._responding():
            self.transport.close()

    def _responding(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _unsupported_upgrade_warning(self) -> None:
        """Respond to an unsupported upgrade as HTTP/1.1 (RFC 9110, 7.8), then close."""
        self.cycle.keep_alive = False

    def _head_is_late(self) -> None:
        if self._responding():
            self._head_timer.start()  # reading may be paused until the last response is complete
        elif not self.transport.is_closing():
            self._refuse(Problem(408, "the request did not arrive in time"))

    def _refuse(self, problem: Problem) -> None:
        """
        Send the problem, unless the response has begun, and close the connection.

        Requests that are complete are answered first: a client takes the responses in the order of
        its requests (RFC 9112, 9.3.2), and the problem is none of theirs.
        """
        self._head_timer.stop()
        if self._responding() and not self.cycle.more_body:
            self._last_response = problem
            self.flow.pause_reading()
            return
        cycles = [cycle for cycle in (self._running, self.cycle) if cycle is not None]
        if not any(cycle.response_started and not cycle.response_complete for cycle in cycles):
            self.transport.write(_response(problem))
        for cycle in cycles:
            self._discard(cycle)
        self.pipeline.clear()
        self.transport.close()
        self._write_timer.start()  # a peer that does not read keeps a closed transport alive

    @staticmethod
    def _discard(cycle: RequestResponseCycle | None) -> None:
        """Discard messages that the application still sends for a finished request."""
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()


class _FastCycle:
    """One request that is answered without ASGI; to uvicorn it looks like its own cycle."""

    __slots__ = (
        "_protocol", "body", "disconnected", "keep_alive", "message_event", "more_body",
        "response_complete", "response_started",
    )  # fmt: skip

    def __init__(self, protocol: LimitedProtocol) -> None:
        self._protocol = protocol
        self.body = b""
        self.disconnected = False
        self.keep_alive = True
        self.message_event = _NO_EVENT
        self.more_body = False
        self.response_complete = False
        self.response_started = False

    def answer(self, response: bytes, held_bytes: int) -> None:
        """Send the whole response; a client that has gone gets nothing."""
        protocol = self._protocol
        if self.disconnected or protocol.transport.is_closing():
            self.response_complete = True
            protocol.unsent.give_back(held_bytes)
            return
        self.response_started = self.response_complete = True
        if not self.keep_alive:
            head, blank, body = response.partition(b"\r\n\r\n")
            response = b"%b\r\nconnection: close%b%b" % (head, blank, body)
        protocol.write_large(response, held_bytes)
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()


class _NoEvent:
    """An event that is never awaited, in place of the one that uvicorn sets for each message."""

    def set(self) -> None:
        """Do nothing."""


_NO_EVENT = _NoEvent()


def limited(
    settings: ServingSettings, fast_reads: FastReads, unsent: MemoryLimit
) -> type[LimitedProtocol]:
    """
    The protocol class of one server.

    Args:
        settings: its limits.
        fast_reads: answers plain reads.
        unsent: counts their large responses.
    """
    clients: Clients[LimitedProtocol] = Clients(settings)
    attributes = {
        "limits": settings, "fast_reads": fast_reads, "clients": clients, "unsent": unsent,
    }  # fmt: skip
    return type("LimitedProtocol", (LimitedProtocol,), attributes)


def _too_long(most: int) -> Problem:
    return Problem(431, f"the request's head is longer than {most} bytes")


def _response(problem: Problem) -> bytes:
    body = orjson.dumps(problem.as_dict())
    more = "".join(f"{name}: {value}\r\n" for name, value in problem.headers.items())
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
        f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        f"{more}connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body
