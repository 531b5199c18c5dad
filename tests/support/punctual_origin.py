"""
An origin that answers at once and records when each request arrived, to the microsecond.

It is a separate process, and the kernel stamps the bytes (SO_TIMESTAMPNS, socket(7)), so its own
scheduling delay does not count. If the kernel cannot, it stamps them itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping

import pytest

SO_TIMESTAMPNS = 35
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/html\r\n\r\nok\n"


class PunctualOrigin:
    """
    Runs the origin. `arrivals` returns its requests so far.

    Args:
        pages: bodies by path; other paths get a few fixed bytes.
    """

    def __init__(self, pages: Mapping[str, str] | None = None) -> None:
        self._seen: list[tuple[float, str, str]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.punctual_origin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdin as pipe:
            pipe.write(json.dumps(dict(pages or {})).encode())
        self.port = int(self.process.stdout.readline())

    def arrivals(self) -> list[tuple[float, str, str]]:
        """Return (ms since the epoch, Host header, path) of each request, in order of arrival."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"TELL\r\n\r\n")
            parts = iter(lambda: connection.recv(65536), b"")
            self._seen += [(at, host, path) for at, host, path in json.loads(b"".join(parts))]
        return sorted(self._seen)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def punctual_origin() -> Iterator[PunctualOrigin]:
    """A new origin."""
    origin = PunctualOrigin()
    yield origin
    origin.stop()


def serve() -> None:
    answers = {path: answer(body) for path, body in json.load(sys.stdin).items()}
    with contextlib.suppress(OSError):
        os.nice(-10)  # only root may
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    listener.setblocking(False)
    with contextlib.suppress(OSError):
        # Accepted connections inherit it. Set on them, it would miss bytes that have already arrived.
        listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    print(listener.getsockname()[1], flush=True)
    poll, open_, seen = select.epoll(), {}, []
    poll.register(listener.fileno(), select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                with contextlib.suppress(BlockingIOError):
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    open_[connection.fileno()] = connection
                    poll.register(connection.fileno(), select.EPOLLIN)
                continue
            connection = open_[number]
            try:
                request, stamps, *_ = connection.recvmsg(65536, 256)
            except OSError:
                request, stamps = b"", []
            if request.startswith(b"TELL"):
                connection.setblocking(True)
                connection.sendall(json.dumps(seen).encode())
                seen.clear()
                request = b""
            if not request:
                poll.unregister(number)
                open_.pop(number).close()
                continue
            host, path = host_and_path(request)
            with contextlib.suppress(OSError):
                connection.sendall(answers.get(path, ANSWER))
            seen.append((stamped_ms(stamps), host, path))


def answer(body: str) -> bytes:
    data = body.encode()
    kind = "text/html" if body.startswith("<") else "text/plain"
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\nContent-Type: {kind}\r\n\r\n"
    return head.encode() + data


def stamped_ms(stamps: list[tuple[int, int, bytes]]) -> float:
    for _, kind, data in stamps:
        if kind == SO_TIMESTAMPNS:
            seconds, ns = struct.unpack("qq", data)
            return seconds * 1000 + ns / 1e6
    return time.time_ns() / 1e6


def host_and_path(request: bytes) -> tuple[str, str]:
    lines = request.decode("latin-1").split("\r\n")
    host = next(
        (v.strip() for k, _, v in (x.partition(":") for x in lines) if k.lower() == "host"), ""
    )
    return host, lines[0].split(" ")[1] if " " in lines[0] else ""


if __name__ == "__main__":
    serve()
