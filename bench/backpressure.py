"""
Measure back-pressure: the rate and memory of a crawl that fetches faster than it stores.

    python -m bench.backpressure [--urls 6000] [--domains 150] [--spool-mb 4] [--maxmemory-mb 200]

The standalone system crawls pages of 57 KB from nginx on loopback. First it measures the rate of
canonicalize alone: its queue is filled with everything else paused, then processed. Then the crawl
runs to its end. It prints the peak memory of Redis and the spool, stored pages per second relative
to canonicalize alone, the CPU time of each kind of process (the upkeep worker compacts links), and
how often each URL was requested (more than once is an error). For a large crawl use `--urls 120000
--domains 3000` with the default spool.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import redis

from bench.crawl.environ import use_environ
from bench.crawl.origin import serve
from bench.crawl.pages import page
from bench.crawl.sides import cpu_s_by_role
from bench.quick import add_quick

SERVER = """
location / {{
    try_files /page.html =404;
    sub_filter template.test $host;
    sub_filter /page/0 $request_uri;
    sub_filter_once off;
    access_log {folder}/asked asked buffer=64k flush=100ms;
}}
"""
"""Every path returns the page, with links to the requested host."""


class Origin(NamedTuple):
    """nginx, and its log of requests."""

    port: int
    log: Path

    def count_requests(self) -> tuple[int, int]:
        """
        Return the number of requests by the crawl, and of requests for the most
        requested URL.
        """
        counts = Counter(url for _, url in self.arrivals() if "/crawl/" in url)
        return counts.total(), max(counts.values(), default=0)

    def arrivals(self) -> list[tuple[float, str]]:
        """
        Return the arrival time (seconds since the epoch, with ms), host and path of
        each request.
        """
        time.sleep(1)  # nginx writes its log every 0.1 s
        lines = (line.split(" ", 2) for line in self.log.read_text().splitlines())
        return sorted((float(ended_s) - float(took_s), url) for ended_s, took_s, url in lines)


@contextmanager
def origin() -> Iterator[Origin]:
    """Serve one page under all URLs. Its CPU does not count as aragog's."""
    with tempfile.TemporaryDirectory(prefix="bpo") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with serve(folder, SERVER.format(folder=folder)) as port:
            (folder / "page.html").write_bytes(page("template.test", "/page/0", port))
            yield Origin(port, folder / "asked")


@contextmanager
def system(port: int, folder: Path, options: argparse.Namespace):
    """Run the standalone system without Flower and the read API."""
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
        start(supervisor, settings, frontends=("beat",))
        server = redis.Redis.from_url(settings.resolved().redis.url)
        yield settings, server
    finally:
        supervisor.stop()


def wait_until(is_true, *, every_s: float = 0.2) -> float:
    """Wait until `is_true()` is true, and return how long it took."""
    started_s = time.monotonic()
    while not is_true():
        time.sleep(every_s)
    return time.monotonic() - started_s


def urls(port: int, count: int, domains: int, name: str) -> list[str]:
    return [f"http://{name}{n % domains:04d}.test:{port}/{name}/{n}" for n in range(count)]


def canonicalize_alone(client, admin, server, port: int, count: int) -> float:
    """Return pages per second when nothing else runs."""

    def queue(name):
        return admin.status(name).sizes

    admin.pause("canonicalize")
    admin.pause("store")
    before = client.counters().get("fetched", 0)
    client.enqueue(urls(port, count, 200, "alone"))

    def is_filled():
        closed = server.hget("aragog:spool", "closed")
        return closed or client.counters().get("fetched", 0) - before == count

    wait_until(is_filled)
    admin.pause("fetch")
    admin.pause("robots")
    wait_until(lambda: queue("fetch").running == queue("robots").running == 0)
    admin.resume("canonicalize")
    wait_until(lambda: queue("canonicalize").running)
    pages = client.counters()["fetched"] - before
    took_s = wait_until(lambda: not (queue("canonicalize").running + queue("canonicalize").pending))
    for name in ("fetch", "robots", "store"):
        admin.resume(name)
    wait_until(lambda: not client.in_flight())
    return pages / took_s


def main(options: argparse.Namespace) -> None:
    with (
        origin() as web,
        tempfile.TemporaryDirectory(prefix="arb") as folder,
        system(web.port, Path(folder), options) as (settings, server),
    ):
        from aragog.client import Aragog
        from pinlater.admin import Admin

        broker = settings.resolved().broker
        admin = Admin.connect(broker.url, broker.shards)
        with Aragog(settings) as client:
            client.enqueue(urls(web.port, 200, 100, "warm"))
            wait_until(lambda: not client.in_flight())
            alone = canonicalize_alone(client, admin, server, web.port, min(2000, options.urls))
            before = client.counters()
            server.config_resetstat()
            crawled_urls = urls(web.port, options.urls, options.domains, "crawl")
            cpu_s = cpu_s_by_role(with_origin=True)
            started_s = time.monotonic()
            client.enqueue(crawled_urls)
            max_spool_bytes = closings = 0
            closed = False
            max_memory = 0
            while client.in_flight():
                time.sleep(0.25)
                used, flag = server.hmget("aragog:spool", "bytes", "closed")
                closings += bool(flag) and not closed
                closed = bool(flag)
                max_spool_bytes = max(max_spool_bytes, int(used or 0))
                max_memory = max(max_memory, server.info("memory")["used_memory"])
                if options.verbose:
                    counted = {k: v - before.get(k, 0) for k, v in client.counters().items()}
                    print(f"{time.monotonic() - started_s:6.1f}s", counted, int(used or 0), closed)
            seconds = time.monotonic() - started_s
            cpu_s = cpu_s_by_role(with_origin=True) - cpu_s
            counted = {k: v - before.get(k, 0) for k, v in client.counters().items()}
            requests, max_per_url = web.count_requests()
        stored = counted.get("stored", 0) / seconds
        print(f"{options.urls} URLs on {options.domains} domains in {seconds:.0f} s: {counted}")
        print(
            f"peak of Redis {max_memory / 1e6:.0f} MB, of the spool {max_spool_bytes / 1e6:.1f} MB"
        )
        print(f"the spool closed {closings} times")
        print(f"canonicalize alone {alone:.1f}/s, stored {stored:.1f}/s: {stored / alone:.2f}")
        cpu_ms = ", ".join(f"{k} {v / options.urls * 1000:.2f}" for k, v in cpu_s.most_common())
        print(f"CPU ms per page: {cpu_ms}")
        print(f"{requests} requests, at most {max_per_url} for one URL")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=6000)
    parser.add_argument("--domains", type=int, default=150)
    parser.add_argument("--spool-mb", type=float, help="default: the setting's own")
    parser.add_argument("--maxmemory-mb", type=float, help="of the private redis-server")
    parser.add_argument("--verbose", action="store_true")
    add_quick(parser, urls=200, domains=20)
    main(parser.parse_args())
