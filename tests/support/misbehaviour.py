"""
The handlers of a misbehaving origin, by path.

The fixture `origin` is an `Origin` with this table:

    /drip            one byte every 20 ms, without end      /stall         headers, then nothing
    /silent          never a byte                           /cut           closes before the promised length
    /cut-chunk       closes inside a chunk                  /reset         RST inside the body
    /reset-at-once   RST instead of an answer               /close-at-once FIN instead of an answer
    /lies-short      sends more than Content-Length says    /endless       a body without end
    /endless-chunks  the same, chunked                      /huge-length   claims 1 TB
    /padded-chunks   the same, mostly chunk extensions      /two-lengths   chunked, with a Content-Length
    /endless-headers headers without end                    /endless-interim  100 Continue without end
    /half-headers    closes inside the headers              /slow-headers  a header line every 50 ms
    /garbage         no HTTP at all                         /http09        a body without status line
    /bomb/gzip /bomb/deflate /bomb/br /bomb/zstd /bomb/nested     few bytes, 32 MB decoded
    /loop            redirects to itself                    /loop/a, /loop/b   to each other
    /chain/<n>       n redirects, then a page               /to?<url>      redirects to <url>
    /busy            429, Retry-After: 120                  /busy-date     429, Retry-After: a date
    /unavailable     503 without Retry-After                /status/<n>    that status
    /pdf             application/pdf                        /binary        bytes called text/html
    /empty           200 and nothing                        /untyped       HTML without Content-Type
    /conditional     ETag "v1"; 304 when it is asked with   /cookie        redirects until it gets its cookie
    /echo            the request's head, as text            /kept          keeps the connection
    /kept-then-gone  says keep-alive, then closes
"""

from __future__ import annotations

import email.utils
import gzip
import time
import zlib
from collections.abc import Iterator

import brotli
import pytest
import zstandard

from tests.support.origin import (
    HELLO,
    Handler,
    Origin,
    Request,
    Wire,
    answer,
    chunked,
    of_status,
    page,
    redirect,
)

BOMB_BYTES = 32_000_000


def _bomb(coding: str) -> bytes:
    zeros = bytes(1_000_000)
    if coding == "br":
        brotlier = brotli.Compressor(quality=1)
        data = b"".join(brotlier.process(zeros) for _ in range(BOMB_BYTES // len(zeros)))
        return data + brotlier.finish()
    if coding == "zstd":
        zstd = zstandard.ZstdCompressor().compressobj()
        return (
            b"".join(zstd.compress(zeros) for _ in range(BOMB_BYTES // len(zeros))) + zstd.flush()
        )
    deflate = zlib.compressobj(1, wbits=31 if coding in ("gzip", "nested") else 15)
    data = b"".join(deflate.compress(zeros) for _ in range(BOMB_BYTES // len(zeros)))
    data += deflate.flush()
    return gzip.compress(data) if coding == "nested" else data


_bombs: dict[str, bytes] = {}


def _bombs_handler(request: Request, _: Wire) -> bytes:
    coding = request.path.rpartition("/")[2]
    if coding not in _bombs:
        _bombs[coding] = _bomb(coding)
    named = "gzip, gzip" if coding == "nested" else coding
    return answer(body=_bombs[coding], headers={"Content-Encoding": named})


def _drip(_: Request, wire: Wire) -> None:
    wire.send(answer(length=False))
    while wire.send(b"x") and wire.pause(0.02):
        pass


def _stall(_: Request, wire: Wire) -> None:
    wire.send(answer(headers={"Content-Length": "1000"}, length=False) + b"<p>")
    wire.pause(60)


def _silent(_: Request, wire: Wire) -> None:
    wire.pause(60)


def _reset(_: Request, wire: Wire) -> None:
    wire.send(answer(headers={"Content-Length": "1000"}, length=False) + HELLO)
    wire.pause(0.05)
    wire.reset()


def _reset_at_once(_: Request, wire: Wire) -> None:
    wire.reset()


def _endless(_: Request, wire: Wire) -> None:
    wire.send(answer(length=False))
    while wire.send(b"<p>and on it goes</p>" * 1000):
        pass


def _endless_chunks(_: Request, wire: Wire) -> None:
    wire.send(answer(headers={"Transfer-Encoding": "chunked"}, length=False))
    while wire.send(b"4000\r\n" + b"y" * 0x4000 + b"\r\n"):
        pass


def _padded_chunks(_: Request, wire: Wire) -> None:
    """Send 32 bytes of page in each 4 KB."""
    wire.send(answer(headers={"Transfer-Encoding": "chunked"}, length=False))
    while wire.send(b"20;x=" + b"-" * 4000 + b"\r\n" + b"<p>" + b"y" * 29 + b"\r\n"):
        pass


def _endless_headers(_: Request, wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\n")
    while wire.send(b"X-More: and more\r\n" * 100):
        pass


def _endless_interim(_: Request, wire: Wire) -> None:
    while wire.send(b"HTTP/1.1 100 Continue\r\n\r\n"):
        pass


def _slow_headers(_: Request, wire: Wire) -> None:
    wire.send(b"HTTP/1.1 200 OK\r\n")
    while wire.send(b"X-Slow: yes\r\n") and wire.pause(0.05):
        pass


def _chain(request: Request, _: Wire) -> bytes:
    left = int(request.path.rpartition("/")[2])
    return redirect(f"/chain/{left - 1}", 301) if left else page(HELLO)


def _busy_date(_: Request, __: Wire) -> bytes:
    when = email.utils.formatdate(time.time() + 120, usegmt=True)
    return answer(429, b"busy", headers={"Retry-After": when})


def _conditional(request: Request, _: Wire) -> bytes:
    if request.header("If-None-Match") == '"v1"':
        return b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\nConnection: close\r\n\r\n'
    return page(HELLO, headers={"ETag": '"v1"'})


def _cookie(request: Request, _: Wire) -> bytes:
    if "seen=1" in (request.header("Cookie") or ""):
        return page(HELLO)
    return answer(302, headers=(("Location", "/cookie"), ("Set-Cookie", "seen=1; Path=/")))


def _echo(request: Request, _: Wire) -> bytes:
    lines = [f"{request.method} {request.target}", *(f"{k}: {v}" for k, v in request.headers)]
    return answer(body="\n".join(lines).encode(), content_type="text/plain")


def _lies(length: int) -> bytes:
    return answer(headers={"Content-Length": str(length)}, length=False) + HELLO


def misbehaviour() -> dict[str, Handler]:
    """Return the handlers of all paths listed in the module."""
    return {
        "/": page(HELLO),
        "/drip": _drip,
        "/stall": _stall,
        "/silent": _silent,
        "/cut": _lies(1000),
        "/cut-chunk": chunked(HELLO)[:-20],
        "/reset": _reset,
        "/reset-at-once": _reset_at_once,
        "/close-at-once": b"",
        "/lies-short": _lies(5),
        "/endless": _endless,
        "/endless-chunks": _endless_chunks,
        "/padded-chunks": _padded_chunks,
        "/two-lengths": answer(
            body=b"5\r\nhello\r\n0\r\n\r\n", headers={"Transfer-Encoding": "chunked"}
        ),
        "/huge-length": _lies(1 << 40),
        "/endless-headers": _endless_headers,
        "/endless-interim": _endless_interim,
        "/half-headers": b"HTTP/1.1 200 OK\r\nContent-Type: text/ht",
        "/slow-headers": _slow_headers,
        "/garbage": b"\x00\x01\x02 what is HTTP?\r\n\r\n",
        "/http09": HELLO,
        "/bomb/*": _bombs_handler,
        "/loop": redirect("/loop"),
        "/loop/a": redirect("/loop/b"),
        "/loop/b": redirect("/loop/a"),
        "/chain/*": _chain,
        "/to": lambda request, _: redirect(request.query),
        "/busy": answer(429, b"busy", headers={"Retry-After": "120"}),
        "/busy-date": _busy_date,
        "/unavailable": answer(503, b"down"),
        "/status/*": lambda request, _: of_status(int(request.path.rpartition("/")[2])),
        "/pdf": answer(body=b"%PDF-1.7\n", content_type="application/pdf"),
        "/binary": answer(body=b"\x89PNG\r\n\x1a\n" + bytes(100)),
        "/empty": page(b""),
        "/untyped": answer(body=HELLO, content_type=None),
        "/conditional": _conditional,
        "/cookie": _cookie,
        "/echo": _echo,
        "/kept": page(HELLO, keep_alive=True),
        "/kept-then-gone": _kept_then_gone,
    }


def _kept_then_gone(_: Request, wire: Wire) -> None:
    wire.send(page(HELLO, keep_alive=True))


@pytest.fixture
def origin() -> Iterator[Origin]:
    """An origin that misbehaves on request."""
    with Origin(misbehaviour()) as running:
        yield running
