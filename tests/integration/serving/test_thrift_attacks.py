"""
Invalid input, slow clients, limits and shutdown: the server responds or disconnects, and continues.
"""

import asyncio
import socket
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from aragog.api.server.listener import thrift_sockets
from aragog.api.server.thrift import wire
from aragog.api.server.thrift.contract import idl
from aragog.api.server.tokens import new_token
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import ServingSettings
from tests.reports.doors.thrift_servers import answer
from tests.support.examples import examples
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

URL = "http://shop.example/"
PING = b"\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"
PONG = b"\x80\x01\x00\x02\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"


def framed(data):
    return struct.pack(">I", len(data)) + data


def message(name, arguments, *, kind=1, number=7):
    return (
        struct.pack(">II", 0x80010000 | kind, len(name))
        + name
        + struct.pack(">i", number)
        + arguments
    )


def read_frame(sock):
    """A reply; b"" at the end of the connection."""
    head = read(sock, 4)
    return read(sock, struct.unpack(">I", head)[0]) if head else b""


def read(sock, size):
    data = b""
    try:
        while len(data) < size and (piece := sock.recv(size - len(data))):
            data += piece
    except ConnectionError:
        return b""
    return data


def exchange(sock, data):
    sock.sendall(framed(data))
    return read_frame(sock)


def refusal(reply):
    """The code of a TApplicationException."""
    head = wire.read_head(reply)
    assert head.kind == 3
    assert head.sequence_id == b"\0\0\0\7"
    assert reply[-8:-5] == b"\x08\x00\x02"
    return struct.unpack(">i", reply[-5:-1])[0]


@pytest.fixture(scope="module")
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(URL, {"title": b"one"})
    return a_store


@pytest.fixture(scope="module")
def server(store):
    with running(store) as server:
        yield server


@pytest.fixture
def sock(server):
    with server.connect() as sock:
        yield sock
    with server.connect() as other:  # after every test, others must be served
        assert exchange(other, PING) == PONG


def test_ping_is_answered(sock):
    assert exchange(sock, PING) == PONG


@pytest.mark.parametrize(
    "name",
    [
        b"nothing",
        b"",
        b"Nobody:get",
        b"UrlStore:nothing",
        b"\xff\xfe",
        b"Nobody:ping",
        b":ping",
        b"x" * 5000,
    ],
)
def test_unknown_method_is_an_error_and_the_connection_stays(sock, name):
    assert refusal(exchange(sock, message(name, b"\x00"))) == wire.UNKNOWN_METHOD
    assert exchange(sock, PING) == PONG


@pytest.mark.parametrize("kind", [0, 2, 3, 255])
def test_message_that_is_not_a_call_is_an_error(sock, kind):
    assert refusal(exchange(sock, message(b"get", b"\x00", kind=kind))) == wire.INVALID_MESSAGE_TYPE


STRING = b"\x0b\x00\x01\x00\x00\x00\x03abc"
HUGE = b"\x7f\xff\xff\xff"


@pytest.mark.parametrize(
    "arguments",
    [
        b"",
        b"\x0b",
        STRING,
        STRING[:-1] + b"\x00",
        b"\x0b\x00\x01\xff\xff\xff\xff\x00",
        b"\x0f\x00\x01\x0b" + HUGE + b"\x00",
        b"\x0f\x00\x01\x0b\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x09b\x00",
        b"\x0b\x00\x01" + HUGE + b"\x00",
        STRING + b"\x0f\x00\x02\x0b" + HUGE + b"\x00",
        STRING + b"\x0f\x00\x02\x00" + HUGE + b"\x00",
        STRING + b"\x0f\x00\x02\x01" + HUGE + b"\x00",
        STRING + b"\x0d\x00\x02\x00\x00" + HUGE + b"\x00",
        STRING + b"\x0f\x00\x09\x0f" + HUGE + b"\x00",
        STRING + b"\x0c\x00\x03" * 60 + b"\x00" * 61,
        STRING + b"\x0f\x00\x02" + b"\x0f\x00\x00\x00\x01" * 60 + b"\x00",
        STRING + b"\x63\x00\x02\x00",
        STRING + b"\x00" + b"more",
        STRING + b"\x0f\x00\x02\x0b\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe\x00",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [b"get", b"getMany"])
def test_damaged_arguments_are_an_error_and_the_connection_stays(sock, name, arguments):
    assert refusal(exchange(sock, message(name, arguments))) == wire.PROTOCOL_ERROR
    assert exchange(sock, PING) == PONG


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (b"get", b"\x0b\x00\x01\x00\x00\x00\x02\xff\xfe\x00"),
        (b"getMany", b"\x0f\x00\x01\x0b\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe\x00"),
    ],
)
def test_url_that_is_not_utf_8_is_an_error(sock, name, arguments):
    assert refusal(exchange(sock, message(name, arguments))) == wire.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "arguments",
    [b"\x00", b"\x08\x00\x01\x00\x00\x00\x01\x00", b"\x0f\x00\x01\x08\x00\x00\x00\x00\x00"],
)
@pytest.mark.parametrize(
    "name",
    [
        b"get",
        b"put",
        b"addLinks",
        b"watch",
        b"content",
        b"outlinks",
        b"PinLater:ack",
        b"Fetcher:enqueue",
    ],
)
def test_missing_arguments_are_bad_input(sock, name, arguments):
    reply = exchange(sock, message(name, arguments))

    assert wire.read_head(reply).kind == 2
    assert reply[-len(b"\x00\x00") :] == b"\x00\x00"
    assert b"\x0c\x00\x01\x0b\x00\x01" in reply


def test_missing_list_is_bad_input(sock):
    assert b"urls: is required" in exchange(sock, message(b"getMany", b"\x00"))


@pytest.mark.parametrize(
    "head",
    [
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\x00\x40\x00\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_frame_of_an_impossible_size_closes_the_connection(sock, head):
    sock.sendall(head + b"x" * 100)

    assert read_frame(sock) == b""


@pytest.mark.parametrize(
    "frame",
    [
        b"x",
        b"x" * 12,
        b"\x80\x02\x00\x01" + b"\x00" * 20,
        b"\x80\x01\x00\x01\xff\xff\xff\xff" + b"\x00" * 20,
        b"\x00\x00\x00\x04ping\x01\x00\x00\x00\x07\x00",
    ],
)
def test_frame_that_is_not_a_message_closes_the_connection(sock, frame):
    assert exchange(sock, frame) == b""


def test_split_and_joined_frames_are_answered_in_order(sock):
    pings = b"".join(framed(PING[:12] + struct.pack(">i", n) + b"\x00") for n in range(500))
    for byte in pings[:40]:
        sock.sendall(bytes([byte]))
    sock.sendall(pings[40:])

    numbers = [struct.unpack(">i", read_frame(sock)[12:16])[0] for _ in range(500)]

    assert numbers == list(range(500))


@examples(100)
@given(st.lists(st.binary(max_size=60), max_size=5))
def test_random_bytes_do_not_affect_other_clients(server, pieces):
    with server.connect() as sock:
        try:
            for piece in pieces:
                sock.sendall(piece)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65_536):
                pass
        except OSError:
            pass  # the server has disconnected
    with server.connect() as other:
        assert exchange(other, PING) == PONG


METHODS = [
    b"get",
    b"getMany",
    b"put",
    b"UrlStore:addLinks",
    b"content",
    b"authenticate",
    b"PinLater:nack",
    b"Fetcher:enqueue",
]
FIELD = st.builds(lambda kind, number, body: bytes([kind]) + struct.pack(">h", number) + body,
                  st.sampled_from([2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 0, 1, 99]), st.integers(-2, 6),
                  st.one_of(st.binary(max_size=12), st.builds(lambda b: struct.pack(">I", len(b)) + b, st.binary(max_size=20))))  # fmt: skip


@examples(200)
@given(st.sampled_from(METHODS), st.lists(FIELD, max_size=4), st.sampled_from([b"", b"\x00"]))
def test_random_arguments_get_one_reply_each(server, name, fields, end):
    with server.connect() as sock:
        reply = exchange(sock, message(name, b"".join(fields) + end))
        assert wire.read_head(reply).kind in (2, 3)
        assert exchange(sock, PING) == PONG


def test_client_that_stops_within_a_frame_is_disconnected(store):
    with running(store, head_timeout_s=2) as server, server.connect() as slow:
        slow.sendall(b"\x00\x00\x01\x00half")
        assert read_frame(slow) == b""
        with server.connect() as other:
            assert exchange(other, PING) == PONG


def test_silent_client_is_disconnected(store):
    with running(store, keep_alive_s=0.2) as server, server.connect() as idle:
        assert read_frame(idle) == b""


def test_client_that_does_not_read_is_disconnected_and_holds_one_reply(store):
    store.put("http://big.example/", {f"f{n}": b"x" * 1_000_000 for n in range(9)})
    call = framed(message(b"get", b"\x0b\x00\x01\x00\x00\x00\x13http://big.example/\x00"))
    with running(store, send_timeout_s=0.5) as server, server.connect() as deaf:
        deaf.sendall(call * 50)
        with server.connect() as other:
            assert exchange(other, PING) == PONG
        wait_until(
            lambda: server.server.connections == 0,
            otherwise="the client that does not read is disconnected",
        )
        assert server.server.calls["get", "ok"] < 5


class Gated:
    """A store whose reads wait until released."""

    def __init__(self):
        self.open = threading.Event()
        self.entered = 0
        self.takedowns = SimpleNamespace(refused=lambda _: set())

    def get(self, url, fields):
        self.entered += 1
        assert self.open.wait(60)


GET = message(b"get", b"\x0b\x00\x01\x00\x00\x00\x14http://shop.example/\x00")
NOT_FOUND = b"\x0c\x00\x02"
UNAVAILABLE = b"\x0c\x00\x05"
LATE = b"\x0c\x00\x06"
AT = 15


def test_hung_call_is_answered_at_its_deadline_and_delays_no_other(store):
    gated = Gated()
    with running(gated, deadline_ms=2000) as server, server.connect() as hangs:
        assert exchange(hangs, GET)[AT : AT + 3] == LATE
        assert exchange(hangs, PING) == PONG
        assert server.server.running_calls == 1
        gated.open.set()
        wait_until(lambda: server.server.running_calls == 0, otherwise="the call has returned")
        assert exchange(hangs, GET)[AT : AT + 3] == NOT_FOUND


def test_earlier_deadline_of_the_caller_applies(store):
    gated = Gated()
    options = b"\x0c\x00\x03\x08\x00\x01" + struct.pack(">i", 50) + b"\x00"
    with running(gated, deadline_ms=60_000) as server, server.connect() as sock:
        reply = exchange(sock, GET[:-1] + options + b"\x00")
        gated.open.set()
    assert reply[AT : AT + 3] == LATE


def test_deadline_applies_to_calls_that_no_thread_has_started(store):
    gated = Gated()
    options = b"\x0c\x00\x03\x08\x00\x01" + struct.pack(">i", 50) + b"\x00"
    with (
        running(gated, threads=1, deadline_ms=20_000) as server,
        server.connect() as hangs,
        server.connect() as waits,
    ):
        hangs.sendall(framed(GET))
        wait_until(lambda: gated.entered == 1, otherwise="the only thread hangs")
        reply = exchange(waits, GET[:-1] + options + b"\x00")
        entered = gated.entered
        gated.open.set()
        assert read_frame(hangs)[AT : AT + 3] == NOT_FOUND
    assert (reply[AT : AT + 3], entered) == (LATE, 1)


def test_other_threads_help_when_one_hangs(store):
    """On an embedded store, one thread takes all calls as long as it completes some."""
    gated = Gated()
    with running(gated, threads=3) as server:
        socks = [server.connect() for _ in range(3)]
        for sock in socks:
            sock.sendall(framed(GET))
        wait_until(lambda: gated.entered == 3, otherwise="every call runs")
        gated.open.set()
        assert all(read_frame(sock)[AT : AT + 3] == NOT_FOUND for sock in socks)
        for sock in socks:
            sock.close()


def test_calls_over_the_limit_are_refused_at_once(store):
    gated = Gated()
    with running(gated, max_in_flight=2, threads=4) as server:
        socks = [server.connect() for _ in range(3)]
        for n, sock in enumerate(socks[:2], 1):
            sock.sendall(framed(GET))
            wait_until(lambda n=n: gated.entered == n, otherwise="it runs")
        assert exchange(socks[2], GET)[AT : AT + 3] == UNAVAILABLE
        assert exchange(socks[2], PING) == PONG
        gated.open.set()
        assert all(read_frame(sock)[AT : AT + 3] == NOT_FOUND for sock in socks[:2])
        for sock in socks:
            sock.close()


def test_hung_calls_of_one_kind_do_not_block_another_kind(store):
    gated = Gated()
    gated.content = lambda url, *_, **__: gated.get(url, ())
    content = message(b"content", b"\x0b\x00\x01\x00\x00\x00\x14http://shop.example/\x00")
    with running(gated, max_in_flight=2) as server:
        socks = [server.connect() for _ in range(4)]
        for n, sock in enumerate(socks[:2], 1):
            sock.sendall(framed(content))
            wait_until(lambda n=n: gated.entered == n, otherwise="it runs")
        assert exchange(socks[2], content)[AT + 4 : AT + 7] == UNAVAILABLE
        socks[3].sendall(framed(GET))
        wait_until(lambda: gated.entered == 3, otherwise="the read runs")
        gated.open.set()
        assert read_frame(socks[3])[AT : AT + 3] == NOT_FOUND
        for sock in socks:
            sock.close()


def test_drain_answers_running_calls_refuses_new_ones_and_closes_the_rest(store):
    gated = Gated()
    with running(gated) as server, server.connect() as idle, server.connect() as busy:
        assert exchange(idle, PING) == PONG
        busy.sendall(framed(GET) * 2)
        wait_until(lambda: gated.entered == 1, otherwise="it runs")
        stopping = threading.Thread(target=server.drain)
        stopping.start()
        assert read_frame(idle) == b""
        gated.open.set()
        assert read_frame(busy)[AT : AT + 3] == NOT_FOUND
        assert read_frame(busy)[AT : AT + 3] == UNAVAILABLE
        assert read_frame(busy) == b""
        assert gated.entered == 1
        stopping.join(60)
        with pytest.raises(ConnectionError):
            server.connect()


def test_unaccepted_connection_is_answered_when_the_server_stops(store):
    with running(store) as server:
        sock = socket.socket()

        async def stop():
            sock.connect(("127.0.0.1", server.port))  # the event loop accepts after this step
            sock.sendall(framed(GET))
            await server.server.drain()

        asyncio.run_coroutine_threadsafe(stop(), server.loop).result(60)
        with sock:
            assert read_frame(sock)[AT : AT + 3] == UNAVAILABLE
            assert read_frame(sock) == b""


def token_of(scope):
    return new_token(scope, [scope])


def test_calls_need_a_token_with_their_scope(store, apache):
    types = apache.types
    (reader, one), (writer, two) = token_of("read"), token_of("write")
    with running(store, tokens=(one, two)) as server:
        with apache.client(server.port) as client:
            client.ping()
            with pytest.raises(types.Unauthorized, match="bearer token"):
                client.get(URL, [], types.ReadOptions())
            with pytest.raises(types.Unauthorized):
                client.authenticate("aragog_guess")
            client.authenticate(reader)
            assert client.get(URL, [], types.ReadOptions()).fields["title"] == b"one"
            with pytest.raises(types.Unauthorized, match="scope write"):
                client.put(URL, {"a": b"1"}, types.PutOptions())
            client.authenticate(writer)
            client.put(URL, {"a": b"1"}, types.PutOptions())
        with apache.client(server.port) as other, pytest.raises(types.Unauthorized):
            other.get(URL, [], types.ReadOptions())


def test_calls_work_over_tls(store, apache, tmp_path):
    from thrift.transport.TSSLSocket import TSSLSocket

    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    pem, trusted = tmp_path / "server.pem", tmp_path / "ca.pem"
    certificate.private_key_and_cert_chain_pem.write_to_path(pem)
    authority.cert_pem.write_to_path(trusted)

    with running(store, tls_cert_file=pem) as server:
        sock = TSSLSocket("localhost", server.port, ca_certs=str(trusted))
        with apache.client(server.port, sock=sock) as client:
            record = client.get(URL, ["title"], apache.types.ReadOptions())
        with server.connect() as plain:
            plain.sendall(framed(PING))
            while plain.recv(1000):
                pass

    assert record.fields == {"title": b"one"}


def test_unreadable_certificate_is_reported(store, tmp_path):
    with (
        pytest.raises(ConfigError, match=r"serving\.tls_cert_file: cannot use"),
        running(store, tls_cert_file=tmp_path / "missing.pem"),
    ):
        pass


def test_port_in_use_is_an_error_even_for_shared_ports():
    [first] = thrift_sockets(ServingSettings(thrift_port=0))
    with first:
        port = first.getsockname()[1]
        for processes in (1, 2):
            with pytest.raises(
                ConfigError, match=r"serving\.thrift_port: cannot listen .* free port"
            ):
                thrift_sockets(ServingSettings(thrift_port=port), processes)


def test_processes_of_one_server_share_its_port():
    socks = thrift_sockets(ServingSettings(thrift_port=0), 3)

    assert len({sock.getsockname() for sock in socks}) == 1
    for sock in socks:
        sock.close()


def test_every_call_declares_the_exceptions_of_the_server():
    """The field numbers in `throws` are those that `wire_exception` uses."""
    places = {1: "BadInput", 2: "NotFound", 3: "Conflict", 4: "Unauthorized", 5: "Unavailable", 6: "DeadlineExceeded", 7: "InternalError", 8: "TakenDown"}  # fmt: skip
    for service in ("UrlStore", "Fetcher", "PinLater"):
        for name in getattr(idl, service).thrift_services:
            declared = getattr(getattr(idl, service), f"{name}_result").thrift_spec
            exceptions = {n: spec[2].__name__ for n, spec in declared.items() if n}
            assert exceptions.items() <= places.items()
            if name not in ("ping", "authenticate"):
                assert {1, 4, 5, 6, 7} <= exceptions.keys()


def test_contract_is_packaged():
    assert '"*.thrift"' in Path("pyproject.toml").read_text()


ONEWAY, REPLY = 4, 2


@pytest.mark.parametrize("name", ["ping", "authenticate", "get", "put", "nothing", ""])
@pytest.mark.parametrize("times", [1, 3])
def test_oneway_message_gets_no_reply_that_another_call_could_take(name, times):
    sends = [{"name": name, "kind": ONEWAY, "number": n} for n in range(times)]

    result = answer({"sends": [*sends, {"name": "ping", "number": 99}], "expects": 1})

    assert result == {"replies": ["answer 99"], "others": "answer 7"}


@pytest.mark.parametrize("kind", [REPLY, 3, 0, 9])
def test_message_of_another_kind_is_refused(kind):
    sends = [{"name": "ping", "kind": kind, "number": 1}, {"name": "ping", "number": 2}]

    assert answer({"sends": sends, "expects": 2})["replies"] == ["exception 1", "answer 2"]
