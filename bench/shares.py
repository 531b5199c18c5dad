"""
Measure how long a small crawl waits for a bulk crawl of the same domain, and what shares cost.

    python -m bench.shares simulate [--bulk 100000] [--small 100]
    python -m bench.shares crawl [--bulk 100000] [--small 100] [--qps 5]
                                 [--broker standalone|redis|postgres]
    python -m bench.shares cost [--urls 100000]

`simulate` enqueues the bulk crawl, then the small one, in virtual time at the usual rate, with
shares, and without them (one line ordered by priority and arrival).

`crawl` does this with the standalone system and an origin on loopback, its jobs on Redis or
PostgreSQL, and cancels the rest of the bulk crawl once the small one is done. It exits with 1
unless the small crawl was done before the bulk one had twice as many pages plus `MAX_AHEAD`, and the
counts of both are exact.

`cost` parks URLs of 1, 2 and 20 crawls in lines on a private redis-server. It prints the bytes per
waiting URL, and redis-server's CPU per URL that is parked, taken and settled in groups of 6.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import redis

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.crawl.politeness.lines import LineEntry, Lines
from aragog.settings import Settings, load_settings
from aragog.standalone.redis_server import RedisServer
from bench.crawl_shards import KINDS, shards
from bench.crawl_system import System, origin
from bench.quick import add_quick
from bench.simulate.two_crawls import CrawlsOfADomain

BULK, SMALL = 2, 3
MAX_AHEAD = 500
"""The number of URLs of an earlier crawl that workers may already be processing."""
TAKE_LIMIT = 6
PAYLOAD = '{"url":"https://www.site.example/articles/%08d","request_id":"12345678","c":%d}'


def simulate(bulk: int, small: int) -> None:
    """Print when each crawl is done, with and without shares."""
    for label, are_apart in (("one line", False), ("shares", True)):
        done_s = CrawlsOfADomain(
            {BULK: bulk, SMALL: small}, Settings(), are_apart=are_apart
        ).done_s()
        print(
            f"{label:10} {small:,} URLs next to {bulk:,}: done after {done_s[SMALL]:,.0f} s; "
            f"the bulk crawl after {done_s[BULK]:,.0f} s"
        )


def crawl(options: argparse.Namespace) -> int:
    """Run both crawls on a system. Returns the number of violated invariants."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        origin() as web,
        shards(options.broker, 2, Path(folder)) as broker,
    ):
        system = System(Path(folder), web.port, broker, qps=options.qps)
        system.start()
        try:
            return _run_both(options)
        finally:
            system.stop()


def _run_both(options: argparse.Namespace) -> int:
    control = crawl_control(load_settings())
    with Aragog(load_settings()) as client:
        for name, count in (("bulk", options.bulk), ("small", options.small)):
            control.start(name, {})
            urls = (f"http://h0.test/{name}/{n}" for n in range(count))
            for result in client.enqueue_all(urls, crawl=name):
                assert result.status == "accepted", result
            if name == "bulk":
                before = control.status("bulk").counts.stored
    started_s = time.monotonic()
    while control.status("small").counts.waiting:
        if time.monotonic() - started_s > options.for_s:
            print(f"VIOLATED: the small crawl was not done within {options.for_s:.0f} s")
            return 1
        time.sleep(0.05)
    took_s = time.monotonic() - started_s
    bulk_pages = control.status("bulk").counts.stored - before
    control.cancel("bulk")
    counts = {name: control.status(name).counts for name in ("bulk", "small")}
    print(
        f"{options.broker}: {options.small:,} URLs next to {options.bulk:,} at {options.qps:g}/s: done after "
        f"{took_s:.1f} s, while {bulk_pages:,} pages of the bulk crawl were stored"
    )
    violations = [
        f"{name}: {crawl_counts}"
        for name, crawl_counts in counts.items()
        if not crawl_counts.is_exact
    ]
    if counts["small"].stored != options.small:
        violations.append(f"{counts['small'].stored} of {options.small} small URLs were stored")
    if bulk_pages > 2 * options.small + MAX_AHEAD:
        violations.append(f"{bulk_pages:,} pages of the bulk crawl came first")
    for text in violations:
        print(f"VIOLATED: {text}")
    return len(violations)


def cost(urls: int) -> None:
    """Print memory and CPU of lines whose URLs belong to one crawl or several."""
    print(f"{'crawls':>8}{'domains':>10}{'bytes/URL':>13}{'µs park':>10}{'µs take and settle':>20}")
    for crawls in (1, 2, 20):
        for domains in (1, urls // 100):
            with (
                tempfile.TemporaryDirectory(prefix="ar") as folder,
                RedisServer(Path(folder) / "redis") as server,
            ):
                row = _cost(redis.Redis.from_url(server.url), urls, crawls, domains)
            print(f"{crawls:8}{domains:10,}{row[0]:13.1f}{row[1]:10.1f}{row[2]:20.1f}")


def _cost(client: redis.Redis, urls: int, crawls: int, domains: int) -> tuple[float, float, float]:
    lines = Lines(client, prefix="b:")
    (server,) = lines.servers
    empty = int(client.info("memory")["used_memory_dataset"])
    started_s = _cpu_s(client)
    for start in range(0, urls, 25):
        lines.park([
            LineEntry(
                f"site{n % domains}.example", 5, (PAYLOAD % (n, 2 + n // domains % crawls)).encode(),
                share=2 + n // domains % crawls,
            )
            for n in range(start, min(start + 25, urls))
        ])  # fmt: skip
    parked_s = _cpu_s(client)
    size = int(client.info("memory")["used_memory_dataset"]) - empty
    keys = [f"site{n}.example" for n in range(domains)]
    count = 0
    while count < min(urls, 20_000):
        for start in range(0, len(keys), 50):
            batch = keys[start : start + 50]
            token, taken = server.take(dict.fromkeys(batch, TAKE_LIMIT))
            server.settle(token, [], dict.fromkeys(batch, 0))
            count += len(taken)
    return (
        size / urls,
        (parked_s - started_s) * 1e6 / urls,
        (_cpu_s(client) - parked_s) * 1e6 / count,
    )


def _cpu_s(client: redis.Redis) -> float:
    info = client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("simulate", "crawl", "cost"))
    parser.add_argument("--bulk", type=int, default=100_000)
    parser.add_argument("--small", type=int, default=100)
    parser.add_argument("--qps", type=float, default=5.0)
    parser.add_argument("--broker", choices=KINDS, default="standalone")
    parser.add_argument("--for-s", type=float, default=300)
    parser.add_argument("--urls", type=int, default=100_000)
    add_quick(parser, bulk=2_000, small=20, urls=2_000)
    options = parser.parse_args()
    if options.what == "simulate":
        simulate(options.bulk, options.small)
    elif options.what == "cost":
        cost(options.urls)
    elif crawl(options):
        sys.exit(1)


if __name__ == "__main__":
    main()
