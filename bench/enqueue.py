"""
Benchmark a producer on the code path of `aragog enqueue`: URLs per second, CPU, and memory.

    python -m bench.enqueue [LINES] [HOSTS]

It runs a private redis-server and one producer process, but no workers. The producer reads lines
the way `aragog enqueue FILE` does, from a file of LINES URLs (one million by default) on HOSTS host
names. After each tenth of the file it prints the URLs per second, the CPU time of the producer and
the server in µs per URL, and their memory. The producer's memory must stay constant; the server's
grows with the URLs in flight.
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
    """Write realistic URLs, host by host. Some have queries or tracking parameters."""
    urls_per_host = max(1, lines // hosts)
    with path.open("w") as file:
        for number in range(lines):
            host = f"www.site-{number // urls_per_host}.example"
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


def rounds(
    settings: Settings, file: Path, urls_per_row: int, server: redis.Redis, table: Table
) -> None:
    """Enqueue the file, and add a row to the table after every `urls_per_row` URLs."""

    def server_cpu_s() -> float:
        info = server.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    with Aragog(settings) as client, Progress(disable=True) as progress:
        lines = LineReader((str(file),), progress)
        started, client_s, server_s = time.perf_counter(), time.process_time(), server_cpu_s()
        for count, _ in enumerate(
            zip(client.enqueue_all(lines), lines.line_sources(), strict=False), 1
        ):
            if count % urls_per_row:
                continue
            took_s = time.perf_counter() - started
            table.add_row(
                f"{count:,}",
                f"{urls_per_row / took_s:,.0f}",
                f"{(time.process_time() - client_s) / urls_per_row * 1e6:.1f}",
                f"{(server_cpu_s() - server_s) / urls_per_row * 1e6:.1f}",
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
