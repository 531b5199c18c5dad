"""Where a request ends: trailers, upgrades, and bodies that the server does not read."""

import re

import orjson
import pytest

from aragog.api.server.tokens import new_token
from tests.support.api_server import read_all, running
from tests.support.stores import store_harness
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
READER, ENTRY = new_token("reader", ["read"])
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n"
BODY = orjson.dumps({"fields": {"team.a": "7"}})


@pytest.fixture(scope="module")
def store():
    a_store = store_harness(MemoryTables()).store
    a_store.put(A, {"team.a": b"1"})
    return a_store


@pytest.fixture(scope="module")
def api(store):
    with running(store, max_body_bytes=100_000) as server:
        yield server


@pytest.fixture(scope="module")
def closed(store):
    with running(store, tokens=(ENTRY,)) as server:
        yield server


def statuses(reply):
    return [int(digits) for digits in re.findall(rb"HTTP/1\.1 (\d{3})", reply)]


def chunked(path, trailers, method=b"GET"):
    return b"%b %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n%b\r\n" % (
        method,
        path,
        trailers,
    )


@pytest.mark.parametrize(
    "endless",
    [b"a:\r\n" * 50_000, b"a: " + b"x" * 200_000],
    ids=["many", "one"],
)
def test_trailers_are_limited_like_headers(closed, endless):
    """Without a token, a client made the server hold thirty bytes for each byte sent."""
    with closed.connect() as sock:
        sock.sendall(chunked(b"/v1/token", endless))
        reply = read_all(sock)

    assert statuses(reply) == [431]


def test_endless_chunk_extension_is_limited_too(closed):
    head, _, _ = chunked(b"/v1/token", b"").partition(b"0\r\n")
    with closed.connect() as sock:
        sock.sendall(head + b"5;" + b"x" * 500_000)
        reply = read_all(sock)

    assert statuses(reply) == [431]


def test_trailers_are_not_headers(closed):
    """A token in a trailer was accepted (RFC 9110, 6.5.1)."""
    trailer = f"Authorization: Bearer {READER}\r\n".encode()
    first = chunked(b"/v1/token", trailer)

    assert statuses(closed.raw(first + LAST)) == [401, 200], (
        "the connection stays usable after them"
    )


def test_if_match_in_a_trailer_is_ignored(api):
    version = api.get(f"/v1/urls?url={A}").headers["etag"].encode()
    body = b"%x\r\n%b\r\n" % (len(BODY), BODY)
    request = chunked(f"/v1/urls?url={A}".encode(), b"If-Match: %b\r\n" % b'"no"', b"PUT")
    request = request.replace(b"\r\n\r\n0", b"\r\nContent-Type: application/json\r\n\r\n%b0" % body)

    assert statuses(api.raw(request + LAST)) == [200, 200]
    assert version != api.get(f"/v1/urls?url={A}").headers["etag"].encode()


def put(framing, body, more=UPGRADE):
    head = f"PUT /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + more + framing + b"\r\n" + body


LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])


@pytest.mark.parametrize(("framing", "body"), [(LENGTH, BODY), (CHUNKED, CHUNKS)])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_request_that_offers_an_upgrade_keeps_its_body(api, framing, body, size):
    """Java's HTTP client does so by default; its body was lost, and the status was 400."""
    data = put(framing, body) * 2 + LAST
    with api.connect() as sock:
        for begin in range(0, len(data), size):
            sock.sendall(data[begin : begin + size])
        reply = read_all(sock)

    assert statuses(reply) == [200, 200, 200]


def test_connection_close_with_an_upgrade_is_honored(api):
    closing = UPGRADE.replace(b"Upgrade,", b"close, Upgrade,")
    assert statuses(api.raw(put(LENGTH, BODY, closing) + HEALTH)) == [200]
    old = put(LENGTH, BODY).replace(b" HTTP/1.1", b" HTTP/1.0", 1)
    assert statuses(api.raw(old + HEALTH)) == [200]


@pytest.mark.parametrize(
    ("framing", "expected"),
    [
        (LENGTH + LENGTH, 400),
        (LENGTH + CHUNKED, 400),
        (CHUNKED + LENGTH, 400),
        (CHUNKED + CHUNKED, 400),
        (b"Transfer-Encoding: gzip\r\n", 501),
        (b"Transfer-Encoding: gzip, chunked\r\n", 501),
        (b"Transfer-Encoding: chunked, gzip\r\n", 400),
        (b"Content-Length: +5\r\n", 400),
        (b"Content-Length: 5, 5\r\n", 400),
        (b"Content-Length:\r\n", 400),
        (b"Content-Length: 0x5\r\n", 400),
    ],
)
def test_upgrade_smuggles_no_request(api, framing, expected):
    reply = api.raw(put(framing, HEALTH * 2))

    assert statuses(reply) == [expected]


def test_body_of_an_upgrade_request_is_limited(api):
    long = b"Content-Length: 200000\r\n"
    assert statuses(api.raw(put(long, b"x" * 200_000))) == [413]


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_upgrade_without_a_body_is_answered_as_http(api, protocol):
    upgrade = HEALTH.replace(
        b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol
    )

    assert statuses(api.raw(upgrade * 2 + LAST)) == [200, 200, 200]


def stream(length, body=b""):
    head = "GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("length", "expected"), [(5, 408), (200_000, 413)], ids=["unfinished", "too long"]
)
def test_stream_does_not_start_before_its_request_is_complete(store, caplog, length, expected):
    """It broke off with a traceback when the time for the body was over."""
    with running(store, head_timeout_s=0.5, max_body_bytes=100_000) as server:
        reply = server.raw(stream(length, b"1234"))

    assert statuses(reply) == [expected]
    assert "Traceback" not in caplog.text


def test_stream_with_a_body_starts_when_the_body_has_arrived(api):
    with api.connect() as sock:
        sock.sendall(stream(5, b"1234"))
        sock.sendall(b"5")
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
