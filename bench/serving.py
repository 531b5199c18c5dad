"""
Compare HTTP servers by the cost of one read from a real store.

    python -m bench.serving [--rounds 3] [--requests 6000] [--connections 16]

One process each, SQLite with 20,000 pages, four fields of a random page per request, keep-alive,
every server in each round in random order. CPU is that of the server process alone, user and
system. Latency is measured in a closed loop, so only comparisons are meaningful.

granian is skipped unless it is installed (bench/requirements.lock).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import uvloop

from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from bench.quick import add_quick
from zengraph.tables.sqlite import SqliteTables

SERVERS = (
    "aragog", "hand-written", "hand-written-loop", "uvicorn-httptools", "uvicorn-h11", "granian",
)  # fmt: skip
PAGES = 20_000
FIELDS = ("page.title", "page.description", "product.price", "team.score")
TICKS = os.sysconf("SC_CLK_TCK")


def fill(folder: Path) -> None:
    """Write pages with four fields."""
    tables = SqliteTables(folder, shards=16)
    tables.create()
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    for number in range(PAGES):
        values = (b'"Title"', b'"%s"' % (b"x" * 120), b'"39.00"', b"%d" % number)
        store.put(url(number), dict(zip(FIELDS, values, strict=True)))
    store.close()


def url(number: int) -> str:
    return f"http://h{number % 500}.example/p/{number}"


def cpu_s(pid: int) -> float:
    """Return the user and system time of a process with all its threads."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICKS


async def load(port: int, requests: int, connections: int) -> list[float]:
    """Return latencies in seconds."""
    latencies: list[float] = []
    numbers = iter(range(requests))

    async def run_connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in numbers:
            page = quote(url(random.randrange(PAGES)), safe="")
            target = f"/v1/urls?url={page}&fields={','.join(FIELDS)}&include="
            started_s = time.perf_counter()
            writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            latencies.append(time.perf_counter() - started_s)
        writer.close()

    await asyncio.gather(*(run_connection() for _ in range(connections)))
    return latencies


def measure(name: str, folder: Path, requests: int, connections: int) -> tuple[float, float, float]:
    """Return CPU in us per request, requests/s, and p99 in ms."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
        port = sock.getsockname()[1]
        command = [sys.executable, "-m", "bench.serving_peers.serve", name, str(folder)]
        server = subprocess.Popen([*command, str(sock.fileno())], pass_fds=[sock.fileno()])
    try:
        wait_for(port)
        uvloop.run(load(port, requests // 10, connections))
        before_s, started_s = cpu_s(server.pid), time.perf_counter()
        latencies = uvloop.run(load(port, requests, connections))
        took_s = time.perf_counter() - started_s
        cpu = (cpu_s(server.pid) - before_s) / requests * 1e6
    finally:
        server.kill()
        server.wait()
    return cpu, requests / took_s, statistics.quantiles(latencies, n=100)[98] * 1000


def wait_for(port: int) -> None:
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        try:
            uvloop.run(asyncio.wait_for(load(port, 1, 1), 5))
            return
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--connections", type=int, default=16)
    add_quick(parser, rounds=1, requests=300)
    options = parser.parse_args()
    names = [n for n in SERVERS if n != "granian" or importlib.util.find_spec("granian")]
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in random.sample(names, len(names)):
                result = measure(name, Path(folder), options.requests, options.connections)
                results[name].append(result)
    print(f"{'server':20} {'CPU us/request':>15} {'requests/s':>12} {'p99 ms':>8}")
    for name, result in results.items():
        cpu, rate, p99 = (statistics.median(column) for column in zip(*result, strict=True))
        print(f"{name:20} {cpu:15.0f} {rate:12.0f} {p99:8.1f}")


if __name__ == "__main__":
    main()
