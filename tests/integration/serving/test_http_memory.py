"""
Clients that send incomplete bodies or read no responses use a limited amount of memory together.
"""

import contextlib
import socket

import orjson
import pytest

from aragog.api.operations.large_reads import ReadTooLarge
from aragog.api.operations.scopes import READ
from aragog.api.operations.store_reads import unhedged
from aragog.api.server.http.record_reads import read_hedged
from aragog.api.server.memory import UNCOUNTED_BYTES
from aragog.api.server.tokens import new_token
from aragog.client import connect
from aragog.errors import TransientError
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support import thrift_server
from tests.support.api_server import parsed, read_all, read_one, running
from tests.support.stores import NOW_MS, store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A, BIG, SMALL = "http://a.example/", "http://big.example/", "http://small.example/"
HOST = "HTTP/1.1\r\nHost: localhost\r\n"
JSON = "Content-Type: application/json\r\n"
BATCH = orjson.dumps({"urls": [BIG], "fields": [f"team.f{n}" for n in range(12)]})
LARGE = {
    "a plain read": f"GET /v1/urls?url={BIG}&include= {HOST}\r\n".encode(),
    "a read": f"GET /v1/urls?url={BIG} {HOST}\r\n".encode(),
    "a batch": f"POST /v1/urls:batchGet {HOST}{JSON}Content-Length: {len(BATCH)}\r\n\r\n".encode()
    + BATCH,
    "a content": f"GET /v1/content?url={BIG} {HOST}\r\n".encode(),
}
"""Requests with 12 MB responses."""


@pytest.fixture(scope="module")
def store():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})
    harness.store.put(BIG, {f"team.f{n}": b'"%b"' % (b"x" * 1_000_000) for n in range(12)})
    harness.store.put(SMALL, {"team.a": b'"%b"' % (b"x" * 60_000)})
    harness.store.put_content(BIG, b"x" * 12_000_000, {"content_type": "text/plain"})
    return harness.store


def unfinished(size, headers=""):
    """A request whose body lacks its last ten bytes."""
    head = f"POST /v1/urls:batchGet {HOST}{JSON}{headers}Content-Length: {size}\r\n\r\n"
    return head.encode() + b" " * (size - 10)


def answered(socks):
    """The statuses of the sockets that have received a response."""
    statuses = []
    for sock in socks:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            statuses.append(int(sock.recv(100, socket.MSG_PEEK).split()[1]))
        sock.settimeout(60)
    return statuses


def test_unfinished_bodies_share_a_memory_limit(store):
    with running(store, max_request_memory_bytes=250_000, head_timeout_s=60) as api:
        socks = [api.connect() for _ in range(10)]
        for sock in socks:
            sock.sendall(unfinished(100_000))
        wait_until(lambda: len(answered(socks)) == 8, otherwise="eight requests are refused")
        held = api.api.bodies.held_bytes
        finished = [sock for sock in socks if not answered([sock])]
        for sock in finished:
            sock.sendall(b" " * 10)
        replies = [read_one(sock).status for sock in finished]
        refused = [parsed(read_all(sock)) for sock in socks if sock not in finished]
        for sock in socks:
            sock.close()

        assert held <= 250_000
        assert replies == [400, 400]
        assert [reply.status for reply in refused] == [503] * 8
        assert {reply.headers["retry-after"] for reply in refused} == {"1"}
        assert api.api.bodies.held_bytes == 0
        assert api.ask("POST", "/v1/urls:batchGet", {"urls": [A]}).status == 200


def test_unfinished_body_frees_its_memory_when_its_client_disconnects(store):
    with running(store, max_request_memory_bytes=250_000, head_timeout_s=60) as api:
        with api.connect() as sock:
            sock.sendall(unfinished(100_000))
            wait_until(lambda: api.api.bodies.held_bytes == 99_990, otherwise="it is counted")
        wait_until(lambda: api.api.bodies.held_bytes == 0, otherwise="its memory is freed")
        assert api.get("/healthz").status == 200


def test_body_is_not_stored_before_its_token_is_checked(store):
    """Anybody who could reach the port could fill the memory."""
    _, entry = new_token("reader", [READ])
    with running(store, tokens=(entry,), max_request_memory_bytes=1, head_timeout_s=60) as api:
        guess = api.connect()
        guess.sendall(unfinished(1_000_000, "Authorization: Bearer aragog_guess\r\n"))
        guess.sendall(b" " * 10)
        refused = read_one(guess)
        guess.sendall(f"GET /healthz {HOST}\r\n".encode())
        after = read_one(guess)
        guess.close()

    assert refused.status == 401
    assert after.status == 200, "the connection stays usable after the body"


def test_form_is_limited_because_it_contains_the_token(store):
    _, entry = new_token("reader", [READ])
    with running(store, tokens=(entry,)) as api:
        reply = api.ask("POST", "/", b"url=" + b"x" * 100_000)

    assert reply.status == 413


def test_client_that_expects_100_continue_is_refused_before_its_body(store):
    _, entry = new_token("reader", [READ])
    with running(store, tokens=(entry,)) as api, api.connect() as sock:
        head = (
            f"POST /v1/urls:batchGet {HOST}{JSON}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        )
        sock.sendall(head.encode())
        reply = parsed(read_all(sock))

    assert (reply.status, reply.headers["connection"]) == (401, "close")


@pytest.mark.parametrize("request_", LARGE.values(), ids=LARGE)
def test_unread_responses_share_a_memory_limit(store, request_):
    with running(store, max_response_memory_bytes=30_000_000, send_timeout_s=60) as api:
        socks = [api.connect(receive_bytes=65_536) for _ in range(8)]
        for sock in socks:
            sock.sendall(request_)
        wait_until(lambda: len(answered(socks)) == 8, otherwise="all are answered")
        statuses, held = answered(socks), api.api.unsent.held_bytes
        small = api.get_fast(f"/v1/urls?url={A}&include=").status
        readers = [sock for sock in socks if answered([sock]) == [200]]
        bodies = [len(read_one(sock).body) for sock in readers]
        wait_until(
            lambda: api.api.unsent.held_bytes == 0,
            otherwise="the memory of read responses is freed",
        )
        again = api.connect()
        again.sendall(request_)
        status = read_one(again).status
        for sock in (*socks, again):
            sock.close()

    # A batch response is built from copies of its records, which are counted too.
    fit = 1 if request_ is LARGE["a batch"] else 2
    assert sorted(statuses) == [200] * fit + [503] * (8 - fit)
    assert 12_000_000 <= held <= 30_000_000
    assert small == 200, "small responses need no free memory"
    assert all(size >= 12_000_000 for size in bodies)
    assert status == 200


@pytest.mark.parametrize("request_", LARGE.values(), ids=LARGE)
def test_unread_response_frees_its_memory_when_its_client_disconnects(store, request_):
    with running(store, send_timeout_s=60) as api:
        with api.connect(receive_bytes=65_536) as sock:
            sock.sendall(request_)
            wait_until(lambda: api.api.unsent.held_bytes > 0, otherwise="it is counted")
        wait_until(lambda: api.api.unsent.held_bytes == 0, otherwise="its memory is freed")
        assert api.get("/healthz").status == 200


@pytest.mark.parametrize("fields", [None, tuple(f"team.f{n}" for n in range(12))])
def test_responses_with_one_record_are_counted_while_built(store, fields):
    """64 readers of a 12 MB record all had their responses built before any was counted."""
    read = unhedged(store)

    with pytest.raises(ReadTooLarge):
        read_hedged(read, [BIG] * 4, fields)
    (alone,) = read_hedged(read, [BIG], fields)

    assert len(alone.data) > 12_000_000


def test_contents_over_the_limit_are_released_before_their_responses_are_built(store):
    limit = 30_000_000
    with running(store, max_response_memory_bytes=limit, send_timeout_s=60) as api:
        socks = [api.connect(receive_bytes=65_536) for _ in range(8)]
        for sock in socks:
            sock.sendall(LARGE["a content"])
        most = 0
        while len(answered(socks)) < 8:
            most = max(most, api.api.unsent.held_bytes)
        for sock in socks:
            sock.close()

    assert most <= limit


class Noting(MemoryContent):
    """Records which objects are read."""

    def __init__(self):
        super().__init__()
        self.reads = []

    def get(self, key):
        self.reads.append(key)
        return super().get(key)


@pytest.mark.parametrize("range_", [b"", b"Range: bytes=0-5000000\r\n"])
def test_contents_are_counted_before_they_are_read(range_):
    """Contents waited uncounted for the event loop, as many as clients requested."""
    content = Noting()
    store = UrlStore(MemoryTables(), content, StoreSettings(), ManualClock(NOW_MS))
    store.put_content(BIG, b"x" * 12_000_000)
    asked = LARGE["a content"].replace(b"localhost\r\n", b"localhost\r\n" + range_)
    with running(store, max_response_memory_bytes=11_000_000, send_timeout_s=60) as api:
        with api.connect() as sock:
            sock.sendall(asked)
            reply = read_one(sock)
        held = api.api.unsent.held_bytes

    assert (reply.status, content.reads, held) == (503, [], 0)


def test_http_and_thrift_share_the_limit_of_unread_responses(store):
    """Each had its own: 765 MB over HTTP and 878 MB over Thrift with a limit of 400."""
    limit = 30_000_000
    with running(store, max_response_memory_bytes=limit, send_timeout_s=60) as api:
        unsent = api.api.unsent
        with thrift_server.running(store, send_timeout_s=60, replies=unsent) as thrift:
            deaf = [api.connect(receive_bytes=65_536) for _ in range(2)]
            for sock in deaf:
                sock.sendall(LARGE["a plain read"])
            wait_until(lambda: len(answered(deaf)) == 2, otherwise="both are answered")
            assert answered(deaf) == [200, 200]
            with connect(f"thrift://127.0.0.1:{thrift.port}", deadline_s=1) as client:
                with pytest.raises(TransientError, match="too much memory is in use"):
                    client.get(BIG)
                assert unsent.held_bytes <= limit
                for sock in deaf:
                    sock.close()
                wait_until(lambda: unsent.held_bytes == 0, otherwise="they are gone")
                assert len(client.get(BIG).fields) == 12


READ_SMALL = f"GET /v1/urls?url={SMALL}&include= {HOST}\r\n".encode()
GET_SMALL = b"".join(
    [b"\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x07\x0b\x00\x01",
     len(SMALL).to_bytes(4), SMALL.encode(), b"\x00"]
)  # fmt: skip
CALL_SMALL = len(GET_SMALL).to_bytes(4) + GET_SMALL


class SlowClients:
    """Clients of one server that send requests and read nothing."""

    def __init__(self, port, connections, request):
        self.socks, self.connections, self._request = [], connections, request
        for _ in range(40):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(60)
            sock.connect(("127.0.0.1", port))
            self.socks.append(sock)
        wait_until(lambda: len(connections()) == 40, otherwise="all are connected")
        for each in connections():  # unread data stays in the process, not in the kernel
            each.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    def ask(self):
        for sock in self.socks:
            with contextlib.suppress(OSError):  # it was disconnected
                sock.sendall(self._request * 8)

    def left(self):
        return len(self.connections())

    def unread_bytes(self):
        return sum(each.get_write_buffer_size() for each in self.connections())

    def close(self):
        for sock in self.socks:
            sock.close()


def test_clients_that_never_read_small_responses_are_disconnected(store):
    """
    Each response was too small to be counted, and the data in the buffers was not counted either.
    """
    limit, clients = 1_500_000, 80
    with running(
        store, max_response_memory_bytes=limit, max_connections_per_address=0, send_timeout_s=60
    ) as api, thrift_server.running(
        store, replies=api.api.unsent, max_connections_per_address=0, send_timeout_s=60
    ) as thrift:  # fmt: skip
        over_http = SlowClients(
            api.port,
            lambda: [c.transport for c in list(api.server.server_state.connections)],
            READ_SMALL,
        )
        over_thrift = SlowClients(
            thrift.port, lambda: [c._transport for c in list(thrift.server._connections)],
            CALL_SMALL,
        )  # fmt: skip
        doors = (over_http, over_thrift)
        for door in doors:
            door.ask()
        wait_until(
            lambda: (
                all(door.unread_bytes() > UNCOUNTED_BYTES * door.left() for door in doors)
                or sum(door.left() for door in doors) < clients / 2
            ),
            otherwise="the buffers are full, or clients are gone",
        )
        settled = -1
        while settled != (settled := sum(door.unread_bytes() for door in doors)):
            api.get("/healthz")
        left = sum(door.left() for door in doors)
        read = len(api.get_fast(f"/v1/urls?url={SMALL}&include=").body)
        for door in doors:
            door.close()
        wait_until(lambda: api.api.unsent.held_bytes == 0, otherwise="its memory is freed")

    assert settled <= limit + clients * UNCOUNTED_BYTES
    assert left < clients / 2
    assert read > 60_000, "clients that read are served"
