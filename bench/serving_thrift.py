"""
Measure the Thrift server on reads of a real store, with open-loop load.

    python -m bench.serving_thrift [--rates 2000,12500] [--seconds 4] [--peers]

SQLite with 20,000 pages, four fields of random pages; one server process on one core if `taskset`
is there, one client process on another. Requests are sent at the times of a Poisson process,
whether or not earlier ones were answered, and latency counts from the intended time. A rate of 0
means a closed loop: as many as the server can. CPU is that of the server process; its inverse is
what one core can serve at most. `--peers` measures the HTTP servers of bench.serving as well, in
their closed loop, for their CPU a request.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

import uvloop
from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.transport import TCyMemoryBuffer

from aragog.serving.thrift.contract import CALL, head, idl
from aragog.serving.thrift.wire import frame
from bench import serving
from bench.serving import FIELDS, PAGES, cpu_s, fill, url

BATCH = 100
READY_S = 30


def message(name: str, arguments: object) -> bytes:
    """A call in its frame."""
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(arguments)
    return frame(head(CALL, name.encode()), b"\0\0\0\1", buffer.getvalue())


def one() -> bytes:
    """`get` of a random page."""
    page = url(random.randrange(PAGES))
    return message("get", idl.UrlStore.get_args(page, list(FIELDS), idl.ReadOptions()))


def batch() -> bytes:
    """`getMany` of random pages."""
    pages = [url(random.randrange(PAGES)) for _ in range(BATCH)]
    return message("getMany", idl.UrlStore.getMany_args(pages, list(FIELDS), idl.ReadOptions()))


class Client(asyncio.Protocol):
    """A connection that has one call in flight at most."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.left = -1
        self.intended_s = 0.0

    def connection_made(self, transport) -> None:
        self.transport = transport

    def send(self, data: bytes, intended_s: float) -> None:
        self.intended_s = intended_s
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self.left < 0:
            assert data[7] == 2, data[:200]
            self.left = 4 + int.from_bytes(data[:4])
        self.left -= len(data)
        if not self.left:
            self.left = -1
            self.load.done(self)


class Load:
    """Sends calls for some seconds, and collects their latencies."""

    def __init__(self, calls: list[bytes], rate: float, seconds: float) -> None:
        self.latencies: list[float] = []
        self._calls = calls
        self._rate = rate
        self._until_s = time.perf_counter() + seconds
        self._idle: deque[Client] = deque()
        self._late: deque[float] = deque()
        self._over = asyncio.Event()
        self._sent = 0

    async def run(self, port: int, connections: int) -> None:
        loop = asyncio.get_running_loop()
        clients = []
        for _ in range(connections):
            _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", port)
            clients.append(client)
        if self._rate:
            self._idle.extend(clients)
            self._next_s = time.perf_counter()
            loop.call_soon(self._send_due)
        else:
            for client in clients:
                self._send(client, time.perf_counter())
        await self._over.wait()
        await asyncio.sleep(0.2)
        for client in clients:
            client.transport.abort()

    def _send_due(self) -> None:
        """Send what is due; runs in a busy loop, because timers are too coarse."""
        now_s = time.perf_counter()
        while self._next_s <= now_s:
            if self._idle:
                self._send(self._idle.popleft(), self._next_s)
            else:
                self._late.append(self._next_s)
            self._next_s += random.expovariate(self._rate)
        if now_s < self._until_s:
            asyncio.get_running_loop().call_soon(self._send_due)
        else:
            self._over.set()

    def _send(self, client: Client, intended_s: float) -> None:
        client.send(self._calls[self._sent % len(self._calls)], intended_s)
        self._sent += 1

    def done(self, client: Client) -> None:
        now_s = time.perf_counter()
        self.latencies.append(now_s - client.intended_s)
        if self._rate:
            if self._late:
                self._send(client, self._late.popleft())
            else:
                self._idle.append(client)
        elif now_s < self._until_s:
            self._send(client, now_s)
        else:
            self._over.set()


def measure(
    name: str, folder: Path, calls: list[bytes], rate: float, seconds: float, connections: int
) -> tuple[float, float, float, float]:
    """CPU in us a call, calls/s, p50 and p99 in ms."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
        port = sock.getsockname()[1]
        command = [sys.executable, "-m", "bench.serving_peers.serve", name, str(folder)]
        if shutil.which("taskset"):
            command = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
        server = subprocess.Popen([*command, str(sock.fileno())], pass_fds=[sock.fileno()])
    try:
        wait_for(port, calls)
        before_s, began_s = cpu_s(server.pid), time.perf_counter()
        load = Load(calls, rate, seconds)
        uvloop.run(load.run(port, connections))
        took_s = time.perf_counter() - began_s
        cpu_us = (cpu_s(server.pid) - before_s) / len(load.latencies) * 1e6
    finally:
        server.kill()
        server.wait()
    found = statistics.quantiles(load.latencies, n=100)
    return cpu_us, len(load.latencies) / (took_s - 0.2), found[49] * 1000, found[98] * 1000


def wait_for(port: int, calls: list[bytes]) -> None:
    """Wait until the server answers, and warm it up."""
    until_s = time.monotonic() + READY_S
    while time.monotonic() < until_s:
        try:
            uvloop.run(asyncio.wait_for(Load(calls, 0, 0.3).run(port, 4), 10))
            return
        except (OSError, TimeoutError):
            time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", default="0,12500,2000")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        gets, batches = [one() for _ in range(20_000)], [batch() for _ in range(400)]
        rates = [float(rate) for rate in given.rates.split(",")]
        row = "{:32} {:>12} {:>10} {:>8} {:>8}"
        print(row.format("server", "CPU us", "calls/s", "p50 ms", "p99 ms"))
        row = "{:32} {:12.1f} {:10.0f} {:8.2f} {:8.2f}"
        for server in ("thrift", "thriftpy2-threaded"):
            for rate in rates:
                label = f"{server} get {f'{rate:.0f}/s' if rate else 'closed'}"
                found = measure(server, folder, gets, rate, given.seconds, given.connections)
                print(row.format(label, *found), flush=True)
        cpu, *found = measure("thrift", folder, batches, 0, given.seconds, 4)
        print(row.format(f"thrift getMany({BATCH})", cpu, *found))
        print(f"thrift getMany({BATCH}): {cpu / BATCH:.2f} us of CPU and 1/{cpu / BATCH:.2f}us = "
              f"{1e6 * BATCH / cpu:.0f} URLs/s a core")  # fmt: skip
        if given.peers:
            for peer in ("aragog", "uvicorn-httptools", "hand-written"):
                cpu, rate, p99 = serving.measure(peer, folder, 5000, 16)
                print(row.format(f"HTTP {peer} closed", cpu, rate, 0, p99))


if __name__ == "__main__":
    main()
