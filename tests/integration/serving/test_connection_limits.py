"""Silent clients take no connections away from others, over HTTP and Thrift."""

import threading

import pytest

from aragog.runtime.clock import ManualClock
from tests.support import api_server, thrift_server
from tests.support.api_server import parsed, read_all
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
GET = f"GET /v1/aliases?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PING = b"\x00\x00\x00\x11\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"
OTHER_HOST = "127.0.0.2"


class Gated:
    """A store whose reads wait until released."""

    def __init__(self, store):
        self._store = store
        self.formats = store.formats
        self.open = threading.Event()
        self.entered = 0

    def __getattr__(self, name):
        self.entered += 1
        assert self.open.wait(60)
        return getattr(self._store, name)


@pytest.fixture(scope="module")
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(A, {"team.a": b"1"})
    return a_store


@pytest.fixture(params=["http", "thrift"])
def serve(request, store):
    """Starts a server and provides a request for it."""

    def start(**options):
        running = api_server.running if request.param == "http" else thrift_server.running
        return running(store, head_timeout_s=60, keep_alive_s=60, **options)

    start.question = HEALTH if request.param == "http" else PING
    return start


def answers(sock, question):
    sock.sendall(question)
    return bool(sock.recv(1000))


def is_open(sock):
    """True if the server has not closed the connection."""
    sock.setblocking(False)
    try:
        return sock.recv(1000) != b""
    except BlockingIOError:
        return True
    finally:
        sock.settimeout(60)


def test_silent_clients_block_nobody(serve):
    """1,030 of them caused a 503 for everybody, for nine seconds."""
    with serve(max_connections=5) as server:
        silent = [server.connect() for _ in range(9)]
        with server.connect() as other:
            assert answers(other, serve.question)
        wait_until(lambda: sum(map(is_open, silent)) == 4, otherwise="the oldest are closed")
        assert all(is_open(sock) for sock in silent[-4:])
        for sock in silent:
            sock.close()


def test_client_that_stops_in_its_first_request_blocks_nobody(serve):
    with serve(max_connections=5) as server:
        slow = [server.connect() for _ in range(9)]
        for sock in slow:
            sock.sendall(serve.question[:10])
        with server.connect() as other:
            assert answers(other, serve.question)
        for sock in slow:
            sock.close()


def test_longest_idle_connection_is_closed(serve):
    with serve(max_connections=3) as server:
        first, second, third = (server.connect() for _ in range(3))
        assert all(answers(sock, serve.question) for sock in (second, third, first))
        with server.connect() as other:
            assert answers(other, serve.question)
            assert answers(first, serve.question)
            assert answers(third, serve.question)
            assert not is_open(second)
        for sock in (first, second, third):
            sock.close()


def test_one_address_cannot_take_all_connections(serve):
    with serve(max_connections=8, max_connections_per_address=4) as server:
        quiet = server.connect(OTHER_HOST)
        assert answers(quiet, serve.question)
        many = [server.connect() for _ in range(12)]
        assert answers(many[-1], serve.question)
        wait_until(lambda: sum(map(is_open, many)) == 4, otherwise="four are left")
        assert answers(quiet, serve.question), "the other address keeps its connection"
        for sock in (*many, quiet):
            sock.close()


def test_full_server_closes_a_connection_of_the_busiest_address(serve):
    with serve(max_connections=5) as server:
        quiet = server.connect(OTHER_HOST)
        assert answers(quiet, serve.question)
        many = [server.connect() for _ in range(9)]
        assert answers(many[-1], serve.question)
        assert answers(quiet, serve.question)
        for sock in (*many, quiet):
            sock.close()


def test_client_is_refused_if_all_connections_are_busy(store):
    gated = Gated(store)
    with api_server.running(gated, max_connections=2) as api:
        busy = [api.connect() for _ in range(2)]
        for count, sock in enumerate(busy, 1):
            sock.sendall(GET)
            wait_until(lambda count=count: gated.entered >= count, otherwise="it runs")
        with api.connect() as other:
            refused = parsed(read_all(other))
        gated.open.set()
        replies = [api_server.read_one(sock).status for sock in busy]
        for sock in busy:
            sock.close()
        wait_until(lambda: not api.server.server_state.connections)
        again = api.get("/healthz").status

    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert replies == [200, 200]
    assert again == 200


def test_server_behind_a_proxy_has_no_limit_per_address(store):
    with api_server.running(store, max_connections=6, max_connections_per_address=0) as api:
        socks = [api.connect() for _ in range(6)]
        assert all(answers(sock, HEALTH) for sock in socks)
        for sock in socks:
            sock.close()
