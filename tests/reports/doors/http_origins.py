"""
HTTP: a URL fetched from an origin whose bytes are given in the input.

Input: `answers`, bytes by path or by `//host/path` (see `_bytes`; with `in_turn`, a list of them is
sent request by request; `keep` in a table keeps the connection); `url` (host a.test); `urls`,
fetched one after the other; `settings` of fetches; `tls`, names of the certificate; `pieces`, bytes
sent at once.
"""

from __future__ import annotations

from dataclasses import replace

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.settings import FetchSettings
from tests.reports.doors._bytes import data
from tests.support.origin import Origin
from tests.support.tls import client_context, server_context

PATIENT = FetchSettings(
    user_agent="testbot/1.0 (+https://example.com/bot)",
    deadline_s=20.0,
    connect_timeout_s=10.0,
    read_timeout_s=6.0,
    allowed_networks=("127.0.0.0/8",),
    allowed_ports=tuple(range(1, 65536)),
)


def answer(given):
    tls = server_context(*given["tls"]) if "tls" in given else None
    in_turn = given.get("in_turn", False)
    origin = Origin(
        {p: _keeping(s, in_turn, given.get("pieces")) for p, s in given["answers"].items()}, tls=tls
    )
    with origin:
        options = {"host_map": {"*.test": origin.address}}
        options |= {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.get("settings", {}).items()
        }
        context = client_context() if tls else None
        results = []
        with Fetcher(replace(PATIENT, **options), tls=context) as fetcher:
            scheme = "https" if tls else "http"
            for url in given.get("urls", [given.get("url", "/")]):
                whole = f"{scheme}://a.test{url}" if url.startswith("/") else url
                results.append(fetcher.fetch(whole, **_validators(given)))
        seen = list(origin.seen)
        connections = origin.connections
    last = results[-1]
    body = getattr(last, "body", None)
    return {
        "outcome": type(last).__name__,
        "outcomes": [type(r).__name__ for r in results],
        "status": last.status,
        "kind": str(getattr(last, "kind", "")),
        "body": body.decode(given.get("read", "utf-8"), "replace") if body is not None else None,
        "bodies": [
            r.body.decode("utf-8", "replace") if getattr(r, "body", None) is not None else None
            for r in results
        ],
        "truncated": last.truncated,
        "content_type": last.content_type,
        "final": last.final_url,
        "hops": [h.target for h in last.hops],
        "targets": [r.target for r in seen],
        "hosts": [r.host for r in seen],
        "requests": len(seen),
        "connections": connections,
        "cookies": [r.header("Cookie") or "" for r in seen],
        "authorization": [r.header("Authorization") or "" for r in seen],
        "referer": [r.header("Referer") or "" for r in seen],
        "has_retry": getattr(last, "retry_at_ms", None) is not None,
        "header_names": [n for n, _ in last.headers],
        "header_values": [v for _, v in last.headers],
        "conditions": [
            r.header("If-None-Match") or r.header("If-Modified-Since") or "" for r in seen
        ],
    }


def _validators(given):
    return {name: given[name] for name in ("etag", "last_modified") if name in given}


def _keeping(spec, in_turn, pieces):
    """`_answer` of Origin keeps a connection only if the bytes from a handler say so."""
    bodies = [data(each) for each in (spec if in_turn and isinstance(spec, list) else [spec])]
    count = [0]

    def handle(request, wire):
        body = bodies[min(count[0], len(bodies) - 1)]
        count[0] += 1
        if not pieces:
            return body
        kept = all(
            wire.send(body[at : at + pieces]) and wire.pause(0.005)
            for at in range(0, len(body), pieces)
        )
        return b"\r\nConnection: keep-alive\r\n"[:0] if kept else None

    return handle
