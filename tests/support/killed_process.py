"""
Run work in a process that is killed with SIGKILL when one of its steps begins.

Steps are the writes to tables, row by row, and the changes in a folder or a bucket. A file or an
object that is being written at that moment is left half written.

All kills of one test take up to a minute, so a test uses a third of the steps (`steps_of`), always
the same ones; the same test in another place uses others. With `--every-step` each test uses all.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import socket
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.waiting import WITHIN_S

FORK = multiprocessing.get_context("fork")
_CHANGES = {"os.rename": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2, "open": 1}
"""Audit events before changes, and how many of their first arguments are paths."""


ONE_OF = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--every-step`."""
    parser.addoption("--every-step", action="store_true", help="kill processes at every step")


def steps_of(request: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the steps at which a test kills a process, from 1 on and without end."""
    if request.config.getoption("every_step"):
        return itertools.count(1)
    return (step for step in itertools.count(1) if is_taken(request.node.name, step))


def is_taken(test: str, step: int) -> bool:
    """
    Return True if a test that uses a third of the steps uses this one.

    They are random instead of every third, because work repeats after two, three or four steps.
    """
    return zlib.crc32(f"{test} {step}".encode()) % ONE_OF == 0


class Steps:
    """Counts the steps of this process, and ends it at one of them."""

    def __init__(self, last: int) -> None:
        self._left = last

    def __call__(self, partly: Callable[[], object] = lambda: None) -> None:
        """Begin a step. `partly` does half of it before the process is killed."""
        self._left -= 1
        if self._left == 0:
            partly()
            os.kill(os.getpid(), signal.SIGKILL)

    def watch_folder(self, folder: Path) -> None:
        """Count files that are created, written, renamed and deleted below a folder."""
        place, write, writev = str(folder), os.write, os.writev

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            count = _CHANGES.get(event)
            if count is None or (event == "open" and not _is_writing(arguments)):
                return
            if any(str(path).startswith(place) for path in arguments[:count]):
                self()

        def half(file: int, data: bytes) -> int:
            self(lambda: write(file, data[: len(data) // 2]))
            return write(file, data)

        def half_of_parts(file: int, parts: list[bytes]) -> int:
            data = b"".join(parts)
            self(lambda: write(file, data[: len(data) // 2]))
            return writev(file, parts)

        sys.addaudithook(hook)
        os.write = half  # type: ignore[assignment]
        os.writev = half_of_parts  # type: ignore[assignment]

    def watch_bucket(self, client: object) -> None:
        """Count a boto3 client's requests that change something, and their responses."""
        for name in ("PutObject", "DeleteObject", "DeleteObjects", "CreateMultipartUpload",
                     "UploadPart", "CompleteMultipartUpload"):  # fmt: skip
            client.meta.events.register(f"before-send.s3.{name}", self._before_request)
            client.meta.events.register(f"after-call.s3.{name}", lambda **_: self())

    def _before_request(self, request, **_: object) -> None:
        self(lambda: _send_half(request))


def killed_at(step: int, work: Callable[[Steps], None]) -> bool:
    """Do work in a fork that is killed when a step begins. Returns False if it ended before."""

    def child() -> None:
        work(Steps(step))
        os._exit(0)

    process = FORK.Process(target=child)
    process.start()
    process.join(WITHIN_S)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _is_writing(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _send_half(request) -> None:
    """Send the head of a request and half of its body, if it has one."""
    body = request.body or b""
    data = bytes(body.read() if hasattr(body, "read") else body)
    if not data:
        return
    url = urlsplit(request.url)
    headers = {"Host": url.netloc, **request.headers}
    lines = [f"{request.method} {url.path}?{url.query} HTTP/1.1"]
    lines += [f"{name}: {_text(value)}" for name, value in headers.items()]
    with socket.create_connection((url.hostname, url.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + data[: len(data) // 2])


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
