"""
Measure back-pressure: the rate and memory of a crawl that fetches faster than it stores.

    python -m bench.backpressure [--urls 6000] [--domains 150] [--spool-mb 4] [--maxmemory-mb 200]

The standalone system crawls pages of 57 KB from an origin on loopback. First it measures the rate of
canonicalize alone: its queue is filled with everything else paused, then processed. Then the crawl
runs to its end. It prints the peak memory of Redis and the spool, stored pages a second relative to
canonicalize alone, and how often each URL was requested (more than once is an error).
For a large crawl use `--urls 120000 --domains 3000` with the default spool.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import redis

from bench.crawl.environ import use_environ
from bench.crawl.pages import page
from bench.crawl.protocol import OriginProtocol

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = 40
ROBOTS = b"User-agent: *\nDisallow: /private/\n"


class Connection(OriginProtocol):
    """One connection of the origin; requests have no bodies."""

    templates: list[bytes]
    port: int
    asked: ClassVar[Counter[str]] = Counter()

    def response(self, host: bytes, path: bytes) -> bytes:
        if path == b"/asked":
            body = json.dumps([self.asked.total(), max(self.asked.values(), default=0)]).encode()
        elif path == b"/robots.txt":
            body = ROBOTS
        else:
            self.asked[(host + path).decode()] += path.startswith(b"/crawl/")
            template = self.templates[hash(path) % TEMPLATES]
            body = template.replace(b"template.test", host).replace(b"/page/0", path)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


async def serve(port: int) -> None:
    Connection.templates = [
        page("template.test", "/page/0", port) + b"<!-- %d -->" % n for n in range(TEMPLATES)
    ]
    server = await asyncio.get_running_loop().create_server(
        Connection, "127.0.0.1", port, backlog=512
    )
    print("ready", flush=True)
    await server.serve_forever()


@contextmanager
def origin():
    """The origin as a process of its own; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, "-m", "bench.backpressure", "--origin", str(port)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield port
    finally:
        process.kill()
        process.wait()


def asked(port: int) -> tuple[int, int]:
    """Requests in all, and of the URL that was asked for most often."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /asked HTTP/1.1\r\n\r\n")
        return tuple(json.loads(connection.recv(65_536).rpartition(b"\r\n")[2]))


@contextmanager
def system(port: int, folder: Path, options: argparse.Namespace):
    """The standalone system without Flower and the read API."""
    use_environ(port, folder)
    if options.spool_mb:
        os.environ["ARAGOG_PIPELINE__SPOOL_MAX_BYTES"] = str(int(options.spool_mb * 2**20))
    if options.maxmemory_mb:
        name = "ARAGOG_STANDALONE__REDIS_MAX_MEMORY_BYTES"
        os.environ[name] = str(int(options.maxmemory_mb * 2**20))
    from aragog.settings import load_settings
    from aragog.standalone.supervisor import Supervisor
    from aragog.standalone.system import PRELOAD, environment, start

    settings = load_settings()
    supervisor = Supervisor(folder, environment(settings), PRELOAD)
    supervisor.acquire()
    try:
        start(supervisor, settings, front=("beat",))
        server = redis.Redis.from_url(settings.resolved().redis.url)
        yield settings, server
    finally:
        supervisor.stop()


def until(fact, *, every_s: float = 0.2) -> float:
    """How long it took until `fact()` was true."""
    began_s = time.monotonic()
    while not fact():
        time.sleep(every_s)
    return time.monotonic() - began_s


def urls(port: int, count: int, domains: int, name: str) -> list[str]:
    return [f"http://{name}{n % domains:04d}.test:{port}/{name}/{n}" for n in range(count)]


def canonicalize_alone(client, admin, server, port: int) -> float:
    """Pages a second when nothing else runs."""

    def queue(name):
        return admin.status(name).sizes

    admin.pause("canonicalize")
    admin.pause("store")
    before = client.counters().get("fetched", 0)
    client.enqueue(urls(port, 2000, 200, "alone"))

    def filled():
        closed = server.hget("aragog:spool", "closed")
        return closed or client.counters().get("fetched", 0) - before == 2000

    until(filled)
    admin.pause("fetch")
    admin.pause("robots")
    until(lambda: queue("fetch").running == queue("robots").running == 0)
    admin.resume("canonicalize")
    until(lambda: queue("canonicalize").running)
    pages = client.counters()["fetched"] - before
    took_s = until(lambda: not (queue("canonicalize").running + queue("canonicalize").pending))
    for name in ("fetch", "robots", "store"):
        admin.resume(name)
    until(lambda: not client.in_flight())
    return pages / took_s


def main(options: argparse.Namespace) -> None:
    with (
        origin() as port,
        tempfile.TemporaryDirectory(prefix="arb") as folder,
        system(port, Path(folder), options) as (settings, server),
    ):
        from aragog.client import Aragog
        from aragog.pinlater.admin import Admin

        broker = settings.resolved().broker
        admin = Admin.connect(broker.url, broker.shards)
        with Aragog(settings) as client:
            client.enqueue(urls(port, 200, 100, "warm"))
            until(lambda: not client.in_flight())
            alone = canonicalize_alone(client, admin, server, port)
            before = client.counters()
            server.config_resetstat()
            given = urls(port, options.urls, options.domains, "crawl")
            began_s = time.monotonic()
            client.enqueue(given)
            spool_most = closings = 0
            closed = False
            most_memory = 0
            while client.in_flight():
                time.sleep(0.25)
                used, flag = server.hmget("aragog:spool", "bytes", "closed")
                closings += bool(flag) and not closed
                closed = bool(flag)
                spool_most = max(spool_most, int(used or 0))
                most_memory = max(most_memory, server.info("memory")["used_memory"])
                if options.verbose:
                    now = {k: v - before.get(k, 0) for k, v in client.counters().items()}
                    print(f"{time.monotonic() - began_s:6.1f}s", now, int(used or 0), closed)
            seconds = time.monotonic() - began_s
            now = {k: v - before.get(k, 0) for k, v in client.counters().items()}
            total, most = asked(port)
        stored = now.get("stored", 0) / seconds
        print(f"{options.urls} URLs on {options.domains} domains in {seconds:.0f} s: {now}")
        print(
            f"Redis at most {most_memory / 1e6:.0f} MB, of it the spool {spool_most / 1e6:.1f} MB"
        )
        print(f"the spool closed {closings} times")
        print(f"canonicalize alone {alone:.1f}/s, stored {stored:.1f}/s: {stored / alone:.2f}")
        print(f"asked {total} times, one URL {most} times at most")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=6000)
    parser.add_argument("--domains", type=int, default=150)
    parser.add_argument("--spool-mb", type=float, help="default: the setting's own")
    parser.add_argument("--maxmemory-mb", type=float, help="of the private redis-server")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--origin", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.origin:
        asyncio.run(serve(chosen.origin))
    else:
        main(chosen)
