"""
Requests to the HTTP API of a small store.

Input: `steps`, each a request with `path`, `method`, `headers`, `body` (text; a table is sent as
JSON), or `raw`, whose bytes are Latin-1. `{etag}` in a header or in `raw` is the ETag of the
previous response, `{cursor}` in a path its cursor, and `{id}` in a header the id of its last event.
With `events`, that many server-sent events are read; `changes` writes prices of the URL before the
request, each a change.

`statuses` is for all responses; the rest is for the last: `status`, `header lines`, `type`,
`cache`, `allow`, `allows origin`, whether it is `encoded`, whether it has the ETag of the previous
response (`tag kept`), `body`, its `length`, `links` and `ends` of a list, and for a stream `kinds`,
`ids` and `now`: the price of the first event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.records import OutLink
from aragog.urlstore.refresh_policy import Seen
from tests.support.api_server import Reply, Running, parsed, running
from tests.support.stores import Harness, page, store_harness
from zengraph.tables.memory import MemoryTables

URL = "http://a.test/"
FIELDS = {
    "page.title": '"Käse 猫"'.encode(),
    "page.n": b"9007199254740993",
    "page.long": b'"' + b"word " * 1000 + b'"',
    "team.note": b"one\ntwo",
}


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The statuses of all responses, and the details of the last."""
    harness = store_harness(MemoryTables())
    harness.store.put(URL, FIELDS)
    harness.store.links.add(URL, [OutLink(f"{URL}{number}", "a link") for number in range(5)])
    harness.store.put_content(URL, bytes(range(256)) * 16, {"content_type": "text/html"})
    statuses: list[int] = []
    last = Reply(0, {}, b"")
    events: list[dict[str, str]] = []
    tags: list[str] = []
    with running(harness.store, **given.get("settings", {})) as api:
        for step in given["steps"]:
            for price in step.get("changes", ()):
                _change(harness, price)
            filled = _filled(step, last, events)
            if "events" in step:
                last, events = _stream(api, filled, step["events"])
                statuses.append(last.status)
                continue
            tags = [last.headers.get("etag", "")]
            replies = _replies(api, filled)
            statuses += [reply.status for reply in replies]
            last = replies[-1] if replies else Reply(0, {}, b"")
    found: dict[str, Any] = {
        "statuses": statuses, "status": last.status,
        "header lines": [f"{name}: {value}" for name, value in last.headers.items()],
        "type": last.headers.get("content-type", "").partition(";")[0],
        "allows origin": last.headers.get("access-control-allow-origin", ""),
        "cache": last.headers.get("cache-control", ""), "allow": last.headers.get("allow", ""),
        "encoded": "content-encoding" in last.headers,
        "tag kept": bool(tags) and last.headers.get("etag", "") == tags[0],
        "body": last.body.decode("utf-8", "replace"), "length": len(last.body),
        "kinds": [event.get("event", "message") for event in events],
        "ids": sum(bool(event.get("id")) for event in events),
    }  # fmt: skip
    if events:
        found["now"] = json.loads(events[0]["data"])["fields"]["product.price"]["now"]
    with suppress(ValueError, TypeError, KeyError):
        value = json.loads(last.body)
        found |= {"links": len(value["links"]), "ends": value["cursor"] is None}
    return found


def _filled(step: Mapping[str, Any], last: Reply, events: list[dict[str, str]]) -> dict[str, Any]:
    """The step with the values of the previous response filled in."""
    values = {"{etag}": last.headers.get("etag", ""), "{id}": events[-1]["id"] if events else ""}
    with suppress(ValueError, TypeError, KeyError):
        values["{cursor}"] = str(json.loads(last.body)["cursor"])

    def fill(text: Any) -> Any:
        for name, value in values.items():
            text = text.replace(name, value) if isinstance(text, str) else text
        return text

    headers = {name: fill(value) for name, value in step.get("headers", {}).items()}
    return {name: fill(value) for name, value in step.items()} | {"headers": headers}


def _replies(api: Running, step: Mapping[str, Any]) -> list[Reply]:
    if "raw" in step:
        return _responses(api.raw(step["raw"].encode("latin-1")))
    body = step.get("body")
    if isinstance(body, str):
        body = body.encode()
    return [api.ask(step.get("method", "GET"), step["path"], body, **step["headers"])]


def _responses(data: bytes) -> list[Reply]:
    """All responses in these bytes."""
    starts = [found.start() for found in re.finditer(rb"HTTP/1\.1 [0-9]{3}", data)]
    pieces = [data[one:other] for one, other in zip(starts, [*starts[1:], None], strict=True)]
    return [parsed(piece) for piece in pieces]


def _stream(
    api: Running, step: Mapping[str, Any], count: int
) -> tuple[Reply, list[dict[str, str]]]:
    """The head of a stream and its first events, read as browsers do."""
    named = {"Host": "localhost", "Accept": "text/event-stream"} | step["headers"]
    lines = [f"GET {step['path']} HTTP/1.1", *(f"{n}: {v}" for n, v in named.items()), "", ""]
    with api.connect() as sock:
        sock.sendall("\r\n".join(lines).encode())
        data = b""
        while data.count(b"\n\n") < count:
            piece = sock.recv(65_536)
            if not piece:
                break
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    reply = parsed(head + b"\r\n\r\n")
    text = re.sub(rb"(?:^|\r\n)[0-9a-f]+\r\n", b"", body).decode()
    return reply, [_event(block) for block in text.split("\n\n")[:count]]


def _event(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in re.split(r"\r\n|\n|\r", block):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


def _change(harness: Harness, value: Any) -> None:
    harness.clock.advance_ms(10)
    at_ms = harness.clock.now_ms()
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    fields = {"product.price": json.dumps(value).encode()}
    harness.store.write_pages([page(URL, at_ms, seen=seen, fields=fields)])
    harness.clock.advance_ms(SETTLE_MS + 1000)
