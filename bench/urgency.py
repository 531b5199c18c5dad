"""
Measure how long urgent and unrelated URLs take while others wait.

    python -m bench.urgency backlog [--waiting 200000]     # one domain's backlog, then 100 domains
    python -m bench.urgency priority [--waiting 1000000]   # 10 URLs per domain, then priority 0
    python -m bench.urgency domain [--waiting 5000] [--qps 10] [--urgent 20]

The standalone system crawls an origin on loopback. `backlog` enqueues the URLs of one domain, and
immediately after them one URL of each of 100 other domains. `priority` enqueues ten URLs of each
domain, and then ten URLs of priority 0 one by one. `domain` enqueues the URLs of one domain, and
then URLs of priority 0 of the same domain one by one, each at a different phase of its interval. It
prints when they were stored (fetch slot, robots.txt, canonicalize and store included), and the same
for the idle system in the same run. `domain` also prints when their requests arrived at the origin,
counted from the call that enqueued them, in seconds and in intervals, and the shortest gap between
two requests.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from aragog.bootstrap.redis_services import redis_client
from aragog.client import Aragog
from aragog.crawl.pipeline.in_flight import InFlightSet
from bench.backpressure import Origin, origin, system
from bench.quick import add_quick

OTHER_DOMAINS = 100
URGENT = 10
MAX_WAIT_S = 120.0


@dataclass(frozen=True)
class RunningSystem:
    """A running system and its origin."""

    client: Aragog
    in_flight: InFlightSet
    web: Origin

    @property
    def port(self) -> int:
        return self.web.port

    def urls(self, name: str, count: int) -> list[str]:
        """Return one URL of each of a number of domains."""
        return [f"http://{name}{n}.test:{self.port}/{name}/{n}" for n in range(count)]

    def enqueue(self, urls: Iterator[str]) -> None:
        started_s = time.monotonic()
        count = sum(1 for _ in self.client.enqueue_all(urls))
        print(f"{count:,} URLs enqueued in {time.monotonic() - started_s:.0f} s", flush=True)

    def seconds(self, urls: list[str], priority: int = 5) -> list[float]:
        """Return the seconds from enqueue until each URL left the in-flight set, shortest first."""
        started_s = time.monotonic()
        self.client.enqueue(urls, priority=priority)
        took_s, waiting_urls = [], set(urls)
        while waiting_urls and time.monotonic() - started_s < MAX_WAIT_S:
            finished = {url for url in waiting_urls if not self.in_flight.contains(url)}
            waiting_urls -= finished
            took_s += [time.monotonic() - started_s] * len(finished)
            time.sleep(0.02)
        return took_s + [float("inf")] * len(waiting_urls)

    def one_by_one(self, urls: list[str]) -> list[float]:
        """
        Return the same for URLs of priority 0 enqueued one by one, each after the previous one is
        stored.
        """
        return sorted(self.seconds([url], 0)[0] for url in urls)


def report(name: str, took_s: list[float]) -> None:
    median_s = took_s[len(took_s) // 2]
    print(f"{name}: half after {median_s:.2f} s, the last after {took_s[-1]:.2f} s", flush=True)


def backlog(running: RunningSystem, waiting: int) -> None:
    report("idle", running.seconds(running.urls("idle", OTHER_DOMAINS)))
    running.enqueue(f"http://big.test:{running.port}/crawl/{n}" for n in range(waiting))
    report("right after them", running.seconds(running.urls("other", OTHER_DOMAINS)))
    report("later", running.seconds(running.urls("later", OTHER_DOMAINS)))


def priority(running: RunningSystem, waiting: int) -> None:
    report("idle, one by one", running.one_by_one(running.urls("idle", URGENT)))
    domains = waiting // 10
    running.enqueue(f"http://w{n % domains}.test:{running.port}/crawl/{n}" for n in range(waiting))
    report("priority 0, one by one", running.one_by_one(running.urls("urgent", URGENT)))


def domain(running: RunningSystem, waiting: int, urgent: int, qps: float) -> None:
    authority = f"big.test:{running.port}"
    running.seconds([f"http://{authority}/known/0"])  # so that its robots.txt is cached
    enqueue_one_by_one(running, [f"http://{authority}/idle/{n}" for n in range(urgent)], qps)
    running.enqueue(f"http://{authority}/crawl/{n}" for n in range(waiting))
    time.sleep(max(2.0, 2 / qps))
    enqueue_one_by_one(running, [f"http://{authority}/urgent/{n}" for n in range(urgent)], qps)
    requested_s = [at_s for at_s, url in running.web.arrivals() if url.startswith("big.test/")]
    gaps_s = sorted(next_s - previous_s for previous_s, next_s in pairwise(requested_s))
    print(f"{len(requested_s)} requests, the closest two {gaps_s[0]:.3f} s apart", flush=True)


def enqueue_one_by_one(running: RunningSystem, urls: Sequence[str], qps: float) -> None:
    """
    Enqueue URLs of priority 0 one by one, each after the previous is stored and in
    another phase.
    """
    enqueued_s, stored_s = {}, []
    for url in urls:
        time.sleep(random.uniform(0, 1 / qps))
        enqueued_s[url] = time.time()
        stored_s += running.seconds([url], 0)
    port = f":{running.port}"
    arrived_s = {url.replace("/", f"{port}/", 1): at_s for at_s, url in running.web.arrivals()}
    sent_s = sorted(
        arrived_s.get(url.removeprefix("http://"), float("inf")) - at_s
        for url, at_s in enqueued_s.items()
    )
    phase = urls[0].split("/")[3]
    report(f"{phase}, one by one, until stored", sorted(stored_s))
    report(f"{phase}, one by one, until sent", sent_s)
    over_two = sum(at_s * qps > 2 for at_s in sent_s)
    print(
        f"{phase}, in intervals: half after {sent_s[len(sent_s) // 2] * qps:.2f}, "
        f"the last after {sent_s[-1] * qps:.2f} ({over_two} of {len(sent_s)} over 2)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("backlog", "priority", "domain"))
    parser.add_argument("--waiting", type=int)
    parser.add_argument("--qps", type=float, default=10.0, help="requests per second to a domain")
    parser.add_argument(
        "--urgent", type=int, default=20, help="number of urgent URLs of the domain"
    )
    parser.add_argument("--spool-mb", type=float, default=None)
    parser.add_argument("--maxmemory-mb", type=float, default=None)
    add_quick(parser, waiting=500, urgent=5)
    args = parser.parse_args()
    os.environ["ARAGOG_POLITENESS__QPS"] = str(args.qps)
    with (
        origin() as web,
        tempfile.TemporaryDirectory(prefix="aru") as folder,
        system(web.port, Path(folder), args) as (settings, _server),
        Aragog(settings) as client,
    ):
        in_flight = InFlightSet(redis_client(settings), prefix=settings.redis.prefix)
        running = RunningSystem(client, in_flight, web)
        running.seconds(running.urls("warm", OTHER_DOMAINS))
        print(f"load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
        if args.what == "backlog":
            backlog(running, args.waiting or 200_000)
        elif args.what == "domain":
            domain(running, args.waiting or 5_000, args.urgent, args.qps)
        else:
            priority(running, args.waiting or 1_000_000)


if __name__ == "__main__":
    main()
