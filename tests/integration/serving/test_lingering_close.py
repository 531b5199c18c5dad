"""Requests refused before they have fully arrived: their clients can read the reason."""

import http.client
import ssl

import pytest
import trustme

from aragog.api.server.http.connection import MAX_LINGER_BYTES
from tests.support.api_server import read_all, running
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

BODY = b"x" * 3_000_000
POST = b"POST /v1/enqueue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LONG = POST + b"Content-Length: 6000000\r\n\r\n"


@pytest.fixture(scope="module")
def store():
    return store_harness(MemoryTables()).store


def posted(client, path="/v1/enqueue", **headers):
    """The status for a body that is sent completely before the response is read."""
    try:
        client.request("POST", path, BODY, {"Content-Type": "application/json", **headers})
        response = client.getresponse()
        response.read()
        return response.status
    finally:
        client.close()


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/v1/enqueue", {}, 413),
        ("/v1/enqueue", {"Transfer-Encoding": "chunked"}, 400),  # the rest is not a valid chunk
        ("/v1/enqueue", {"X": "y" * 70_000}, 431),
        ("/nowhere", {}, 413),
    ],
)
def test_client_that_sends_everything_first_can_read_its_response(store, path, headers, expected):
    """Python's http.client got a connection reset instead."""
    with running(store, max_body_bytes=100_000) as api:
        for _ in range(5):
            client = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
            assert posted(client, path, **headers) == expected
        wait_until(lambda: not api.server.server_state.connections)


def test_client_over_tls_can_read_it_too(store, tmp_path):
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    files = {"tls_cert_file": tmp_path / "cert.pem", "tls_key_file": tmp_path / "key.pem"}
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with running(store, max_body_bytes=100_000, **files) as api:
        client = http.client.HTTPSConnection("127.0.0.1", api.port, timeout=60, context=context)
        assert posted(client) == 413
        wait_until(lambda: not api.server.server_state.connections)


def test_data_after_a_refused_request_is_not_a_request(store):
    with running(store, max_body_bytes=100_000) as api:
        reply = api.raw(LONG + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)

    assert reply.count(b"HTTP/1.1 ") == 1


def test_discarded_data_is_limited(store):
    with running(store, max_body_bytes=100_000) as api, api.connect() as sock:
        sock.sendall(LONG)
        read_all(sock)
        with pytest.raises(ConnectionError):
            sock.sendall(bytes(2 * MAX_LINGER_BYTES))


def test_client_that_stays_is_disconnected(store):
    with running(store, max_body_bytes=100_000, head_timeout_s=0.2) as api, api.connect() as sock:
        sock.sendall(LONG)
        assert read_all(sock).startswith(b"HTTP/1.1 413")
        wait_until(lambda: not api.server.server_state.connections)


def test_clients_that_stay_block_nobody(store):
    with running(store, max_body_bytes=100_000, max_connections=3) as api:
        socks = []
        for _ in range(6):
            socks.append(api.connect())
            socks[-1].sendall(LONG)
            assert socks[-1].recv(1000).startswith(b"HTTP/1.1 413")
        assert api.get("/healthz").status == 200
        for sock in socks:
            sock.close()


def test_stopping_server_does_not_wait_for_them(store):
    with running(store, max_body_bytes=100_000, head_timeout_s=600) as api:
        sock = api.connect()
        sock.sendall(LONG)
        assert sock.recv(1000).startswith(b"HTTP/1.1 413")
        api.server.handle_exit(15, None)
        wait_until(lambda: not api.server.server_state.connections)
    sock.close()
