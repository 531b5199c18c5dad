"""
Measure the memory that a crawl adds to a waiting URL, and check its counts after kills.

    python -m bench.crawls memory
    python -m bench.crawls estimate [--urls 20000]
    python -m bench.crawls faults [--urls 1000000] [--end-by deadline] [--qps 0.002]
                                   [--broker postgres]

`memory` enqueues the same URLs without a name, for one crawl, and for two crawls, on a private
redis-server, and prints the memory of the in-flight set and of the whole server. It exits with 1
if one crawl adds more than 16 bytes per URL to the whole server.

`estimate` compares the time left in a report with a simulation of the same web
(`bench.simulate.small`), for crawls limited by the rates of their domains.

`faults` runs the standalone system against an origin on loopback: URLs of many crawls on many
hosts, a tenth of them wanted by two crawls. Half of the crawls are paused and resumed, then the
other half is cancelled, all while their URLs wait. All processes are killed twice with SIGKILL,
including redis-server and the broker's servers. With `--broker redis` or `postgres` the jobs are on
`--shards` servers, and the last of them is dead from before the pause until after the cancellation
must have taken effect.

Everything is checked while only the servers run, after the second kill, and at the end. With
`--end-by deadline` the remaining crawls but two get a deadline (`until`) then, and with `--end-by
cancel` they are cancelled; the broker's last server is dead again meanwhile. With `--qps` far below 1
nearly all URLs wait until the end. With `--end-by work` the run ends when no URL waits, or after
`--for-s` by cancelling the rest. It exits with 1 unless

- for each crawl, the enqueued URLs equal the sum of stored, other outcomes, cancelled and waiting;
- the count of enqueued URLs is the number that was enqueued;
- URLs counted as waiting are in flight, and each waiting URL is in a message or in a line;
- no URL was requested for stopped crawls alone more than 10 s after they were paused or cancelled,
  or after their deadline;
- crawls that were not stopped are requested during each stop, even while a broker server is dead,
  and so are resumed ones;
- the pages of each crawl that was not cancelled record it, and their number equals its count;
- at the end no URL waits, and none is left in flight.

It also prints the rate of the producers, the memory of `redis.url`, and which scripts blocked it
for more than 50 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import redis

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.stages.crawl_reports import Pace, open_domains
from aragog.settings import RedisSettings, Settings
from aragog.standalone.redis_server import RedisServer
from bench.crawl_faults import faults, produce
from bench.crawl_shards import KINDS
from bench.quick import add_quick
from bench.simulate.parts import Machines
from bench.simulate.small import SmallCrawl
from bench.simulate.web import Web

MEMORY_URLS = 100_000
MAX_CRAWL_BYTES = 16.0
"""A crawl may add this much memory to a waiting URL that no other crawl wants."""
ESTIMATED_URLS = 20_000
WHOLE_SERVER = "all of Redis"
URLS_PER_HOST = 100
"""In a smaller run, a host has as many URLs, so that robots.txt is as small a part of the work."""


def memory(count: int) -> bool:
    """
    Print the bytes per waiting URL without a crawl, with one and with two crawls.

    Returns False if one crawl adds more than `MAX_CRAWL_BYTES`.
    """
    columns = {"no name": (), "a crawl": ("docs",), "two crawls": ("docs", "news")}
    rows = {}
    for title, names in columns.items():
        with (
            tempfile.TemporaryDirectory(prefix="ar") as folder,
            RedisServer(Path(folder) / "redis") as server,
        ):
            settings = replace(
                Settings(), data_dir=Path(folder), redis=RedisSettings(url=server.url)
            )
            client = redis.Redis.from_url(server.url)
            rows[title] = _sizes(settings, client, names, count)
    print(
        f"{'':24}" + "".join(f"{title:>12}" for title in rows) + f"   bytes per URL, {count:,} URLs"
    )
    for part in rows["no name"]:
        print(f"{part:24}" + "".join(f"{row[part]:12.1f}" for row in rows.values()))
    added = rows["a crawl"][WHOLE_SERVER] - rows["no name"][WHOLE_SERVER]
    print(f"a crawl adds {added:.1f} bytes per URL; the limit is {MAX_CRAWL_BYTES:.0f}")
    return added <= MAX_CRAWL_BYTES


def _sizes(
    settings: Settings, server: redis.Redis, crawls: Sequence[str], count: int
) -> dict[str, float]:
    """Return the memory of URLs that each of these crawls wants."""
    with Aragog(settings) as client:
        control = crawl_control(settings)
        for name in crawls:
            for _ in range(100):  # a three-digit number, as after a hundred crawls
                control.start(name, {})
                control.cancel(name)
            control.start(name, {})
        before = int(server.info("memory")["used_memory_dataset"])
        for name in crawls or [""]:
            hosts = max(1, count // URLS_PER_HOST)
            urls = (f"https://www.site-{n % hosts}.example/articles/{n}" for n in range(count))
            for result in client.enqueue_all(urls, request_id="12345678", crawl=name):
                assert result.status in (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING), result
        after = int(server.info("memory")["used_memory_dataset"])
    in_flight = server.memory_usage("aragog:in_flight", samples=0) or 0
    return {"in-flight set": in_flight / count, WHOLE_SERVER: (after - before) / count}


def estimate(urls: int) -> None:
    """
    Print the estimated time left, by the rates of open domains, and that of a simulated
    crawl.
    """
    for count in (urls // 10, urls):
        web = Web(domains=200, urls=count)
        simulated = SmallCrawl(web, Settings(), Machines(processes=20, canonicalize_s=1e4))
        domains = {f"d{n}": domain for n, domain in enumerate(simulated.domains)}
        paces = {name: Pace(1e6 / domain.limit.interval_us) for name, domain in domains.items()}
        waiting = {name: domain.urls for name, domain in domains.items()}
        record = CrawlRecord(name="simulated", number=2)
        left_s = max(d.seconds_left or 0.0 for d in open_domains(record, waiting, paces))
        result = simulated.run()
        simulated_s = result.share_done_s(1.0)
        print(
            f"{result.urls:,} URLs on {len(domains)} domains: {left_s:,.0f} s by rates, "
            f"{simulated_s:,.0f} s simulated, {left_s / simulated_s - 1:+.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("memory", "estimate", "faults"))
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, help="default: one per 100 URLs")
    parser.add_argument("--crawls", type=int, default=20)
    parser.add_argument("--producers", type=int, default=2, help="processes that enqueue at once")
    parser.add_argument("--producer", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--qps", type=float, help="requests a second to a host; default: 10")
    parser.add_argument("--end-by", choices=("work", "cancel", "deadline"), default="work")
    parser.add_argument("--broker", choices=KINDS, default="standalone")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--for-s", type=float, default=600)
    parser.add_argument("--folder", help="where to make the folder of the system")
    add_quick(parser, urls=2_000, hosts=20, producers=1, qps=2.0, end_by="deadline")
    options = parser.parse_args()
    if options.what == "memory":
        sys.exit(not memory(min(options.urls, MEMORY_URLS)))
    options.hosts = options.hosts or max(options.crawls, options.urls // URLS_PER_HOST)
    if options.what == "estimate":
        estimate(min(options.urls, ESTIMATED_URLS))
    elif options.producer is not None:
        produce(options, options.producer)
    elif faults(options):
        sys.exit(1)


if __name__ == "__main__":
    main()
