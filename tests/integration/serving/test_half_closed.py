"""
Clients that have closed their sending side (`nc -N`, shutdown) get their responses, over HTTP and
Thrift.
"""

import re
import socket
import threading

import pytest

from aragog.runtime.clock import ManualClock
from tests.support import api_server, thrift_server
from tests.support.api_server import read_all
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
READ = f"GET /v1/urls?url={A}&include= HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
ALIASES = f"GET /v1/aliases?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
BODY = b'{"fields": {"team.a": "2"}}'
WRITE = (
    f"PUT /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode() + BODY
STREAM = b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
GET_RECORD = (
    b"\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x07"
    b"\x0b\x00\x01" + len(A).to_bytes(4) + A.encode() + b"\x00"
)
FRAME = len(GET_RECORD).to_bytes(4) + GET_RECORD
PING = b"\x00\x00\x00\x11\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"


class Gated:
    """A store whose calls wait until released."""

    def __init__(self, store):
        self._store = store
        self.formats = store.formats
        self.open, self.entered = threading.Event(), threading.Event()

    def __getattr__(self, name):
        self.entered.set()
        assert self.open.wait(60)
        return getattr(self._store, name)


@pytest.fixture
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(A, {"team.a": b"1"})
    return a_store


def half_closed(server, data):
    """Everything a client receives that sends this and closes its sending side."""
    with server.connect() as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)


def statuses(reply):
    return [int(digits) for digits in re.findall(rb"HTTP/1\.1 (\d{3})", reply)]


@pytest.mark.parametrize(
    "data", [READ, READ * 3, ALIASES, ALIASES * 3, WRITE, WRITE + READ + ALIASES]
)
def test_half_closed_client_gets_its_responses(store, data):
    with api_server.running(store) as api:
        reply = half_closed(api, data)
        wait_until(lambda: not api.server.server_state.connections)

    assert statuses(reply) == [200] * data.count(b"HTTP/1.1")


@pytest.mark.parametrize("data", [READ, ALIASES])
def test_pending_response_is_sent_after_the_clients_end(store, data):
    gated = Gated(store)
    with api_server.running(gated) as api, api.connect() as sock:
        sock.sendall(data)
        assert gated.entered.wait(60)
        sock.shutdown(socket.SHUT_WR)
        assert api.get("/healthz").status == 200
        gated.open.set()
        reply = read_all(sock)

    assert statuses(reply) == [200]
    assert b"connection: close" in reply


def test_truncated_body_is_answered(store, caplog):
    with api_server.running(store) as api:
        assert statuses(half_closed(api, WRITE[:-1])) == [400]
        assert statuses(half_closed(api, ALIASES + WRITE[:-1])) == [200, 400]
        assert half_closed(api, ALIASES[:-1]) == b""
        assert half_closed(api, b"") == b""
        wait_until(lambda: not api.server.server_state.connections)

    assert "Traceback" not in caplog.text


def test_event_stream_ends_with_its_client(store, caplog):
    """A client that is gone looks the same as a half-closed one."""
    with api_server.running(store) as api:
        with api.connect() as sock:
            sock.sendall(STREAM)
            assert sock.recv(1000).startswith(b"HTTP/1.1 200")
            sock.shutdown(socket.SHUT_WR)
            read_all(sock)
        wait_until(lambda: not api.server.server_state.tasks)

    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("calls", [1, 2])
def test_half_closed_thrift_client_gets_its_replies(store, calls):
    gated = Gated(store)
    with thrift_server.running(gated) as server, server.connect() as sock:
        sock.sendall(FRAME)
        assert gated.entered.wait(60)
        sock.sendall(FRAME * (calls - 1))
        sock.shutdown(socket.SHUT_WR)
        with server.connect() as other:  # the end has arrived once another call is answered
            other.sendall(PING)
            assert other.recv(1000)
        gated.open.set()
        reply = read_all(sock)
        wait_until(lambda: server.server.connections == 0)

    assert reply.count(b"\x80\x01\x00\x02\x00\x00\x00\x03get") == calls
    assert len(reply) == calls * (4 + int.from_bytes(reply[:4]))
