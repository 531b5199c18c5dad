"""
Clients of a TLS server that never complete their handshake take no connections away from others.
"""

import ssl

import pytest

from aragog.runtime.clock import ManualClock
from tests.support import api_server, thrift_server
from tests.support.stores import store_harness
from tests.support.tls import authority, client_context
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PING = b"\x00\x00\x00\x11\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"
OTHER_HOST = "127.0.0.2"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    authority().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(path)
    return path


@pytest.fixture(params=["http", "thrift"])
def serve(request, certificate):
    """Starts a TLS server and provides a request for it."""
    running, question = {
        "http": (api_server.running, HEALTH),
        "thrift": (thrift_server.running, PING),
    }[request.param]

    def start(**options):
        limits = {"head_timeout_s": 60, "keep_alive_s": 60, **options}
        return running(
            store_harness(MemoryTables(ManualClock())).store, tls_cert_file=certificate, **limits
        )

    start.question = question
    return start


@pytest.fixture
def client_hello():
    """The first bytes that a client sends."""
    sent = ssl.MemoryBIO()
    client = client_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def secured(plain):
    return client_context().wrap_socket(plain, server_hostname="localhost")


def answers(sock, question):
    sock.sendall(question)
    return bool(sock.recv(1000))


def is_open(sock):
    """True if the server has not closed the connection."""
    sock.setblocking(False)
    try:
        return sock.recv(1000) != b""
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except ConnectionResetError:
        return False
    finally:
        sock.settimeout(60)


@pytest.mark.parametrize("hello_bytes", [0, 1, 50])
def test_clients_without_a_handshake_block_nobody(serve, client_hello, hello_bytes):
    """They were not counted, so they used up the open files of the process."""
    with serve(max_connections=5) as server:
        silent = [server.connect() for _ in range(9)]
        for sock in silent:
            sock.sendall(client_hello[:hello_bytes])
        with secured(server.connect()) as other:
            assert answers(other, serve.question)
            wait_until(lambda: sum(map(is_open, silent)) == 4, otherwise="the oldest are closed")
            assert all(is_open(sock) for sock in silent[-4:])
        for sock in silent:
            sock.close()


def test_one_address_cannot_take_all_connections_with_handshakes(serve):
    with serve(max_connections=8, max_connections_per_address=4) as server:
        quiet = secured(server.connect(OTHER_HOST))
        assert answers(quiet, serve.question)
        silent = [server.connect() for _ in range(12)]
        wait_until(lambda: sum(map(is_open, silent)) == 4, otherwise="four are left")
        assert answers(quiet, serve.question), "the other address keeps its connection"
        for sock in (*silent, quiet):
            sock.close()


def test_client_with_a_complete_handshake_is_counted_once(serve):
    with serve(max_connections=3) as server:
        clients = [secured(server.connect()) for _ in range(3)]
        assert all(answers(sock, serve.question) for sock in clients)
        assert all(is_open(sock) for sock in clients)
        last = secured(server.connect())
        assert answers(last, serve.question)
        wait_until(lambda: sum(map(is_open, clients)) == 2, otherwise="the oldest is closed")
        for sock in (*clients, last):
            sock.close()


def test_client_that_disconnects_before_its_handshake_is_no_longer_counted(serve):
    with serve(max_connections=2) as server:
        clients = server.server._clients  # only private state shows clients without a handshake
        silent = [server.connect() for _ in range(2)]
        wait_until(lambda: len(clients) == 2, otherwise="they are counted")
        silent[0].close()
        silent[1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        wait_until(lambda: len(clients) == 0, otherwise="none is counted")
        assert not is_open(silent[1])
        silent[1].close()


def test_slow_handshake_times_out(serve):
    with serve(head_timeout_s=0.2) as server, server.connect() as silent:
        wait_until(lambda: not is_open(silent), otherwise="the server closes it")
        assert len(server.server._clients) == 0


def test_handshakes_end_when_the_server_stops(serve):
    with serve() as server:
        silent = server.connect()
        wait_until(lambda: len(server.server._clients) == 1, otherwise="it is counted")
    assert not is_open(silent)
    silent.close()
