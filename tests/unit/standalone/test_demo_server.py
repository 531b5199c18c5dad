"""The demo web's server."""

import socket
import struct
import threading

from aragog.standalone.demo_server import DemoServer
from tests.support.waiting import wait_until


def test_a_client_that_resets_its_connection_prints_no_traceback(capfd):
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
        # Lingering for no time makes close() send a reset.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

        wait_until(handled.is_set)
        server.shutdown()

    assert capfd.readouterr().err == ""
