"""Thrift clients share a limited amount of memory, and get less before they authenticate."""

import socket
import struct
from pathlib import Path

import pytest

from aragog.api.operations.scopes import READ
from aragog.api.server.memory import SMALL_BYTES
from aragog.api.server.thrift import wire
from aragog.api.server.tokens import new_token
from aragog.runtime.clock import ManualClock
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

URL, BIG = b"http://shop.example/", b"http://big.example/"
PING = b"\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"
PONG = b"\x80\x01\x00\x02\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"
BAD_INPUT, UNAUTHORIZED, UNAVAILABLE = b"\x0c\x00\x01", b"\x0c\x00\x04", b"\x0c\x00\x05"


def string(data):
    return struct.pack(">I", len(data)) + data


def message(name, arguments):
    return b"\x80\x01\x00\x01" + string(name) + b"\x00\x00\x00\x07" + arguments


def get(url, names=()):
    fields = b"\x0f\x00\x02\x0b" + struct.pack(">I", len(names)) + b"".join(map(string, names))
    return message(b"get", b"\x0b\x00\x01" + string(url) + fields + b"\x00")


LARGE_GET = get(URL, [b"x" * 199] * 1000)
"""A frame of 200 KB."""


def authenticate(token):
    return message(b"authenticate", b"\x0b\x00\x01" + string(token.encode()) + b"\x00")


def framed(data):
    return string(data)


def read(sock, size):
    data = b""
    try:
        while len(data) < size and (piece := sock.recv(size - len(data))):
            data += piece
    except ConnectionError:
        return b""
    return data


def read_frame(sock):
    """A reply; b"" at the end of the connection."""
    head = read(sock, 4)
    return read(sock, struct.unpack(">I", head)[0]) if head else b""


def exchange(sock, data):
    sock.sendall(framed(data))
    return read_frame(sock)


def result_of(reply):
    """The head of the value or exception in a reply."""
    return reply[wire.read_head(reply).arguments_offset :][:3]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture(scope="module")
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(URL.decode(), {"title": b"one"})
    a_store.put(BIG.decode(), {f"f{n}": b"x" * 1_000_000 for n in range(12)})
    return a_store


@pytest.fixture(scope="module")
def server(store):
    with running(store) as server:
        yield server


STRUCTS = {
    "jobs": (b"PinLater:enqueue", b"\x0b\x00\x01" + string(b"q") + b"\x0f\x00\x02\x0c", b"\x00"),
    "links": (b"addLinks", b"\x0b\x00\x01" + string(URL) + b"\x0f\x00\x02\x0c", b"\x00"),
    "fields": (b"put", b"\x0b\x00\x01" + string(URL) + b"\x0d\x00\x02\x0b\x0b", b"\0\0\0\0" * 2),
    "urls": (b"getMany", b"\x0f\x00\x01\x0b", b"\0\0\0\0"),
    "unknown": (b"get", b"\x0b\x00\x01" + string(URL) + b"\x0f\x00\x63\x0c", b"\x00"),
}


@pytest.mark.parametrize(("name", "begin", "item"), STRUCTS.values(), ids=STRUCTS)
def test_list_is_limited_before_it_is_decoded(server, name, begin, item):
    """Four frames of 4 MiB, each with a list of empty structs, took 2 GB."""
    count = 4_000_000 // len(item)
    call = message(name, begin + struct.pack(">I", count) + item * count + b"\x00")
    before = resident_bytes()
    with server.connect() as sock:
        reply = exchange(sock, call)
        grown = resident_bytes() - before
        assert exchange(sock, PING) == PONG

    assert result_of(reply) == BAD_INPUT
    assert b"at most 1000 items, got %d" % count in reply
    assert grown < 60_000_000


def test_items_of_nested_lists_share_a_limit(server):
    inner = b"\x0c" + struct.pack(">I", 1000) + b"\x00" * 1000
    lists = b"\x0f" + struct.pack(">I", 1000) + inner * 1000
    with server.connect() as sock:
        reply = exchange(sock, message(b"get", b"\x0f\x00\x63" + lists + b"\x00"))

    assert wire.read_head(reply).kind == 3
    assert b"more than 20000 fields and items" in reply


def test_announced_frames_take_no_memory_from_others(store):
    """64 clients that announced 4 MiB used up the memory for everybody's replies."""
    with running(store, max_request_memory_bytes=300_000, head_timeout_s=60) as server:
        silent = [server.connect() for _ in range(20)]
        for sock in silent:
            sock.sendall(struct.pack(">I", 4 << 20) + b"begin")
        with server.connect() as sock:
            assert result_of(exchange(sock, LARGE_GET)) == b"\x0c\x00\x00"
        assert server.server.requests.held_bytes == 0
        for sock in silent:
            sock.close()


def test_large_frames_are_counted_as_they_arrive(store):
    with running(store, max_request_memory_bytes=300_000, head_timeout_s=60) as server:
        slow, other = server.connect(), server.connect()
        slow.sendall(framed(LARGE_GET)[:-10])
        wait_until(lambda: server.server.requests.held_bytes > 200_000, otherwise="it is counted")
        refused = exchange(other, LARGE_GET)
        end = read_frame(other)
        with server.connect() as third:
            small = exchange(third, get(URL))
        slow.sendall(framed(LARGE_GET)[-10:])
        answered = read_frame(slow)
        wait_until(lambda: server.server.requests.held_bytes == 0, otherwise="its memory is freed")
        slow.close()
        other.close()

    assert result_of(refused) == UNAVAILABLE
    assert end == b""
    assert result_of(small) == b"\x0c\x00\x00", "small frames need no free memory"
    assert result_of(answered) == b"\x0c\x00\x00"


def test_frame_frees_its_memory_when_its_client_disconnects(store):
    with running(store, head_timeout_s=60) as server:
        with server.connect() as sock:
            sock.sendall(framed(LARGE_GET)[:-10])
            wait_until(lambda: server.server.requests.held_bytes > 0, otherwise="it is counted")
        wait_until(lambda: server.server.requests.held_bytes == 0, otherwise="its memory is freed")
        with server.connect() as other:
            assert exchange(other, PING) == PONG


def test_frames_are_limited_before_authenticate(store):
    token, entry = new_token("reader", [READ])
    with running(store, tokens=(entry,), head_timeout_s=60) as server:
        with server.connect() as stranger:
            refused = exchange(stranger, LARGE_GET)
            end = read_frame(stranger)
            held = server.server.requests.held_bytes
        with server.connect() as client:
            assert result_of(exchange(client, get(URL, [b"x"] * 1000))) == UNAUTHORIZED
            exchange(client, authenticate(token))
            accepted = exchange(client, LARGE_GET)
        with server.connect() as hasty:  # it does not wait for the reply to `authenticate`
            hasty.sendall(framed(PING) + framed(authenticate(token)) + framed(LARGE_GET))
            replies = [read_frame(hasty) for _ in range(3)]

    assert len(LARGE_GET) > SMALL_BYTES
    assert (result_of(refused), end, held) == (UNAUTHORIZED, b"", 0)
    assert result_of(accepted) == b"\x0c\x00\x00"
    assert result_of(replies[2]) == b"\x0c\x00\x00"


def deaf(server):
    """A connection with a small receive buffer."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    sock.settimeout(60)
    sock.connect(("127.0.0.1", server.port))
    return sock


def test_unread_replies_share_a_limit_and_leave_memory_for_frames(store):
    with running(
        store,
        max_request_memory_bytes=300_000,
        max_response_memory_bytes=30_000_000,
        send_timeout_s=60,
    ) as server:
        socks = [deaf(server) for _ in range(6)]
        for sock in socks:
            sock.sendall(framed(get(BIG)))
        wait_until(lambda: sum(server.server.calls.values()) == 6, otherwise="all are answered")
        held, calls = server.server.replies.held_bytes, dict(server.server.calls)
        with server.connect() as other:
            large_frame, small = exchange(other, LARGE_GET), exchange(other, get(URL))
        sizes = sorted(len(read_frame(sock)) for sock in socks)
        wait_until(lambda: server.server.replies.held_bytes == 0, otherwise="its memory is freed")
        for sock in socks:
            sock.close()

    assert calls == {("get", "ok"): 2, ("get", "Unavailable"): 4}
    assert 24_000_000 <= held <= 30_000_000
    assert result_of(large_frame) == result_of(small) == b"\x0c\x00\x00"
    assert max(sizes[:4]) < 1000
    assert min(sizes[4:]) > 12_000_000


def test_unread_reply_frees_its_memory_when_its_client_disconnects(store):
    with running(store, send_timeout_s=60) as server:
        with deaf(server) as sock:
            sock.sendall(framed(get(BIG)))
            wait_until(lambda: server.server.replies.held_bytes > 0, otherwise="it is counted")
        wait_until(lambda: server.server.replies.held_bytes == 0, otherwise="its memory is freed")
        with server.connect() as other:
            assert exchange(other, PING) == PONG
