"""
Bytes to the Thrift services of a small store, on one connection.

Input: `sends`, each one of `raw` (Latin-1, unchanged), `frame` (Latin-1, preceded by its length),
or a call with `name`, `kind` (1 a call, 4 one without a reply), `number` and `arguments`
(hexadecimal; or three texts, of which `repeat` repeats the second that many times and writes the
third once); `pieces` sends it byte by byte. The answers: `replies`, as `answer`, `exception` or
`error` with the number of the call, and `closed` at the end of the connection; `others`,
whether another client is served.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from aragog.runtime.clock import ManualClock
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from zengraph.tables.memory import MemoryTables

URL = "http://a.test/"
KINDS = {2: "answer", 3: "exception"}
STRICT = 0x80010000


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The replies, and whether others are still served."""
    store = store_harness(MemoryTables(ManualClock())).store
    store.put(URL, {"title": b"one"})
    with running(store) as server:
        with server.connect() as sock:
            sock.settimeout(given.get("within_s", 60))
            for send in given["sends"]:
                data = _bytes(send)
                for piece in (
                    [data[n : n + 1] for n in range(len(data))] if send.get("pieces") else [data]
                ):
                    sock.sendall(piece)
            replies = []
            for _ in range(given["expects"]):
                replies.append(_reply(sock))
                if replies[-1] == "closed":
                    break
        with server.connect() as other:
            other.sendall(_bytes({"name": "ping"}))
            others = _reply(other)
    return {"replies": replies, "others": others}


def _bytes(send: Mapping[str, Any]) -> bytes:
    if "raw" in send:
        return send["raw"].encode("latin-1")
    if "frame" in send:
        body = send["frame"].encode("latin-1")
    else:
        name = send["name"].encode()
        kind, number = send.get("kind", 1), send.get("number", 7)
        arguments = _arguments(send)
        if send.get("old"):
            body = struct.pack(">I", len(name)) + name + struct.pack(">bi", kind, number)
        else:
            body = struct.pack(">II", STRICT | kind, len(name)) + name + struct.pack(">i", number)
        body += arguments
    return struct.pack(">I", len(body)) + body


def _arguments(send: Mapping[str, Any]) -> bytes:
    parts, times = send.get("arguments", "00"), send.get("repeat", 1)
    if isinstance(parts, str):
        return bytes.fromhex(parts)
    begins, repeated, ends = map(bytes.fromhex, parts)
    return begins + repeated * times + ends * (times + 1)


def _reply(sock: Any) -> str:
    head = _read(sock, 4)
    if not head:
        return "closed"
    body = _read(sock, struct.unpack(">I", head)[0])
    length = struct.unpack(">I", body[4:8])[0]
    number = struct.unpack(">i", body[8 + length : 12 + length])[0]
    return f"{KINDS.get(body[3], '?')} {number}"


def _read(sock: Any, size: int) -> bytes:
    data = b""
    try:
        while len(data) < size and (piece := sock.recv(size - len(data))):
            data += piece
    except ConnectionError:
        return b""
    return data
