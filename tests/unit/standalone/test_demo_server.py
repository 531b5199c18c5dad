"""The server of the demo sites."""

import socket
import struct
import threading

from aragog.standalone.demo_server import DemoServer
from tests.support.waiting import wait_until


def test_reset_connection_prints_no_traceback(capfd):
    with DemoServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        handled = threading.Event()
        shutdown, server.shutdown_request = (
            server.shutdown_request,
            lambda request: (
                shutdown(request),
                handled.set(),
            ),
        )
        client = socket.create_connection(("127.0.0.1", server.server_port))
        client.sendall(b"GET / HT")
        # With a linger time of 0, close() sends a reset.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

        wait_until(handled.is_set)
        server.shutdown()

    assert capfd.readouterr().err == ""


def test_request_sent_before_the_server_runs_is_answered():
    listening = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: news.test\r\nConnection: close\r\n\r\n")
        with DemoServer(listening=listening) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            status, _, _ = client.makefile("rb").read().partition(b"\r\n")
            server.shutdown()

    assert status == b"HTTP/1.1 200 OK"
