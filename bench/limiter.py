"""
Measure the cost of a slot: requests per second, CPU on both sides, memory per domain.

    python -m bench.limiter [SECONDS]

A private redis-server on a unix socket and one client process, for a few seconds. Permits are those
of queued slots, acquired and released one by one, at a rate that needs no waiting.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import redis
from rich.console import Console
from rich.table import Table

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.slots import Slot, SlotRequest
from aragog.settings import PolitenessSettings
from aragog.standalone.redis_server import RedisServer
from bench import figures
from bench.quick import add_quick

DOMAINS = 100_000


def measure(client: redis.Redis, seconds: float, operations: int, call: Callable[[int], object]):
    """Return (operations/s, client CPU µs, server CPU µs) of calls with `operations` operations."""

    def server_cpu_s() -> float:
        info = client.info("cpu")
        return info["used_cpu_user"] + info["used_cpu_sys"]

    calls, server_s, client_s = 0, server_cpu_s(), time.process_time()
    started = time.perf_counter()
    while time.perf_counter() < started + seconds:
        call(calls)
        calls += 1
    took_s = time.perf_counter() - started
    client_us = (time.process_time() - client_s) / (calls * operations) * 1e6
    return (
        calls * operations / took_s,
        client_us,
        (server_cpu_s() - server_s) / (calls * operations) * 1e6,
    )


def main(seconds: float) -> None:
    table = Table("operation", "per second", "client µs", "server µs")
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as server:
        client = redis.Redis.from_url(server.url)
        limiter = Limiter([server.url], PolitenessSettings())

        def add(name: str, operations: int, call: Callable[[int], object]) -> float:
            rate, client_us, server_us = measure(client, seconds, operations, call)
            table.add_row(name, f"{rate:,.0f}", f"{client_us:.1f}", f"{server_us:.1f}")
            return server_us

        slots_us = add(
            "reserve, batches of 25", 25, lambda n: limiter.reserve(slot_requests(n, 25))
        )
        add("reserve, batches of 1", 1, lambda n: limiter.reserve(slot_requests(n, 1)))
        fast = Limiter([server.url], PolitenessSettings(qps=499))
        permits_us = add(
            "permit and release, uncontended", 25, lambda n: use_uncontended_slots(fast, n)
        )
        add("permit and release, queued", 1, lambda n: use_queued_slot(fast, n))
        add(
            "report successes",
            25,
            lambda n: fast.report_many((f"d{n}-{i}", True) for i in range(25)),
        )
        rules = RobotsCache(server.url, PolitenessSettings())
        for n in range(1000):
            rules.put(f"https://site-{n}.example", 200, ROBOTS % n, int(time.time() * 1000))
        add("robots rules, cached", 25, lambda n: rules.get_many(origins(n)))
        client.flushall()
        before = client.info("memory")["used_memory"]
        for n in range(0, DOMAINS, 1000):
            # Distant slots, because the keys must not expire while they are counted.
            limiter.reserve([SlotRequest(f"site-{n + i}.example", 30.0) for i in range(1000)])
        bytes_per_domain = (client.info("memory")["used_memory"] - before) / DOMAINS
        figures.report(redis_limiter=(slots_us + permits_us) / 1000, active_domain=bytes_per_domain)
        limiter.close()
        fast.close()
        rules.close()
    console = Console()
    console.print(table)
    console.print(f"memory of an active domain: {bytes_per_domain:.0f} bytes ({DOMAINS:,} domains)")


ROBOTS = b"User-agent: *\nDisallow: /private/%d\nCrawl-delay: 1\n"


def slot_requests(number: int, count: int) -> list[SlotRequest]:
    return [SlotRequest(f"site-{(number * count + i) % DOMAINS}.example") for i in range(count)]


def origins(number: int) -> list[str]:
    return [f"https://site-{(number * 25 + i) % 1000}.example" for i in range(25)]


def use_uncontended_slots(limiter: Limiter, number: int) -> None:
    for slot in limiter.reserve([SlotRequest(f"solo-{number}-{i}.example") for i in range(25)]):
        assert isinstance(slot, Slot)
        limiter.acquire_permit(slot)
        limiter.release_permit(slot)


def use_queued_slot(limiter: Limiter, number: int) -> None:
    slot = limiter.resume(f"queued-{number}.example", 0)
    limiter.permits.request(slot)
    limiter.release_permit(slot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=1.0, help="of each operation")
    add_quick(parser, seconds=0.05)
    main(parser.parse_args().seconds)
