"""Hostile API clients: each gets the right status or is disconnected, and affects no other."""

import contextlib
import re
import socket
import threading
from pathlib import Path

import orjson
import pytest

from aragog.api.server.http.connection import MAX_PIPELINED
from aragog.api.server.http.server import listen
from aragog.errors import ConfigError
from aragog.settings import ServingSettings
from tests.support.api_server import read_all, running
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
GET = f"GET /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@pytest.fixture(scope="module")
def harness():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})
    harness.store.put_content(A, b"x" * 4_000_000, {"content_type": "text/plain"})
    return harness


@pytest.fixture(scope="module")
def api(harness):
    with running(harness.store, max_body_bytes=100_000) as server:
        yield server


@pytest.fixture(autouse=True)
def server_answers_afterwards(request):
    """After every test, the server must answer the next client."""
    yield
    if "api" in request.fixturenames:
        assert request.getfixturevalue("api").get(f"/v1/urls?url={A}").status == 200


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def status(reply):
    return int(reply.split(b" ", 2)[1]) if reply else None


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"NONSENSE\r\n\r\n", 400),
        (b"FOO / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
        (b"GET /%ff%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
        (b"GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 200),
        # Request smuggling: two lengths, length and coding, an unknown coding.
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        # Sizes.
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 700_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 200_000, 431),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
        (b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b"a" * 65_536 + b"\r\n") * 2, 413),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else str(value),
)  # fmt: skip
def test_malformed_request_is_answered_and_the_connection_closed(api, attack, expected):
    with api.connect() as sock:
        with contextlib.suppress(OSError):  # disconnected while it was sending
            sock.sendall(attack)
        reply = read_all(sock)

    assert status(reply) in ((expected,) if reply else (None,))
    assert reply or len(attack) > 65_536
    assert len(re.findall(rb"HTTP/1.1 [0-9]{3}", reply)) <= 1


def test_body_over_the_limit_is_413_with_a_problem(api):
    response = api.ask("POST", "/v1/enqueue", {"urls": ["x" * 200_000]})

    assert response.status == 413
    assert response.json["status"] == 413
    assert response.headers["connection"] == "close"


def test_unread_responses_of_pipelined_requests_cost_little_memory(api):
    request_bytes = f"GET /v1/content?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    before = resident_bytes()
    socks = [api.connect() for _ in range(10)]
    for sock in socks:
        sock.sendall(request_bytes * 30)
    for sock in socks:
        assert sock.recv(1)  # the server has started to respond, and the client stops reading
    for _ in range(20):
        assert api.get("/healthz").status == 200
    grown = resident_bytes() - before
    for sock in socks:
        sock.close()

    assert grown < 150_000_000


def test_too_many_pipelined_requests_are_refused(api):
    with api.connect() as sock:
        sock.sendall(GET * (MAX_PIPELINED * 4))
        reply = read_all(sock)

    assert 1 <= reply.count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1
    assert reply.count(b"HTTP/1.1 429") == 1


@pytest.mark.parametrize("bad", [b"nonsense\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"])
@pytest.mark.parametrize("count", [1, 3])
def test_refusal_follows_the_responses_of_earlier_requests(api, bad, count):
    """It was sent instead of the first pending response, for example that of a write."""
    body = b'{"fields": {"team.a": "2"}}'
    write = (
        f"PUT /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    reply = api.raw(write * count + bad)

    statuses = [int(digits) for digits in re.findall(rb"HTTP/1\.1 (\d{3})", reply)]
    assert statuses == [*[200] * count, 501 if bad.startswith(b"CONNECT") else 400]


def test_early_error_with_an_unread_body_closes_the_connection(api):
    request = b"DELETE /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n"
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    reply = api.raw(request + smuggled)

    assert reply.count(b"HTTP/1.1 ") == 1


def test_slow_clients_are_disconnected_and_others_are_served(harness):
    with running(harness.store, head_timeout_s=3, keep_alive_s=3, send_timeout_s=3) as api:
        silent, headless, bodiless, idle, deaf = (api.connect() for _ in range(5))
        headless.sendall(b"GET / HTTP/1.1\r\nHost: local")
        bodiless.sendall(
            b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9\r\n\r\n{"
        )
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request_bytes = f"GET /v1/content?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        deaf.sendall(request_bytes * 10)
        assert api.get("/healthz").status == 200

        replies = [read_all(sock) for sock in (silent, headless, bodiless, idle)]
        wait_until(lambda: not api.server.server_state.connections)
        for sock in (silent, headless, bodiless, idle, deaf):
            sock.close()

    assert [status(reply) for reply in replies] == [408, 408, 408, 200]


def test_dripping_header_is_cut_off(harness):
    with running(harness.store, head_timeout_s=0.3) as api, api.connect() as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n")
        reply, sock_open = b"", True
        sock.settimeout(0.02)
        while sock_open:
            try:
                sock.sendall(b"X: y\r\n")
                reply += sock.recv(1000)
                sock_open = not reply
            except TimeoutError:
                continue
            except OSError:
                sock_open = False

    assert status(reply) in (408, None)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8100", 200),
        ("127.0.0.1", 200),
        ("[::1]:8100", 200),
        ("api.example.com", 200),
        ("x.team.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil.example:8100", 421),
        ("notteam.example", 421),
        ("", 421),
    ],
)
def test_foreign_host_name_is_refused(harness, host, expected):
    with running(harness.store, allowed_hosts=("api.example.com", ".team.example")) as api:
        response = api.get(f"/v1/urls?url={A}", Host=host)

    assert response.status == expected


def test_port_in_use_is_an_error_even_with_reuseport():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"serving.http_port: .*:{port}.*in use"):
            listen(ServingSettings(http_port=port))


def test_request_in_progress_is_answered_while_the_server_stops(harness):
    with running(harness.store) as api, api.connect() as poll:
        poll.sendall(
            b"GET /v1/changes?cursor=now&wait_ms=30000 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        wait_until(lambda: api.server.server_state.tasks)
        api.server.handle_exit(15, None)
        reply = read_all(poll)

    assert reply.startswith(b"HTTP/1.1 200")
    assert orjson.loads(reply.partition(b"\r\n\r\n")[2])["changes"] == []


def test_garbage_after_a_queued_request_waits_for_the_one_in_progress(caplog):
    """The application of that request wrote to the closed connection, which was logged as a bug."""
    harness = store_harness(MemoryTables())
    entered, release = threading.Event(), threading.Event()

    class Slow:
        formats = harness.store.formats

        def __getattr__(self, name):
            entered.set()
            assert release.wait(60)
            return getattr(harness.store, name)

    line = f"GET /v1/aliases?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running(Slow()) as api, api.connect() as sock:
        sock.sendall(line.encode())
        assert entered.wait(60)
        sock.sendall(f"{line}garbage\r\n\r\n".encode())
        assert api.get("/healthz").status == 200
        release.set()
        reply = read_all(sock)

    assert re.findall(rb"HTTP/1\.1 (\d{3})", reply) == [b"200", b"200", b"400"]
    assert "Traceback" not in caplog.text
