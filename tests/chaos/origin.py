"""
The origin of the fault suite: it answers at once, misbehaves on command, and records requests.

The kernel stamps each request (SO_TIMESTAMPNS), so the origin's own scheduling delay does not count. Every host has the pages `/0`, `/1`, ... and no robots.txt. While it misbehaves, one host in
three does, each in one of four ways: `drip` sends a byte of the answer and no more, `reset` ends the
connection with a TCP reset, `busy` answers 429, `away` closes without an answer.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tests.support.punctual_origin import SO_TIMESTAMPNS, host_and_path, stamped_ms

MISBEHAVIORS = ("drip", "reset", "busy", "away")
RETRY_AFTER_S = 3
POISON = "/poison"
# A C parser compares each attribute with those before it; nothing interrupts it.
POISONED_PAGE = (b"<p " + b" ".join(b"a%d" % n for n in range(1_900)) + b">x") * 800
NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request: when it arrived, its URL, and the status of the response (0 for none)."""

    at_ms: float
    host: str
    path: str
    status: int


class ChaosOrigin:
    """Runs the process. `misbehave` changes its behavior, and `arrivals` returns its requests."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.chaos.origin"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def misbehave(self, *, on: bool) -> None:
        """Make one host in three misbehave, or all behave again."""
        self._command(f"MISBEHAVE {'on' if on else 'off'}")

    def arrivals(self) -> list[Arrival]:
        """Return all requests since the start, in order of arrival."""
        arrivals_so_far = (Arrival(*record) for record in json.loads(self._command("TELL")))
        return sorted(arrivals_so_far, key=lambda arrival: arrival.at_ms)

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _command(self, line: str) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(line.encode() + b"\r\n\r\n")
            return b"".join(iter(lambda: connection.recv(65536), b""))


def title(host: str, path: str) -> str:
    """Return the title of a page, which identifies it."""
    return f"{path[1:]} of {host}"


@lru_cache(maxsize=1)
def filler() -> str:
    return "".join(
        f"<p>Paragraph {n} of some ordinary text that fills a page.</p>" for n in range(60)
    )


def page(host: str, path: str) -> bytes:
    if path == POISON:
        return POISONED_PAGE
    return (
        f"<!doctype html><title>{title(host, path)}</title><h1>{path}</h1>"
        f'<a href="/0">first</a> <a href="/{len(path)}">another</a>{filler()}'
    ).encode()


def response(status: int, body: bytes, *headers: str) -> bytes:
    head = [
        f"HTTP/1.1 {status} X",
        "Content-Type: text/html",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Origin:
    """The process itself, one loop over all connections."""

    def __init__(self) -> None:
        self.misbehaves = False
        self.requests: list[tuple[float, str, str, int]] = []
        self.open: dict[int, socket.socket] = {}
        self.delayed: list[tuple[float, int, bytes]] = []
        """(monotonic second, connection, response) of delayed responses, as a heap."""
        self.poll = select.epoll()

    def serve(self, port: int = 0) -> None:
        with contextlib.suppress(OSError):
            os.nice(-10)  # only root may
        listener = socket.create_server(("", port), backlog=1024)  # the second host reaches it
        listener.setblocking(False)
        with contextlib.suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.poll.register(listener.fileno(), select.EPOLLIN)
        print(listener.getsockname()[1], flush=True)
        while True:
            for number, _ in self.poll.poll(self.wait_s()):
                if number == listener.fileno():
                    self.accept(listener)
                else:
                    self.receive(number)
            self.send_delayed()

    def wait_s(self) -> float | None:
        """Return the seconds until the next delayed response, or None."""
        return max(0.0, self.delayed[0][0] - time.monotonic()) if self.delayed else None

    def send_delayed(self) -> None:
        """Send the delayed responses that are due, if the client still waits."""
        while self.delayed and self.delayed[0][0] <= time.monotonic():
            _, number, data = heapq.heappop(self.delayed)
            if number in self.open:
                with contextlib.suppress(OSError):
                    self.open[number].sendall(data)

    def accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open[connection.fileno()] = connection
            self.poll.register(connection.fileno(), select.EPOLLIN)

    def receive(self, number: int) -> None:
        connection = self.open[number]
        try:
            request, stamps, *_ = connection.recvmsg(65536, 256)
        except OSError:
            request, stamps = b"", []
        if request.startswith((b"TELL", b"MISBEHAVE")):
            self.control(number, request.split())
        elif not request or not self.serve_one(connection, request, stamped_ms(stamps)):
            self.close(number)

    def serve_one(self, connection: socket.socket, request: bytes, at_ms: float) -> bool:
        """Answer and record a request. Returns True if the connection stays open."""
        host, path = host_and_path(request)
        host = host.partition(":")[0]
        status = self.answer(connection, host, path)
        self.requests.append((at_ms, host, path, status))
        return bool(status) or self.misbehavior_of(host) == "drip"

    def misbehavior_of(self, host: str) -> str:
        """Return how the host misbehaves now, or an empty string."""
        number = zlib.crc32(host.encode())
        return MISBEHAVIORS[number // 3 % 4] if self.misbehaves and number % 3 == 0 else ""

    def control(self, number: int, command: list[bytes]) -> None:
        connection = self.open[number]
        connection.setblocking(True)
        if command[0] == b"MISBEHAVE":
            self.misbehaves = command[1] == b"on"
        else:
            connection.sendall(json.dumps(self.requests).encode())
        self.close(number)

    def answer(self, connection: socket.socket, host: str, path: str) -> int:
        """Answer, or misbehave. Returns the status that was sent, or 0."""
        way = self.misbehavior_of(host)
        status = {"busy": 429, "": 404 if path == "/robots.txt" else 200}.get(way, 0)
        with contextlib.suppress(OSError):
            if way == "busy":
                connection.sendall(response(429, b"", f"Retry-After: {RETRY_AFTER_S}"))
            elif way == "drip":
                connection.sendall(b"H")
            elif way == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            elif not way:
                connection.sendall(response(status, b"" if status == 404 else page(host, path)))
        return status

    def close(self, number: int) -> None:
        self.poll.unregister(number)
        self.delayed = [record for record in self.delayed if record[1] != number]
        heapq.heapify(self.delayed)
        self.open.pop(number).close()


@contextlib.contextmanager
def chaos_origin() -> Iterator[ChaosOrigin]:
    """Run an origin."""
    origin = ChaosOrigin()
    try:
        yield origin
    finally:
        origin.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Origin().serve()
