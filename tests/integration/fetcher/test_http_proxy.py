"""Requests through a proxy: an HTTP or HTTPS tunnel, with the SSRF filter in front of both."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from aragog.fetch_record import outcome as o
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import HELLO, Origin, Request, Wire, answer, page
from tests.support.tls import server_context

HOST = "shop.test"


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def tunnel_to(origin: Origin):
    """A handler for CONNECT that connects every request to `origin`."""

    def handler(_: Request, wire: Wire) -> None:
        with socket.create_connection(("127.0.0.1", origin.port)) as behind:
            wire.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=_pump, args=(behind, wire.sock), daemon=True).start()
            _pump(wire.sock, behind)

    return handler


@pytest.fixture
def proxy():
    with Origin({"/": page(HELLO)}) as running:
        yield running


def test_http_uses_a_tunnel_to_the_vetted_address(proxy, fetcher_with):
    with Origin({"/": page(HELLO)}) as origin:
        proxy.handlers["*"] = tunnel_to(origin)
        fetcher = fetcher_with(
            proxy=f"http://user:pw@{proxy.address}", host_map={HOST: origin.address}
        )

        outcome = fetcher.fetch(f"http://{HOST}:8080/")

    assert isinstance(outcome, o.Fetched), outcome
    (request,) = proxy.seen
    assert (request.method, request.target) == ("CONNECT", origin.address)
    assert request.header("Proxy-Authorization") == "Basic dXNlcjpwdw=="
    (seen,) = origin.seen
    assert (seen.target, seen.header("Host")) == ("/", f"{HOST}:8080")
    assert seen.header("Proxy-Authorization") is None
    assert outcome.address == "127.0.0.1"


def test_proxy_never_gets_the_host_name(proxy, fetcher_with):
    proxy.handlers["*"] = answer(403, b"")
    fetcher = fetcher_with(proxy=f"http://{proxy.address}", host_map={HOST: "127.0.0.1:8080"})

    for scheme in ("http", "https"):
        outcome = fetcher.fetch(f"{scheme}://{HOST}:8080/")
        assert "allow CONNECT" in outcome.reason

    assert [HOST in str(request) for request in proxy.seen] == [False, False]
    assert {request.target for request in proxy.seen} == {"127.0.0.1:8080"}


@BOTH_VERSIONS
def test_https_uses_a_tunnel_and_is_verified_by_name(proxy, fetcher_with):
    with Origin({"/": page(HELLO)}, tls=server_context(HOST)) as origin:
        proxy.handlers["*"] = tunnel_to(origin)
        fetcher = fetcher_with(
            proxy=f"http://{proxy.address}",
            host_map={HOST: origin.address},
        )

        outcome = fetcher.fetch(origin.url("/", HOST))

        assert isinstance(outcome, o.Fetched), outcome
        assert proxy.seen[0].method == "CONNECT"
        assert proxy.seen[0].target == origin.address
        assert origin.seen[0].header("Proxy-Authorization") is None


def test_refused_proxy_login_is_not_the_origins_failure(proxy, fetcher_with):
    proxy.handlers["*"] = answer(407, b"who are you?")
    fetcher = fetcher_with(proxy=f"http://{proxy.address}", host_map={HOST: "127.0.0.1:8443"})

    outcome = fetcher.fetch(f"https://{HOST}:8443/")

    assert isinstance(outcome, o.Deferred)
    assert (outcome.cause, "407" in outcome.reason) == ("egress", True)


@pytest.mark.parametrize("url", ["http://10.0.0.1:8080/", "https://10.0.0.1:8080/"])
def test_ssrf_filter_checks_the_target_of_the_proxy(proxy, fetcher_with, url):
    outcome = fetcher_with(proxy=f"http://{proxy.address}").fetch(url)

    assert isinstance(outcome, o.Blocked)
    assert proxy.seen == []
