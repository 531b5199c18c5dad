"""
What a crawl adds to a waiting URL, and whether its counts stay exact when everything is killed.

    python -m bench.crawls memory
    python -m bench.crawls estimate [--urls 20000]
    python -m bench.crawls faults [--urls 1000000] [--hosts 10000] [--crawls 20] [--for-s 600] [--broker postgres]

`memory` enqueues the same URLs without a name and for a crawl, on a private redis-server, and prints
what the in-flight set and the messages take.

`estimate` compares the time left of a report with the simulation of the same web (`bench.simulate.small`), for crawls
that the rates of their domains limit.

`faults` runs the standalone system against an origin on loopback: URLs of many crawls on many hosts,
a tenth of them wanted by two crawls. Half of the crawls are cancelled while their URLs wait, and all
processes are killed twice with SIGKILL, redis-server and the servers of the broker among them. With
`--broker redis` or `postgres` the jobs are on `--shards` servers, and the last of them is dead from before
the cancellation until after it must hold. It ends when nothing waits, or
after `--for-s` by cancelling the rest, and exits with 1 unless

- for each crawl, what was enqueued is what was stored, each other outcome and what was cancelled;
- what was counted as enqueued is what was given;
- no URL was requested for a cancelled crawl alone later than `HOLDS_S` after it was cancelled;
- the crawls that were not cancelled go on, also while a server of the broker is dead;
- the pages of each crawl that was never cancelled say that they are, as many as were counted;
- nothing is left in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import redis

from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_reports import Pace, open_domains
from aragog.errors import BrokerUnavailable, ConfigError
from aragog.settings import RedisSettings, Settings, load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone.redis_server import RedisServer
from aragog.urlstore.crawl_members import crawls_in
from aragog.urlstore.store import UrlStore
from bench.crawl_shards import KINDS, Shards, free_port, shards
from bench.quick import add_quick
from bench.simulate.parts import Machines
from bench.simulate.small import SmallCrawl
from bench.simulate.web import Web

HOLDS_S = 5.0
GOES_ON_S = 120.0
"""A claim of a process that was killed ends after 10 s, and a busy machine is no fault."""
PAGE = b"<!doctype html><title>a page</title><p>some words of a page"
MEMORY_URLS = 100_000
ESTIMATED_URLS = 20_000
URLS_OF_A_HOST = 100
"""A host of a smaller run has as many URLs, so that robots.txt is as small a part of the work."""


def memory(count: int) -> None:
    """Print the bytes of a waiting URL without a crawl and with one."""
    rows = {}
    for name in ("", "docs"):
        with (
            tempfile.TemporaryDirectory(prefix="ar") as folder,
            RedisServer(Path(folder) / "redis") as server,
        ):
            settings = replace(
                Settings(), data_dir=Path(folder), redis=RedisSettings(url=server.url)
            )
            client = redis.Redis.from_url(server.url)
            rows[name] = _sizes(settings, client, name, count)
    plain, named = rows[""], rows["docs"]
    print(f"{'':24}{'no name':>10}{'a crawl':>10}{'more':>8}   bytes a URL, {count:,} URLs")
    for part in plain:
        print(f"{part:24}{plain[part]:10.1f}{named[part]:10.1f}{named[part] - plain[part]:8.1f}")


def _sizes(settings: Settings, server: redis.Redis, crawl: str, count: int) -> dict[str, float]:
    with Aragog(settings) as client:
        if crawl:
            control = crawl_control(settings)
            for _ in range(100):  # a number of three digits, as after a hundred crawls
                control.start(crawl, {})
                control.cancel(crawl)
            control.start(crawl, {})
        before = int(server.info("memory")["used_memory_dataset"])
        urls = (f"https://www.site-{n % 1000}.example/articles/{n}" for n in range(count))
        options = {"request_id": "12345678", "crawl": crawl}
        for result in client.enqueue_all(urls, **options):
            assert result.status == "accepted", result
        after = int(server.info("memory")["used_memory_dataset"])
    in_flight = server.memory_usage("aragog:in_flight", samples=0) or 0
    return {"in-flight set": in_flight / count, "all of Redis": (after - before) / count}


def estimate(urls: int) -> None:
    """Print the time left by the rates of open domains beside that of a simulated crawl."""
    for count in (urls // 10, urls):
        web = Web(domains=200, urls=count)
        simulated = SmallCrawl(web, Settings(), Machines(processes=20, canonicalize_s=1e4))
        domains = {f"d{n}": domain for n, domain in enumerate(simulated.domains)}
        paces = {name: Pace(1e6 / domain.limit.interval_us) for name, domain in domains.items()}
        waiting = {name: domain.urls for name, domain in domains.items()}
        record = CrawlRecord(name="simulated", number=2)
        left_s = max(d.seconds_left or 0.0 for d in open_domains(record, waiting, paces))
        found = simulated.run()
        real_s = found.share_done_s(1.0)
        print(
            f"{found.urls:,} URLs on {len(domains)} domains: {left_s:,.0f} s by rates, "
            f"{real_s:,.0f} s simulated, {left_s / real_s - 1:+.0%}"
        )


@dataclass
class Origin:
    """Counts requests by path; every page is the same."""

    seen: Counter[str] = field(default_factory=Counter)
    last_s: dict[str, float] = field(default_factory=dict)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if path == "/robots.txt":
                    answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                else:
                    self.seen[path] += 1
                    crawl = path.split("/")[1]
                    self.last_s[crawl] = time.monotonic()
                    length = len(PAGE) + len(path)
                    answer = (
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s%s"
                        % (length, PAGE, path.encode())
                    )
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@contextmanager
def origin() -> Iterator[Origin]:
    """An origin in a thread."""
    found, loop = Origin(), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(found.serve, "127.0.0.1", 0))
    found.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield found
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


class System:
    """`aragog up` in a folder of its own, which can be killed with all its processes."""

    def __init__(
        self, folder: Path, port: int, broker: Shards, *, qps: float | None = None
    ) -> None:
        self.folder = folder
        self.broker = broker
        os.environ.update(broker.settings())
        os.environ.update({
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__USER_AGENT": "aragog-bench/1.0 (+http://127.0.0.1/)",
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "10",
        })  # fmt: skip
        if qps is not None:
            os.environ["ARAGOG_POLITENESS__QPS"] = str(qps)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, but_last: bool = False) -> None:
        """Start it, and wait until it runs; without the last server of the broker, if that stays dead."""
        self.broker.start(but_last=but_last)
        with (self.folder / "up.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "aragog.cli", "up"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _wait(self._answers, 60)

    def _answers(self) -> bool:
        if running_pid(self.folder / "run") is None:
            return False
        try:
            crawl_control(load_settings()).registry.read()
        except (ConfigError, BrokerUnavailable):
            return False
        return True

    def kill(self) -> None:
        """Kill every process with SIGKILL."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)
        _wait(lambda: running_pid(self.folder / "run") is None, 60)
        self.broker.kill()

    def stop(self) -> None:
        """Stop it as an operator does."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(120)


def _wait(condition: Callable[[], bool], within_s: float) -> None:
    until_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until_s:
            raise TimeoutError(condition)
        time.sleep(0.1)


def _urls_of(crawl: int, options: argparse.Namespace) -> Iterator[str]:
    """Its own URLs, and a tenth of those of the next crawl."""
    each = options.urls // options.crawls
    for owner, count in ((crawl, each), ((crawl + 1) % options.crawls, each // 10)):
        for n in range(count):
            yield f"http://h{(n * options.crawls + owner) % options.hosts}.test/c{owner}/{n}"


def faults(options: argparse.Namespace) -> int:
    """Run the scenario; the number of laws that were broken."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        origin() as web,
        shards(options.broker, options.shards, Path(folder)) as broker,
    ):
        system = System(Path(folder), web.port, broker)
        system.start()
        try:
            return _scenario(system, web, options)
        finally:
            system.stop()


class _Clock:
    """Prints what was done, and when."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self._began_s:5.0f} s  {text}", flush=True)


def _scenario(system: System, web: Origin, options: argparse.Namespace) -> int:
    say = _Clock()
    names = [f"c{n}" for n in range(options.crawls)]
    given = {}
    control = crawl_control(load_settings())
    with Aragog(load_settings()) as client:
        for number, name in enumerate(names):
            control.start(name, {})
            urls = _urls_of(number, options)
            given[name] = sum(1 for _ in client.enqueue_all(urls, crawl=name))
    say(f"{sum(given.values()):,} URLs of {len(names)} crawls on {options.hosts:,} hosts wait")
    system.kill()
    system.start()
    say("killed and started")
    if system.broker.kill_last():
        say("a server of the broker is dead")
    control = crawl_control(load_settings())
    cancelled = names[::2]
    waited = sum(control.status(name).counts.waiting for name in cancelled)
    began_s = time.monotonic()
    for name in cancelled:
        control.cancel(name)
    held_s = time.monotonic()
    say(f"cancelled {waited:,} URLs in {held_s - began_s:.2f} s")
    time.sleep(HOLDS_S)
    before = web.seen.total()
    _wait(lambda: web.seen.total() > before, GOES_ON_S)
    say("the other crawls go on")
    system.kill()
    system.start()
    say("killed and started")
    control = crawl_control(load_settings())
    left = _finish(control, names, options.for_s)
    # A URL of a cancelled crawl may be wanted by the one before it.
    late = _late(web, cancelled, names, held_s)
    say("the others are done" if not left else f"{len(left)} of the others were cancelled")
    _sweep(control, names)
    say("upkeep has removed what was cancelled")
    broken = _laws(control, names, given, {*cancelled, *left}) + late
    repeated = sum(count - 1 for count in web.seen.values())
    say(f"{web.seen.total():,} requests, {repeated} of them repeated after a kill")
    for text in broken:
        print(f"BROKEN: {text}")
    return len(broken)


def _finish(control: CrawlControl, names: list[str], for_s: float) -> list[str]:
    """Wait up to `for_s` for all crawls to end; cancel the others and return their names."""
    until_s = time.monotonic() + for_s
    while left := [n for n in names if not _is_over(control, n)]:
        if time.monotonic() > until_s:
            for name in left:
                control.cancel(name)
            time.sleep(HOLDS_S)
            return left
        time.sleep(0.5)
    return []


def _is_over(control: CrawlControl, name: str) -> bool:
    status = control.status(name)
    return status.record.has_ended or not status.counts.waiting


def _late(web: Origin, cancelled: list[str], names: list[str], held_s: float) -> list[str]:
    """Cancelled crawls of which URLs that nobody else wants were requested too late."""
    wanted = {
        names[(names.index(name) + 1) % len(names)] for name in names if name not in cancelled
    }
    return [
        f"{name} was asked for {web.last_s[name] - held_s:.1f} s after it was cancelled"
        for name in cancelled
        if name not in wanted and web.last_s.get(name, 0) > held_s + HOLDS_S
    ]


def _sweep(control: CrawlControl, names: list[str]) -> None:
    """Upkeep removes what is left of cancelled crawls, as it does every few minutes."""
    from aragog.crawl.pipeline.shared_state import SharedState

    in_flight = SharedState.of(load_settings()).in_flight
    _wait(
        lambda: not (in_flight.sweep(control.registry.read().ended).cancelled or in_flight.count()),
        600,
    )
    assert all(control.counts.of(control.registry.get(n).numbers).waiting == 0 for n in names)


def _laws(
    control: CrawlControl, names: list[str], given: dict[str, int], cancelled: set[str]
) -> list[str]:
    broken = []
    store = url_store(load_settings())
    members = _members(store)
    store.close()
    for name in names:
        counts = control.status(name).counts
        if not counts.is_exact:
            broken.append(f"{name}: {counts}")
        if counts.enqueued != given[name]:
            broken.append(f"{name}: {given[name]} URLs were given, {counts.enqueued} counted")
        if name not in cancelled:
            found = members[name]
            if found != counts.stored or counts.stored != given[name]:
                broken.append(f"{name}: {counts.stored} counted as stored, {found} are")
    total = Counter[str]()
    for name in names:
        total.update(control.status(name).counts.outcomes)
    print(", ".join(f"{count:,} {outcome}" for outcome, count in total.most_common()))
    return broken


def _members(store: UrlStore) -> Counter[str]:
    """How many pages say that they were stored for each crawl; reads every node once."""
    found: Counter[str] = Counter()
    for _, row in store.zen.nodes.scan(b"", names=None):
        found.update(crawls_in(row))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("memory", "estimate", "faults"))
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, help="default: one for 100 URLs")
    parser.add_argument("--crawls", type=int, default=20)
    parser.add_argument("--broker", choices=KINDS, default="standalone")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--for-s", type=float, default=600)
    add_quick(parser, urls=2_000, hosts=10, for_s=120)
    options = parser.parse_args()
    if options.what == "memory":
        memory(min(options.urls, MEMORY_URLS))
        return
    options.hosts = options.hosts or max(options.crawls, options.urls // URLS_OF_A_HOST)
    if options.what == "estimate":
        estimate(min(options.urls, ESTIMATED_URLS))
    elif faults(options):
        sys.exit(1)


if __name__ == "__main__":
    main()
