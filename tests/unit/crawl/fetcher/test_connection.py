"""One connection: how long responses wait to be read."""

from __future__ import annotations

import socket

from aragog.crawl.fetcher.http1.connection import HttpConnection, Peer
from tests.support.waiting import wait_until


def test_kernel_reports_how_long_a_response_waits_to_be_read():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        connection = HttpConnection(client, Peer("http", "a.test", port), "127.0.0.1", 0.0)
        origin, _ = server.accept()
        with origin:
            origin.sendall(b"x")
            wait_until(lambda: connection.kernel_wait_s() >= 0.05)
            origin.sendall(b"y")
            wait_until(lambda: connection.kernel_wait_s() < 0.05)
        connection.close()

        assert connection.kernel_wait_s() == 0.0
