"""
Crawl an origin that the allowed rate overloads, with and without the latency rule.

    python -m bench.slow_origin [--seconds N] [--qps N] [--service-ms N]

The whole system (fetch, robots, canonicalize and store processes, its own Redis) crawls one host on
loopback that handles one request at a time, each in `--service-ms`, and responds with 503 while
more than 20 wait. It can handle half of the rate that the settings allow. The times are those seen
by the origin. `python -m bench.latency` does the same in virtual time, with more kinds of servers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from aragog.client import Aragog
from aragog.settings import PolitenessSettings
from bench.crawl.sides import aragog_system
from bench.quick import add_quick

HOST = "slow.test"
MAX_WAITING = 20
PAGE = b"<!doctype html><title>Slow</title><p>Made one at a time." + b" " * 2000


@dataclass(frozen=True)
class Response:
    """One request as seen by the origin."""

    arrived_s: float
    took_s: float
    status: int


@dataclass
class SlowOrigin:
    """A host that handles one request at a time, and rejects requests while more than 20 wait."""

    service_s: float
    responses: list[Response] = field(default_factory=list)
    longest_queue: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _waiting_lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: int = 0

    def handle(self) -> int:
        """Wait for a turn, then work. Returns the status of the response."""
        arrived_s = time.monotonic()
        status = 200 if self._queue() else 503
        if status == 200:
            with self._turn:
                time.sleep(self.service_s)
            with self._waiting_lock:
                self._waiting -= 1
        self.responses.append(Response(arrived_s, time.monotonic() - arrived_s, status))
        return status

    def _queue(self) -> bool:
        with self._waiting_lock:
            if self._waiting > MAX_WAITING:
                return False
            self._waiting += 1
            self.longest_queue = max(self.longest_queue, self._waiting)
            return True

    @contextmanager
    def serve(self) -> Iterator[int]:
        """Serve on a free port of loopback; yields the port."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _handler(origin: SlowOrigin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_robots = self.path == "/robots.txt"
            status = 404 if is_robots else origin.handle()
            body = PAGE if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


def crawl(seconds: float, qps: float, service_s: float, max_slowdown: float) -> SlowOrigin:
    """Crawl one host for some seconds. Returns the origin with the requests it received."""
    origin = SlowOrigin(service_s)
    environ = {
        "ARAGOG_POLITENESS__QPS": f"{qps:g}",
        "ARAGOG_POLITENESS__MAX_LATENCY_SLOWDOWN": f"{max_slowdown:g}",
    }
    with (
        tempfile.TemporaryDirectory(prefix="arb") as folder,
        origin.serve() as port,
        patch.dict(os.environ, environ),
        aragog_system(port, Path(folder)) as settings,
        Aragog(settings) as client,
    ):
        client.enqueue([f"http://{HOST}:{port}/{n}" for n in range(int(seconds * qps * 1.5))])
        deadline_s = time.monotonic() + 60
        while not origin.responses and time.monotonic() < deadline_s:
            time.sleep(0.1)
        time.sleep(seconds)
    return origin


def row(max_slowdown: float, origin: SlowOrigin, seconds: float) -> list[str]:
    """Return what the origin saw, without the first third, in which the rate adapts."""
    first_s = min(response.arrived_s for response in origin.responses)
    count_from_s, end_s = first_s + seconds / 3, first_s + seconds
    counted = [r for r in origin.responses if count_from_s <= r.arrived_s < end_s]
    took_ms = sorted(r.took_s * 1000 for r in counted if r.status == 200) or [0.0]
    return [
        f"{max_slowdown:g}",
        f"{len(counted) / (end_s - count_from_s):.1f}",
        f"{sum(r.status == 200 for r in counted) / (end_s - count_from_s):.1f}",
        f"{took_ms[len(took_ms) // 2]:.0f} ms",
        f"{took_ms[int(len(took_ms) * 0.9)]:.0f} ms",
        f"{origin.longest_queue}",
        f"{sum(r.status == 503 for r in origin.responses)}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--qps", type=float, default=20.0)
    parser.add_argument("--service-ms", type=float, default=100.0)
    add_quick(parser, seconds=1.5)
    args = parser.parse_args()
    table = Table("max slowdown", "requests/s", "pages/s", "p50", "p90", "longest queue", "503")
    for max_slowdown in (PolitenessSettings().max_latency_slowdown, 1.0):
        origin = crawl(args.seconds, args.qps, args.service_ms / 1000, max_slowdown)
        table.add_row(*row(max_slowdown, origin, args.seconds))
    Console().print(table)


if __name__ == "__main__":
    main()
