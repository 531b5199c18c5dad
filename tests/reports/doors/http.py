"""
One fetch, or several in order, from an origin that sends the given bytes.

Input: `fetch`, a path at http://a.test or a list of them; `responses` by path, each one or a list
that is sent in order. A response has `raw`, its bytes; or `head`, lines in which `{length}` stands
for the length of the sent body, `body`, and `codings` that are applied to it; it is sent in chunks
of `chunk` bytes. Text is latin-1. `keep` keeps the connection, `drop` closes it without a response.
`tls` names a server of `tests.support.tls`. `settings` are those of the fetcher; `etag` and
`method` those of the fetch.

The answer is for the last fetch; `requests` are all that the origin saw.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import brotli
import zstandard

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.settings import FetchSettings
from tests.support import tls
from tests.support.origin import Origin, Request, Wire

HOSTS = ("a.test", "b.test", "www.a.test")
CODINGS = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "deflate": lambda data: zlib.compress(data)[2:-4],
    "br": brotli.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "half": lambda data: data[: len(data) // 2],
    "garbage": lambda data: data + b"\x00 trailing \x01",
    "twice": lambda data: data + gzip.compress(b" and more"),
}


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of the responses."""
    server = getattr(tls, f"{given['tls']}_context")(*HOSTS) if "tls" in given else None
    script = {path: _as_list(response) for path, response in given["responses"].items()}
    with ExitStack() as stack:
        origin = stack.enter_context(Origin({"/*": _Script(script)}, tls=server))
        fetcher = stack.enter_context(_fetcher(origin, given))
        scheme = "https" if server else "http"
        paths = _as_list(given.get("fetch", "/"))
        for path in paths:
            url = path if "://" in path else f"{scheme}://a.test{path}"
            last = fetcher.fetch(
                url, etag=given.get("etag"), method=given.get("method", "GET"),
            )  # fmt: skip
        requests = list(origin.seen)
        connections = origin.connections
    body = getattr(last, "body", b"")
    retry_at_ms = getattr(last, "retry_at_ms", None)
    return {
        "outcome": last.outcome.value,
        "status": last.status,
        "reason": last.reason or "",
        "kind": str(getattr(last, "kind", "")),
        "body": body.decode("utf-8", "replace"),
        "truncated": last.truncated,
        "url": last.final_url,
        "hops": [hop.status for hop in last.hops],
        "content_type": last.content_type,
        "requests": [f"{r.method} {r.host}{r.target}" for r in requests],
        "connections": connections,
        "sent": {name.lower(): value for name, value in requests[-1].headers} if requests else {},
        "cookie": requests[-1].header("Cookie") or "" if requests else "",
        "wait_s": round((retry_at_ms - last.fetched_at_ms) / 1000) if retry_at_ms else "none",
    }


class _Script:
    """A handler that sends the responses of each path in order and repeats the last one."""

    def __init__(self, responses: dict[str, list[Mapping[str, Any]]]) -> None:
        self._left = responses

    def __call__(self, request: Request, wire: Wire) -> bytes | None:
        left = self._left.get(f"//{request.host}{request.path}") or self._left.get(request.path)
        if not left:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        response = left.pop(0) if len(left) > 1 else left[0]
        if response.get("drop"):
            return None
        data = _bytes(response)
        if response.get("keep"):
            return data.replace(b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n", 1)
        return data


def _bytes(response: Mapping[str, Any]) -> bytes:
    if "raw" in response:
        return response["raw"].encode("latin-1")
    body = response.get("body", "").encode("latin-1")
    for coding in response.get("codings", ()):
        body = CODINGS[coding](body)
    if chunk := response.get("chunk"):
        pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    lines = response["head"].replace("{length}", str(len(body))).strip("\n").split("\n")
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def _fetcher(origin: Origin, given: Mapping[str, Any]) -> Fetcher:
    options = {
        "user_agent": "aragog/1.0 (+https://example.com/bot)",
        "deadline_s": 20.0,
        "read_timeout_s": 3.0,
        "allowed_networks": ("127.0.0.0/8",),
        "allowed_ports": (80, 443, 8080, origin.port),
        "host_map": dict.fromkeys(HOSTS, origin.address),
        **given.get("settings", {}),
    }
    return Fetcher(FetchSettings(**options), tls=tls.client_context() if origin.tls else None)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
