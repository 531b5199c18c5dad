"""
The change feed over HTTP (`GET /v1/changes`), by long polling or as server-sent events. A reader
sends the last response's cursor with its next request. With `Accept: text/event-stream`, the ids of
events are cursors, and clients send the last one automatically when they reconnect (Last-Event-ID).
A waiting reader occupies a thread only while it polls the feed, every half second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from aragog.api.json_values import check_known_names, from_query, to_json
from aragog.api.operations.change_feed import NOW, POLL_S, ChangesRequest, changes, read_changes
from aragog.api.operations.options import option_fields, validate_options
from aragog.api.problems import Overloaded, unavailable
from aragog.api.server.http.calls import StoreCalls, json_response
from aragog.api.server.http.parameters import Query
from aragog.api.server.http.routes.operations import OperationRoutes
from aragog.crawl.pipeline.change_json import Reader, change_to_json
from aragog.errors import TRANSIENT
from aragog.urlstore.feed import Change
from aragog.urlstore.records import ListPage

_PARAMETERS = frozenset(field.http for field in option_fields(ChangesRequest))
_EVENT_STREAM_TYPE, _HEADERS = "text/event-stream", {"Cache-Control": "no-store"}
HEARTBEAT_S = 15.0


class ChangesApi:
    """
    Handles requests from readers of the feed.

    Args:
        calls: runs store calls.
        operations: runs the reads that wait for a change.
        max_readers: how many readers may wait at the same time. More get status 503.
        sleep: waits between two reads of the feed.
    """

    def __init__(
        self,
        calls: StoreCalls,
        operations: OperationRoutes,
        *,
        max_readers: int = 256,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._calls = calls
        self._operations = operations
        self._max_readers = max_readers
        self._sleep = sleep
        self._readers = 0
        self.draining = False
        """True while the server is stopping. Polls then return, and streams end."""

    async def respond(self, request: Request) -> Response:
        """Respond to `GET /v1/changes` with JSON within `wait_ms`, or with an event stream."""
        query = _changes_request(request)
        if self._readers >= self._max_readers:
            raise unavailable("too many readers of the change feed")
        # Count the reader before any await, so that simultaneous readers are all counted.
        with ExitStack() as reader_count:
            reader_count.enter_context(self._count_reader())
            if "text/event-stream" not in request.headers.get("accept", ""):
                page = await self._operations.run(changes, query, request)
                return json_response(to_json(page, self._calls.store.formats))
            # A stream that has begun cannot report an invalid cursor or a late body.
            await request.scope["aragog.body"].skip()
            await self._page(query, query.cursor)
            if request.method == "HEAD":  # a stream would not end, and the connection is kept open
                return Response(None, headers=_HEADERS, media_type=_EVENT_STREAM_TYPE)
            return _EventStream(self._events(query), reader_count.pop_all())

    @contextmanager
    def _count_reader(self) -> Iterator[None]:
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1

    async def _events(self, query: ChangesRequest) -> AsyncGenerator[bytes, None]:
        try:
            cursor, idle_s = query.cursor, 0.0
            read = self._calls.store.formats.to_json
            while not self.draining:
                page = await self._page(query, cursor)
                idle_s = 0.0 if page.items else idle_s + POLL_S
                if page.items:
                    yield b"".join(_encode_event(change, read) for change in page.items)
                elif idle_s >= HEARTBEAT_S or cursor == query.cursor == NOW:
                    idle_s = 0.0
                    yield b": still here\n\n"
                cursor = page.cursor
                if len(page.items) < query.limit:
                    await self._sleep(POLL_S)
        except (*TRANSIENT, TimeoutError, Overloaded):
            return  # the stream ends; the reader reconnects with its cursor

    async def _page(self, query: ChangesRequest, cursor: str | None) -> ListPage[Change]:
        return await self._calls.feed(read_changes, query, cursor)


class _EventStream(StreamingResponse):
    """An event stream that closes `reader_count` at its end, even if the stream never started."""

    def __init__(self, events: AsyncGenerator[bytes, None], reader_count: ExitStack) -> None:
        super().__init__(events, headers=_HEADERS, media_type=_EVENT_STREAM_TYPE)
        self._reader_count = reader_count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._reader_count:
            await super().__call__(scope, receive, send)


def _changes_request(request: Request) -> ChangesRequest:
    parameters = Query(request).values()
    check_known_names(parameters, _PARAMETERS, "unknown query parameter")
    query: ChangesRequest = validate_options(from_query(ChangesRequest, parameters))
    last_event_id = request.headers.get("last-event-id")
    return replace(query, cursor=last_event_id) if last_event_id else query


def _encode_event(change: Change, read: Reader) -> bytes:
    body = orjson.dumps(change_to_json(change, read))
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        change.cursor.encode(),
        change.kind.encode(),
        body,
    )
