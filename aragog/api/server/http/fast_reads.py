"""
A shortcut for the most frequent request: `GET /v1/urls?url=…&fields=…&include=`.

It takes a third of the ASGI application's CPU time and returns the same bytes
(`tests/integration/serving/test_fast_reads.py`). The ASGI application handles requests with other
methods, other parameters or `UNUSUAL_HEADERS`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol
from urllib.parse import unquote_to_bytes

import orjson

from aragog.api.operations.scopes import READ
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES
from aragog.api.problems import MEDIA_TYPE, Problem, to_problem, unknown_url
from aragog.api.server.http.compression import coding_for
from aragog.api.server.http.observed import Observer
from aragog.api.server.http.read_batches import Body, OnDone, ReadBatches, Result
from aragog.api.server.tokens import Tokens
from aragog.observability.tracing.context import HEADER
from aragog.runtime.hosts import is_allowed_host

ROUTE = "/v1/urls"
PARAMETERS = frozenset({"url", "fields", "include"})
UNUSUAL_HEADERS = frozenset({
    b"origin", b"expect", b"upgrade", b"transfer-encoding", b"content-length", b"if-none-match",
    b"connection",
})  # fmt: skip
"""Requests with these headers need the ASGI application."""
_OK = (
    b"HTTP/1.1 200 OK\r\n%bcontent-type: application/json\r\netag: %b\r\n"
    b"cache-control: private, no-cache\r\ncontent-length: %d\r\n%b\r\n%b"
)


class SendResponse(Protocol):
    """Called with the response, and with the number of its bytes that are counted as unread."""

    def __call__(self, response: bytes, counted_bytes: int, /) -> None: ...


class FastReads:
    """
    Handles plain reads of records.

    Args:
        batches: reads the store.
        tokens: decides who may read.
        hosts: accepted Host headers.
        observer: counts and logs requests.
        cors: True if responses depend on the Origin header.
        traced: True if the ASGI application must open spans for requests that continue a trace.
    """

    def __init__(
        self,
        batches: ReadBatches,
        tokens: Tokens,
        hosts: tuple[str, ...],
        observer: Observer,
        *,
        cors: bool = False,
        traced: bool = False,
    ) -> None:
        self._batches = batches
        self._tokens = tokens
        self._hosts = hosts
        self._observer = observer
        self._unusual = UNUSUAL_HEADERS | {HEADER.encode()} if traced else UNUSUAL_HEADERS
        self._vary = b"vary: Accept-Encoding%b\r\n" % (b", Origin" if cors else b"")
        self._plain_vary = b"vary: Origin\r\n" if cors else b""
        self._common_source: object = None
        self._common = b""

    def try_handle(
        self,
        target: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        default_headers: Sequence[tuple[bytes, bytes]],
        send: SendResponse,
    ) -> bool:
        """
        Handle a GET without a body, now or later, if it is a plain read.

        Returns False if the ASGI application must handle the request.

        Args:
            target: the request's path and query.
            headers: header names in lower case, with their values.
            default_headers: headers for every response.
            send: called once with the complete response.
        """
        resource = _parse_target(target)
        if resource is None:
            return False
        host: bytes | None = None
        authorization: str | None = None
        accepted: bytes | None = None
        repeated: bytes | str | None
        for name, value in headers:
            if name in self._unusual:
                return False
            if name == b"host":
                host, repeated = value, host
            elif name == b"authorization":
                authorization, repeated = value.decode("latin-1"), authorization
            elif name == b"accept-encoding":
                accepted, repeated = value, accepted
            else:
                continue
            if repeated is not None:
                return False
        if host is None or not is_allowed_host(host.decode("latin-1"), self._hosts):
            return False
        try:
            token, refusal = self._tokens.check(authorization, READ), None
        except Problem as problem:
            token, refusal = None, problem
        on_done = self._make_callback(target, token, default_headers, send)
        if refusal is None:
            coding = None if accepted is None else _cached_coding(accepted)
            self._batches.submit(*resource, coding, on_done)
        else:
            on_done(refusal, 0)
        return True

    def _make_callback(
        self,
        target: bytes,
        token: str | None,
        default_headers: Sequence[tuple[bytes, bytes]],
        send: SendResponse,
    ) -> OnDone:
        started_at_s = time.perf_counter()
        self._observer.in_flight += 1

        def on_done(result: Result, counted_bytes: int) -> None:
            common = self._encode_headers(default_headers)
            if isinstance(result, Body):
                extra_headers, coding = self._vary, result.coding
                if coding is not None:
                    extra_headers = b"content-encoding: %b\r\n%b" % (coding.encode(), extra_headers)
                status, size = 200, len(result.data)
                response = _OK % (common, result.tag.encode(), size, extra_headers, result.data)
            else:
                problem = to_problem(result) if result is not None else unknown_url()
                self._observer.log_failure(problem, "GET", ROUTE, result)
                status = problem.status
                response = encode_problem(problem, common + self._plain_vary)
            self._observer.in_flight -= 1
            duration_s = time.perf_counter() - started_at_s
            self._observer.record_response("GET", ROUTE, status, duration_s, target, token)
            send(response, counted_bytes)

        return on_done

    def _encode_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """Return the default response headers, which change every second, as bytes."""
        if headers is not self._common_source:
            self._common_source = headers
            self._common = b"".join(b"%b: %b\r\n" % pair for pair in headers)
        return self._common


def encode_problem(problem: Problem, common: bytes) -> bytes:
    """Return a problem as a complete response."""
    body = orjson.dumps(problem.as_dict())
    headers = {"Cache-Control": "no-store", **problem.headers}
    extra_lines = "".join(f"{name.lower()}: {value}\r\n" for name, value in headers.items())
    head = f"content-length: {len(body)}\r\ncontent-type: {MEDIA_TYPE}\r\n{extra_lines}\r\n"
    phrase = HTTPStatus(problem.status).phrase
    return b"HTTP/1.1 %d %b\r\n%b%b%b" % (
        problem.status, phrase.encode(), common, head.encode("latin-1"), body,
    )  # fmt: skip


def _parse_target(target: bytes) -> tuple[str, tuple[str, ...] | None] | None:
    """Return the URL and the fields, or None if the target is unusual or invalid."""
    path, _, query = target.partition(b"?")
    if path != b"/v1/urls" or not query or b"#" in query:
        return None
    try:
        values: dict[str, str] = {}
        for part in query.decode("ascii").split("&"):
            name, _, value = part.partition("=")
            if name not in PARAMETERS or name in values:
                return None
            values[name] = _unquote_plus(value) if name == "url" else value
    except ValueError:
        return None
    url = values.get("url")
    if not url or values.get("include") != "":
        return None
    fields = values.get("fields")
    names = None if fields is None else _parse_names(fields)
    return None if names is _UNUSUAL_NAMES else (url, names)


def _unquote_plus(text: str) -> str:
    """
    Like `unquote_plus`, but for ASCII and in half the time.

    Raises:
        ValueError: the result is not UTF-8.
    """
    return unquote_to_bytes(text.replace("+", " ")).decode()


_UNUSUAL_NAMES = ("",)


@lru_cache(maxsize=1024)
def _parse_names(text: str) -> tuple[str, ...]:
    try:
        unquoted = _unquote_plus(text)
    except ValueError:
        return _UNUSUAL_NAMES
    names = tuple(name for name in unquoted.split(",") if name)
    has_long_name = any(len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES for name in names)
    return _UNUSUAL_NAMES if has_long_name or len(names) > MAX_ITEMS else names


@lru_cache(maxsize=256)
def _cached_coding(header: bytes) -> str | None:
    return coding_for(header.decode("latin-1"))
