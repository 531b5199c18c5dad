"""
Compress responses with zstd or gzip for clients that accept it (RFC 9110, 8.4; RFC 8878).

Only text and JSON above 1 KB is compressed, except streams and ranges. Bodies above 64 KB are
compressed in a thread, because they would block the event loop for more than a millisecond.
Successful text and JSON responses, and every 304, have `Vary` (RFC 9110, 12.5.5).
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aragog.api.server.http.codings import accepted_codings
from aragog.api.server.http.etags import coded_tag
from aragog.urlstore import zstd

MIN_BYTES = 1024
MAX_INLINE_BYTES = 65_536
COMPRESSIBLE_TYPES = ("application/json", "application/problem+json", "text/")


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=4, mtime=0)


_ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": partial(zstd.compress, level=3),
    "gzip": _gzip,
}


def coding_for(accepted: str) -> str | None:
    """Return the coding for an Accept-Encoding header, or None to send the body uncompressed."""
    return next(iter(accepted_codings(accepted)), None)


def compress_body(coding: str, body: bytes) -> bytes:
    """Compress the body with a coding from `coding_for`."""
    return _ENCODERS[coding](body)


class CompressedResponses:
    """ASGI middleware that compresses an application's responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_vary(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_vary(message)
            await send(message)

        coding = coding_for(",".join(Headers(scope=scope).getlist("accept-encoding")))
        if coding is None:
            await self._app(scope, receive, send_with_vary)
            return
        await self._app(scope, receive, _CompressingSend(send_with_vary, coding))


class _CompressingSend:
    """Holds back the headers until the body shows whether it will be compressed."""

    def __init__(self, send: Send, coding: str) -> None:
        self._send = send
        self._coding = coding
        self._response_start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._response_start = message
            return
        response_start, self._response_start = self._response_start, None
        if response_start is not None:
            if _is_compressible(response_start, message):
                message = await self._compress(response_start, message)
            await self._send(response_start)
        await self._send(message)

    async def _compress(self, response_start: Message, message: Message) -> Message:
        encode, body = _ENCODERS[self._coding], message["body"]
        is_small = len(body) <= MAX_INLINE_BYTES
        compressed_body = encode(body) if is_small else await asyncio.to_thread(encode, body)
        headers = MutableHeaders(raw=response_start["headers"])
        headers["Content-Encoding"] = self._coding
        headers["Content-Length"] = str(len(compressed_body))
        if tag := headers.get("etag"):
            headers["ETag"] = coded_tag(tag, self._coding)
        response_start["headers"] = headers.raw
        return {**message, "body": compressed_body}


def _add_vary(response_start: Message) -> None:
    """
    Declare that the response depends on Accept-Encoding, if it could be compressed.

    Caches need this even on an uncompressed response or a 304.
    """
    headers = MutableHeaders(raw=list(response_start["headers"]))
    is_text = headers.get("content-type", "").startswith(COMPRESSIBLE_TYPES)
    if response_start["status"] == 304 or (response_start["status"] in (200, 206) and is_text):
        headers.add_vary_header("Accept-Encoding")
        response_start["headers"] = headers.raw


def _is_compressible(response_start: Message, message: Message) -> bool:
    headers = Headers(raw=response_start["headers"])
    return (
        response_start["status"] == 200
        and not message.get("more_body", False)
        and len(message.get("body", b"")) >= MIN_BYTES
        and headers.get("content-type", "").startswith(COMPRESSIBLE_TYPES)
        and "content-encoding" not in headers
        and "content-range" not in headers
    )
