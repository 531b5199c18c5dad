"""
Read known pages at a fixed rate, whatever the responses: `python -m tests.fleet.reader …`.

    ADDRESS RATE FILE    reads the URLs on standard input, in turn, until SIGTERM

Then it writes a JSON list for each read to FILE: the `time.monotonic()` at which it was due, its
latency in ms from then on, and an empty string or why it failed. The token is in FLEET_TOKEN.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

MAX_READ_S = 5.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Read(NamedTuple):
    """One read."""

    at_s: float
    latency_ms: float
    failure: str


class Reader:
    """A process that reads until `stop`."""

    def __init__(
        self, address: str, token: str, rate: float, file: Path, urls: Sequence[str]
    ) -> None:
        self._file = file
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.reader", address, str(rate), str(file)],
            stdin=subprocess.PIPE, env={**os.environ, "FLEET_TOKEN": token}, text=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        with self._process.stdin as pipe:
            pipe.write("\n".join(urls))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> list[Read]:
        """Stop it. Returns all reads in the order in which they were due."""
        self._process.terminate()
        self._process.wait(MAX_READ_S * 2)
        return sorted(Read(*record) for record in json.loads(self._file.read_text()))


class _Reading:
    """The reads, and the idle connections."""

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.partition(":")
        self._idle: list[Connection] = []
        self.reads: list[Read] = []

    async def read(self, url: str, at_s: float) -> None:
        """Read one page and record the result."""
        try:
            async with asyncio.timeout(MAX_READ_S):
                failure = await self._answer(url)
        except TimeoutError:
            failure = f"no answer within {MAX_READ_S:.0f} s"
        except (OSError, asyncio.IncompleteReadError) as error:
            failure = type(error).__name__
        self.reads.append(Read(at_s, (time.monotonic() - at_s) * 1000, failure))

    async def _answer(self, url: str) -> str:
        reader, writer = (
            self._idle.pop()
            if self._idle
            else await asyncio.open_connection(self._host, int(self._port))
        )
        try:
            writer.write(_request(url, self._host))
            headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            body = await reader.readexactly(
                int(headers.lower().partition("content-length:")[2].split("\r\n")[0])
            )
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        status = headers.split(" ", 2)[1]
        if status != "200":
            return f"status {status} {_detail(body)}"
        record = json.loads(body)
        host, _, number = url.removeprefix("http://").partition("/")
        is_right = record["fields"].get("page.title", "").startswith(f"{number} of {host}")
        return "" if is_right else "another page"


def _detail(body: bytes) -> str:
    """Return the API's description of a failure, or the beginning of another response."""
    text = body.decode(errors="replace")
    with contextlib.suppress(ValueError, KeyError):
        text = str(json.loads(text)["detail"])
    return " ".join(text.split())[:80]


def _request(url: str, host: str) -> bytes:
    path = f"/v1/urls?url={quote(url, safe='')}&fields=page.title&include="
    token = os.environ["FLEET_TOKEN"]
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


async def read_until_stopped(address: str, rate: float, urls: Sequence[str]) -> list[Read]:
    """Start a read every `1 / rate` seconds until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    reading, running = _Reading(address), set()
    next_s, count = time.monotonic(), 0
    while not stopped.is_set():
        while next_s <= time.monotonic():
            task = asyncio.create_task(reading.read(urls[count % len(urls)], next_s))
            running.add(task)
            task.add_done_callback(running.discard)
            next_s, count = next_s + 1 / rate, count + 1
        await asyncio.sleep(max(0.0, next_s - time.monotonic()))
    await asyncio.gather(*running)
    return reading.reads


if __name__ == "__main__":
    address, rate, file = sys.argv[1:]
    reads = asyncio.run(read_until_stopped(address, float(rate), sys.stdin.read().split()))
    Path(file).write_text(json.dumps(reads))
