"""A receiver of webhooks that keeps their changes."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aragog.urlstore.store import UrlStore

LOOPBACK = "127.0.0.1"


@dataclass
class Receiver:
    """Accepts every delivery."""

    port: int = 0
    changes: list[dict[str, Any]] = field(default_factory=list)

    def register(self, store: UrlStore, cursor: str, now_ms: int) -> None:
        """Register it for every change after the cursor."""
        url = f"http://{LOOPBACK}:{self.port}/"
        store.feed.webhooks.add(
            url, "secret", owner=None, host=None, cursor=cursor, now_ms=now_ms
        )  # fmt: skip


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run a receiver on loopback."""
    it = Receiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            it.changes.extend(json.loads(body)["changes"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        it.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield it
        server.shutdown()
        thread.join()
