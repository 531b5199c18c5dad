"""
The server of the demo sites: `python -m aragog.standalone.demo_server [PORT]`, on 127.0.0.1.

Without a port, its standard input must be a listening socket.

One process serves every host name in `sites` and selects the site by the Host header. It supports
keep-alive, ETag and 304, and misbehaves where the demo needs that.
"""

from __future__ import annotations

import hashlib
import socket
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from aragog.standalone.demo_sites import DemoPage, Web, web

RETRY_AFTER_S = 2


class Handler(BaseHTTPRequestHandler):
    """Handles GET requests to the demo sites."""

    protocol_version = "HTTP/1.1"
    pages: ClassVar[Web] = web()
    busy_replies: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        """Send the page for the host and path, or 404."""
        host = (self.headers.get("Host") or "").partition(":")[0]
        pages = self.pages.get(host, {})
        page = pages.get(self.path)
        if page is None and "?" in self.path:
            page = pages.get(self.path.partition("?")[0])  # like shops, ignore unknown parameters
        self._respond(host, page or DemoPage(b"<h1>Not found</h1>", 404))

    def _respond(self, host: str, page: DemoPage) -> None:
        if page.busy_times > self.busy_replies[host + self.path]:
            self.busy_replies[host + self.path] += 1
            self._send(429, b"later", "text/plain", {"Retry-After": str(RETRY_AFTER_S)})
            return
        etag = f'"{hashlib.sha256(page.body).hexdigest()[:16]}"'
        if page.status == 200 and self.headers.get("If-None-Match") == etag:
            self._send(304, b"", page.content_type, {"ETag": etag})
            return
        headers = dict(page.headers)
        if page.status == 200 and page.body:
            headers["ETag"] = etag
        self._send(page.status, page.body, page.content_type, headers, page.declared_length)

    def _send(
        self,
        status: int,
        body: bytes,
        content_type: str,
        headers: dict[str, str],
        declared_length: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(declared_length or len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        if declared_length:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as overridden
        """Log nothing, because standard error shows the crawler's log."""


class DemoServer(ThreadingHTTPServer):
    """Listens on a port or, if `listening` is not None, on that socket."""

    daemon_threads = True

    def __init__(self, port: int = 0, *, listening: socket.socket | None = None) -> None:
        super().__init__(("127.0.0.1", port), Handler, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = listening

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a client disconnects."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until stopped, on the port argument or the socket in standard input."""
    if len(sys.argv) > 1:
        server = DemoServer(int(sys.argv[1]))
    else:
        server = DemoServer(listening=socket.socket(fileno=sys.stdin.fileno()))
    with server:
        server.serve_forever()


if __name__ == "__main__":
    main()
