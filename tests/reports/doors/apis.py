"""
The HTTP and Thrift APIs: bytes from a client, and the responses.

Input: `scenario`, a function below, or `send`, bytes to the HTTP API of a store with one page of
http://a.example/; the answer has `statuses` and `responses`, their number, and `closed`.
"""

from __future__ import annotations

import json
import re

from tests.reports.doors._bytes import data
from tests.support.api_server import running
from tests.support.stores import page, store_harness
from zengraph.tables.memory import MemoryTables


def _store():
    its = store_harness(MemoryTables())
    its.store.put("http://a.example/", {"team.a": b"1"})
    return its


def answer(given):
    if "scenario" in given:
        return globals()[given["scenario"]](given)
    with running(_store().store) as api:
        with api.connect() as sock:
            sock.settimeout(8)
            sock.sendall(data(given["send"]))
            received, closed = b"", False
            try:
                while piece := sock.recv(65_536):
                    received += piece
                closed = True
            except TimeoutError:
                pass
            except ConnectionResetError:
                closed = True
        alive = api.get("/healthz").status
    statuses = [int(s) for s in re.findall(rb"HTTP/1\.1 (\d{3})", received)]
    return {
        "statuses": statuses,
        "responses": len(statuses),
        "closed": closed,
        "alive": alive,
        "first": statuses[0] if statuses else 0,
        "refused": bool(statuses) and 400 <= statuses[0] < 500,
    }


def separators_in_an_event(given):
    """A field with U+2028, U+2029 and U+0085 in the change feed, as server-sent events."""
    from aragog.urlstore.feed import SETTLE_MS
    from aragog.urlstore.refresh_policy import Seen

    text = given["text"]
    its = store_harness(MemoryTables())
    for value in ("before", text):
        its.clock.advance_ms(10)
        at_ms = its.clock.now_ms()
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        its.store.write_pages(
            [
                page(
                    "http://a.example/",
                    at_ms,
                    seen=seen,
                    fields={"page.title": json.dumps(value, ensure_ascii=False).encode()},
                )
            ]
        )
    its.clock.advance_ms(SETTLE_MS + 1000)
    with running(its.store) as api, api.connect() as sock:
        sock.sendall(
            b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        )
        sock.settimeout(6)
        received = b""
        try:
            while (
                received.count(b"\n\n") + received.count(b"\r\n\r\n") < 4
                and b'"changed"' not in received
            ):
                received += sock.recv(65_536)
            received += sock.recv(65_536)
        except TimeoutError:
            pass
    body = b""
    rest = received.partition(b"\r\n\r\n")[2]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if not size or not int(size, 16):
            break
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    events, lines = [], []
    for line in re.split("\r\n|\n|\r", body.decode()):
        if line:
            lines.append(line)
        elif lines:
            got = [
                line.partition(":")[2].removeprefix(" ")
                for line in lines
                if line.startswith("data")
            ]
            if got:
                events.append("\n".join(got))
            lines = []
    values = [json.loads(e)["fields"].get("page.title", {}).get("now") for e in events]
    return {
        "titles": [
            json.loads(v) if isinstance(v, str) and v.startswith('"') else v for v in values if v
        ]
    }


def bad_text_over_thrift(given):
    """A call with a string that is not UTF-8, then a valid call on a new connection."""
    import struct

    from aragog.api.server.thrift.contract import FILE  # noqa: F401
    from tests.support import thrift_server

    its = _store()
    with thrift_server.running(its.store) as server:

        def call(name, argument):
            body = (
                struct.pack(">I", 0x80010001)
                + struct.pack(">I", len(name))
                + name
                + struct.pack(">I", 7)
            )
            body += (
                b"\x0b"
                + struct.pack(">h", 1)
                + struct.pack(">I", len(argument))
                + argument
                + b"\x00"
            )
            return struct.pack(">I", len(body)) + body

        with server.connect() as sock:
            sock.settimeout(10)
            sock.sendall(call(b"UrlStore:get", b"http://a.example/\xff\xfe\xe9"))
            try:
                head = sock.recv(4)
                first = sock.recv(struct.unpack(">I", head)[0]) if len(head) == 4 else b""
            except (TimeoutError, ConnectionResetError):
                first = b""
        with server.connect() as sock:
            sock.settimeout(10)
            sock.sendall(call(b"UrlStore:get", b"http://a.example/"))
            head = sock.recv(4)
            second = sock.recv(struct.unpack(">I", head)[0]) if len(head) == 4 else b""

    def kind(reply):
        return {2: "reply", 3: "exception"}.get(reply[3], "") if reply else "closed"

    return {
        "first_is_good": kind(first) == "reply" and b"team.a" in first,
        "second": kind(second),
        "found": b"team.a" in second,
    }
