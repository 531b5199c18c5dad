"""
The change feed over HTTP: `GET /v1/changes`, by long poll or as server-sent events.

A reader keeps the cursor of the last answer and gives it with the next request; with
`Accept: text/event-stream` each event's id is its cursor, and a client that reconnects sends the
last one by itself (Last-Event-ID). Readers that wait cost a look at the feed every half second,
in a thread, and count against a limit of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import orjson

from aragog.errors import AragogError, BadInput, TransientError
from aragog.pipeline.changes import plain
from aragog.serving.http_protocol import Request, Response
from aragog.urlstore.changes import Change
from aragog.urlstore.records import Page
from aragog.urlstore.store import UrlStore

PATH = "/v1/changes"
NOW = "now"
"""A cursor that stands for the feed's end."""
MOST = 1000
LONGEST_WAIT_MS = 30_000
LOOK_S = 0.5
HEARTBEAT_S = 15.0


class ChangesApi:
    """
    Answers readers of the feed.

    Args:
        store: read from.
        most_readers: waiting at once; more get a 503.
        sleep: `asyncio.sleep`, or what stands for it.
    """

    def __init__(
        self,
        store: UrlStore,
        *,
        most_readers: int = 256,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._store = store
        self._most_readers = most_readers
        self._sleep = sleep or asyncio.sleep
        self._readers = 0

    async def answer(self, request: Request) -> Response:
        """What is behind the cursor: at once, as soon as there is something, or event by event."""
        try:
            asked = _Asked(request)
            if self._readers >= self._most_readers:
                return _error(503, "too many readers of the feed at once")
            if "text/event-stream" in request.headers.get("accept", ""):
                await self._page(asked, asked.cursor)  # a bad cursor is told with a status
                return Response(200, content_type="text/event-stream", stream=self._events(asked))
            return await self._poll(asked)
        except BadInput as error:
            return _error(400, str(error))
        except TransientError as error:
            return _error(503, str(error))
        except AragogError as error:
            return _error(500, str(error))

    async def _poll(self, asked: _Asked) -> Response:
        self._readers += 1
        try:
            page = await self._page(asked, asked.cursor)
            left_s = asked.wait_ms / 1000
            while not page.items and left_s > 0:
                await self._pause(min(LOOK_S, left_s))
                left_s -= LOOK_S
                page = await self._page(asked, page.cursor)
        finally:
            self._readers -= 1
        told = {"changes": [plain(change) for change in page.items], "cursor": page.cursor}
        return Response(200, orjson.dumps(told))

    async def _events(self, asked: _Asked) -> AsyncGenerator[bytes, None]:
        self._readers += 1
        try:
            cursor, silent_s = asked.cursor, 0.0
            while True:
                page = await self._page(asked, cursor)
                silent_s = 0.0 if page.items else silent_s + LOOK_S
                if page.items:
                    yield b"".join(map(_event, page.items))
                elif silent_s >= HEARTBEAT_S or cursor == asked.cursor == NOW:
                    silent_s = 0.0
                    yield b": still here\n\n"
                cursor = page.cursor
                if len(page.items) < asked.limit:
                    await self._pause(LOOK_S)
        except TransientError:
            return  # the stream ends; the reader comes again with its cursor
        finally:
            self._readers -= 1

    async def _page(self, asked: _Asked, cursor: str | None) -> Page[Change]:
        return await asyncio.to_thread(self._read, asked, cursor)

    def _read(self, asked: _Asked, cursor: str | None) -> Page[Change]:
        if cursor == NOW:
            cursor = self._store.changes_end()
        return self._store.changes(cursor, asked.limit, owner=asked.owner, host=asked.host)

    async def _pause(self, seconds: float) -> None:
        waited = self._sleep(seconds)
        if asyncio.iscoroutine(waited):
            await waited


class _Asked:
    """What a request asks for; BadInput where it cannot be read."""

    def __init__(self, request: Request) -> None:
        query = request.query
        self.cursor = request.headers.get("last-event-id") or query.get("cursor") or None
        self.owner = query.get("owner") or None
        self.host = query.get("host") or None
        self.limit = _number("limit", query.get("limit", "100"), least=1, most=MOST)
        self.wait_ms = _number("wait_ms", query.get("wait_ms", "0"), least=0, most=LONGEST_WAIT_MS)


def _number(name: str, text: str, *, least: int, most: int) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 9 or int(text) < least:
        raise BadInput(f"{name}: must be a whole number of {least} at least")
    return min(int(text), most)


def _event(change: Change) -> bytes:
    told = orjson.dumps(plain(change))
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (
        change.cursor.encode(),
        change.kind.encode(),
        told,
    )


def _error(status: int, why: str) -> Response:
    again = (("Retry-After", "1"),) if status == 503 else ()
    return Response(status, orjson.dumps({"error": why}), headers=again)
