"""The deadline of a call ends a dripping response over TLS as it does without TLS."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import requests
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from aragog.client.http_deadlines import DeadlineAdapter
from tests.support.tls import authority, server_context

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


@contextmanager
def dripping():
    """An HTTPS server that sends a head, and then one byte at a time."""
    over = threading.Event()

    def serve(listener):
        with suppress(OSError), listener.accept()[0] as sock:
            sock.recv(65_536)
            sock.sendall(HEAD)
            while not over.wait(0.02):
                sock.sendall(b"x")

    with (
        socket.create_server(("127.0.0.1", 0)) as plain,
        server_context("localhost").wrap_socket(plain, server_side=True) as listener,
    ):
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        yield listener.getsockname()[1]
        over.set()


def test_dripping_tls_response_ends_at_the_deadline(tmp_path):
    authority().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    started_s = time.monotonic()
    with dripping() as port, requests.Session() as session:
        session.trust_env = False
        session.mount("https://", DeadlineAdapter())
        session.verify = str(tmp_path / "ca.pem")
        response = session.get(f"https://localhost:{port}/", timeout=Timeout(total=2), stream=True)

        with pytest.raises((requests.RequestException, HTTPError, OSError)):
            response.raw.read()

        assert time.monotonic() - started_s < 60
