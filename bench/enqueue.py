"""
Measure a producer: URLs a second through the path of `aragog enqueue`, CPU, and memory.

    python -m bench.enqueue [LINES] [HOSTS]

A private redis-server, one producer process that reads lines as `aragog enqueue FILE` does (a
file of LINES URLs, one million by default, over HOSTS host names), no worker. For each tenth it
prints URLs a second, the producer's and the server's CPU in µs a URL, and resident memory. The
producer's memory must stay constant; the server's grows with the URLs in flight.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from pathlib import Path

import redis
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from aragog.cli.enqueue import LineReader
from aragog.client import Aragog
from aragog.settings import RedisSettings, Settings
from aragog.standalone.redis_server import RedisServer
from bench.quick import add_quick


def write_urls(path: Path, lines: int, hosts: int) -> None:
    """URLs as crawls have them: some with a query, some with tracking parameters, host by host."""
    each = max(1, lines // hosts)
    with path.open("w") as file:
        for number in range(lines):
            host = f"www.site-{number // each}.example"
            query = ("", "", f"?id={number}", f"?utm_source=feed&page={number % 9}")[number % 4]
            file.write(f"https://{host}/articles/{number % 97}/some-title-of-{number}{query}\n")


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def main(lines: int, hosts: int) -> None:
    table = Table("URLs", "URLs/s", "producer µs", "server µs", "producer MB", "server MB")
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        file = Path(folder) / "urls.txt"
        write_urls(file, lines, hosts)
        settings = dataclasses.replace(Settings(), data_dir=Path(folder))
        with RedisServer(Path(folder) / "redis", persistent=True) as server:
            url = f"{server.url}"
            settings = dataclasses.replace(settings, redis=RedisSettings(url=url))
            rounds(settings, file, max(1, lines // 10), redis.Redis.from_url(url), table)
    Console().print(table)


def rounds(settings: Settings, file: Path, each: int, server: redis.Redis, table: Table) -> None:
    """A row for every `each` URLs."""

    def server_cpu_s() -> float:
        info = server.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    with Aragog(settings) as client, Progress(disable=True) as progress:
        lines = LineReader((str(file),), progress)
        started, client_s, server_s = time.perf_counter(), time.process_time(), server_cpu_s()
        for done, _ in enumerate(zip(client.enqueue_all(lines), lines.places(), strict=False), 1):
            if done % each:
                continue
            took_s = time.perf_counter() - started
            table.add_row(
                f"{done:,}",
                f"{each / took_s:,.0f}",
                f"{(time.process_time() - client_s) / each * 1e6:.1f}",
                f"{(server_cpu_s() - server_s) / each * 1e6:.1f}",
                f"{resident_mb():.0f}",
                f"{server.info('memory')['used_memory'] / 1e6:.0f}",
            )
            started, client_s, server_s = time.perf_counter(), time.process_time(), server_cpu_s()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", nargs="?", type=int, default=1_000_000)
    parser.add_argument("hosts", nargs="?", type=int, default=10_000)
    add_quick(parser, lines=20_000, hosts=200)
    options = parser.parse_args()
    main(options.lines, options.hosts)
