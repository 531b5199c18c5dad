"""
The origin of the fleet, a process that records each request: `python -m tests.fleet.web PORT`.

`VERSION n` on a connection changes all pages, `TELL` lists the requests since the start.
"""

from __future__ import annotations

import contextlib
import email.utils
import heapq
import json
import signal
import socket
import sys
import time

from tests.chaos.origin import Arrival, Origin, response
from tests.fleet.sites import RETRY_AFTER_S, SLOW_S, kind, outcome, page, robots


class Web(Origin):
    """All sites, in one loop."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 1
        self.answered_503: set[tuple[str, int]] = set()

    def receive(self, number: int) -> None:
        connection = self.open[number]
        with contextlib.suppress(OSError):
            if connection.recv(8, socket.MSG_PEEK).startswith(b"VERSION"):
                self.version = int(connection.recv(64).split()[1])
                self.close(number)
                return
        super().receive(number)

    def answer(self, connection: socket.socket, host: str, path: str) -> int:
        if path == "/robots.txt":
            rules = robots(host).encode()
            return self.send(connection, 200 if rules else 404, rules, content_type="text/plain")
        number = int(path[1:])
        if kind(host) == "busy" and number % 10 == 9 and (host, number) not in self.answered_503:
            self.answered_503.add((host, number))
            return self.send(connection, 503, b"", *self.retry_after(number))
        if outcome(f"http://{host}{path}") == "Gone":
            return self.send(connection, 404, b"")
        delay_s = SLOW_S if kind(host) == "slow" else 0.0
        return self.send(connection, 200, page(host, number, self.version), delay_s=delay_s)

    def retry_after(self, number: int) -> tuple[str, ...]:
        """Return headers with seconds, or on every other page a date, and the origin's clock."""
        now = int(time.time())
        retry_after = RETRY_AFTER_S if number % 20 == 9 else _date(now + RETRY_AFTER_S)
        return f"Retry-After: {retry_after}", f"Date: {_date(now)}"

    def send(
        self, connection: socket.socket, status: int, body: bytes, *headers: str,
        content_type: str = "text/html", delay_s: float = 0.0,
    ) -> int:  # fmt: skip
        """Send a response, now or later. Returns the status."""
        data = response(status, body, *headers).replace(b"text/html", content_type.encode(), 1)
        if delay_s:
            heapq.heappush(self.delayed, (time.monotonic() + delay_s, connection.fileno(), data))
            return status
        with contextlib.suppress(OSError):
            connection.sendall(data)
        return status


def _date(at_s: int) -> str:
    return email.utils.formatdate(at_s, usegmt=True)


def arrivals(address: tuple[str, int]) -> list[Arrival]:
    """Return all requests of the origin at this address, in order of arrival."""
    with socket.create_connection(address) as connection:
        connection.sendall(b"TELL\r\n\r\n")
        reply = b"".join(iter(lambda: connection.recv(65536), b""))
    return sorted(
        (Arrival(*record) for record in json.loads(reply)), key=lambda arrival: arrival.at_ms
    )


def change(address: tuple[str, int], version: int) -> None:
    """Change all pages of the origin at this address."""
    with socket.create_connection(address) as connection:
        connection.sendall(f"VERSION {version}\r\n".encode())
        connection.recv(1)  # the connection closes after the command was read


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Web().serve(int(sys.argv[1]))
