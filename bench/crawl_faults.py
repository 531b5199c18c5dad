"""
Crawl URLs of many crawls on many hosts, half of them paused and half of them cancelled, while
everything is killed twice.

`bench.crawls` runs this.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.settings import load_settings
from bench.crawl_laws import find_violations, read_state
from bench.crawl_shards import shards
from bench.crawl_stops import MAX_RESUME_S, SHARED_EVERY, Stops
from bench.crawl_system import Clock, Origin, System, origin, wait_for
from pinlater.redis.scripts import load_script

MAX_SWEEP_S = 900.0
SLOW_MICROSECONDS = 50_000
KEPT_CRAWLS = 2
"""As many crawls continue while the last ones are ended."""


def urls_of_crawl(crawl: int, options: argparse.Namespace) -> Iterator[str]:
    """Return a crawl's own URLs, and a tenth of the next crawl's."""
    urls_per_crawl = options.urls // options.crawls
    for owner, count in (
        (crawl, urls_per_crawl),
        ((crawl + 1) % options.crawls, urls_per_crawl // SHARED_EVERY),
    ):
        for n in range(count):
            yield f"http://h{(n * options.crawls + owner) % options.hosts}.test/c{owner}/{n}"


def produce(options: argparse.Namespace, producer: int) -> None:
    """
    Enqueue the URLs of every `options.producers`-th crawl. Prints the number enqueued
    for each.
    """
    control = crawl_control(load_settings())
    with Aragog(load_settings()) as client:
        for number in range(producer, options.crawls, options.producers):
            control.start(f"c{number}", {})
            urls = urls_of_crawl(number, options)
            print(f"c{number}", sum(1 for _ in client.enqueue_all(urls, crawl=f"c{number}")))


def faults(options: argparse.Namespace) -> int:
    """Run the scenario. Returns the number of violated invariants."""
    with (
        tempfile.TemporaryDirectory(prefix="ar", dir=options.folder) as folder,
        origin() as web,
        shards(options.broker, options.shards, Path(folder)) as broker,
    ):
        system = System(Path(folder), web.port, broker, qps=options.qps)
        system.start()
        try:
            return _Scenario(system, web, options).run()
        finally:
            system.stop()


class _Scenario:
    def __init__(self, system: System, web: Origin, options: argparse.Namespace) -> None:
        self.system, self.web, self.options = system, web, options
        self.names = [f"c{n}" for n in range(options.crawls)]
        # Two of four in a row, so that a cancelled crawl shares URLs with one that is and one that
        # is not.
        self.cancelled = [name for n, name in enumerate(self.names) if n % 4 < 2]
        self.live = [name for name in self.names if name not in self.cancelled]
        self.log = Clock()
        self.enqueued: dict[str, int] = {}
        self.slow_scripts = _SlowScripts()
        self.violations: list[str] = []
        self.stops = Stops(web, self.names, options, self.log)

    def run(self) -> int:
        """Return the number of violated invariants."""
        self._enqueue()
        self._kill()
        if self.system.broker.kill_last():
            self.log("killed the broker's last server")
        control, requests = crawl_control(load_settings()), self.stops.requests(self.cancelled)
        wait_for(lambda: self.stops.requests(self.cancelled) > requests, MAX_RESUME_S)
        wait_for(lambda: self._stored(control) >= len(self.names), MAX_RESUME_S)
        self.stops.pause(self.live)
        self.stops.cancel(self.cancelled)
        requests = self.web.seen.total()
        wait_for(lambda: self.web.seen.total() > requests, MAX_RESUME_S)
        self.log("the other crawls continue")
        self._kill(checked=True)
        unfinished = self.live
        if self.options.end_by == "work":
            unfinished = self._finish()
            self.log(
                "the others are done"
                if not unfinished
                else f"{len(unfinished)} others were cancelled"
            )
        else:
            self._stop_live()
        self._sweep()
        self.log(f"upkeep has removed what was cancelled{_memory()}")
        self._check("at the end", is_whole=not unfinished)
        self.slow_scripts.collect()
        self._print()
        return len(self.violations)

    def _enqueue(self) -> None:
        options, before = self.options, _used_bytes()
        started_s = time.monotonic()
        argv = [sys.executable, "-m", "bench.crawls", *_argv(options)]
        producers = [
            subprocess.Popen([*argv, "--producer", str(n)], stdout=subprocess.PIPE, text=True)
            for n in range(options.producers)
        ]
        for process in producers:
            output, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"a producer ended with {process.returncode}")
            self.enqueued |= {n: int(count) for n, count in map(str.split, output.splitlines())}
        took_s = time.monotonic() - started_s
        enqueued = sum(self.enqueued.values())
        self.log(
            f"{enqueued:,} URLs of {options.crawls} crawls on {options.hosts:,} hosts enqueued: {enqueued / took_s:,.0f}/s"
            f" by {options.producers} producers, {(_used_bytes() - before) / options.urls:.0f} bytes of Redis per URL"
        )

    def _kill(self, *, checked: bool = False) -> None:
        """Kill and restart everything; with `checked`, check the servers' data in between."""
        self.slow_scripts.collect()
        self.system.kill()
        if checked:
            with self.system.servers_alone():
                self._check("killed")
        started_s = time.monotonic()
        self.system.start()
        self.slow_scripts.start_logging()
        self.log(f"killed, and restarted in {time.monotonic() - started_s:.1f} s{_memory()}")

    def _stop_live(self) -> None:
        """
        Stop the other crawls while the broker's last server is dead, then start it again.

        Two crawls continue until then, so that it shows whether a deadline stops others too.
        """
        kept = self.live[-KEPT_CRAWLS:] if len(self.live) > KEPT_CRAWLS else []
        ended = [name for name in self.live if name not in kept]
        if self.system.broker.kill_last():
            self.log("killed the broker's last server again")
        requests = self.stops.requests(ended)
        wait_for(lambda: self.stops.requests(ended) > requests, MAX_RESUME_S)
        if self.options.end_by == "deadline":
            self.stops.end_by_deadline(ended)
        else:
            self.stops.cancel(ended)
        self.system.broker.start()
        if kept:
            self.stops.cancel(kept)

    def _stored(self, control: CrawlControl) -> int:
        return sum(control.status(name).counts.stored for name in self.names)

    def _check(self, when: str, *, is_whole: bool = False) -> None:
        control, state = crawl_control(load_settings()), read_state(load_settings())
        violations = find_violations(control, self.names, self.enqueued, state, is_whole=is_whole)
        waiting = sum(state.entries.values())
        self.log(f"{when}: {waiting:,} are in flight, {len(violations)} violations")
        self.violations += [f"{when}: {text}" for text in violations]

    def _finish(self) -> list[str]:
        """
        Wait until no URL waits, at most `for_s`. Returns the crawls that were cancelled
        to finish.
        """
        control = crawl_control(load_settings())
        deadline_s = time.monotonic() + self.options.for_s
        while unfinished := [n for n in self.names if not _is_over(control, n)]:
            if time.monotonic() > deadline_s:
                self.stops.cancel(unfinished)
                return unfinished
            time.sleep(0.5)
        return []

    def _sweep(self) -> None:
        """Run upkeep's removal of cancelled crawls, which normally runs every few minutes."""
        control = crawl_control(load_settings())
        in_flight = SharedState.from_settings(load_settings()).in_flight

        def is_swept() -> bool:
            ended = control.registry.read().ended
            return not (in_flight.sweep(ended).cancelled or in_flight.count())

        wait_for(is_swept, MAX_SWEEP_S)
        waiting = {
            n: control.counts.totals(control.registry.get(n).numbers).waiting for n in self.names
        }
        self.violations += [
            f"{name}: {count} still waiting" for name, count in waiting.items() if count
        ]

    def _print(self) -> None:
        control = crawl_control(load_settings())
        total = Counter[str]()
        for name in self.names:
            total.update(control.status(name).counts.outcomes)
        print(", ".join(f"{count:,} {outcome}" for outcome, count in total.most_common()))
        repeated = sum(count - 1 for count in self.web.seen.values())
        self.log(f"{self.web.seen.total():,} requests, {repeated} of them repeated after a kill")
        self.slow_scripts.print()
        self.violations += self.stops.violations()
        for text in self.violations:
            print(f"VIOLATED: {text}")


def _argv(options: argparse.Namespace) -> list[str]:
    numbers = {"urls": options.urls, "hosts": options.hosts, "crawls": options.crawls}
    numbers["producers"] = options.producers
    return ["faults", *(part for n, v in numbers.items() for part in (f"--{n}", str(v)))]


def _is_over(control: CrawlControl, name: str) -> bool:
    status = control.status(name)
    return status.record.has_ended or not status.counts.waiting


def _used_bytes() -> int:
    info: Any = SharedState.from_settings(load_settings()).client.info("memory")
    return int(info["used_memory_dataset"])


def _memory() -> str:
    return f"; Redis has {_used_bytes() / 1e6:,.0f} MB"


class _SlowScripts:
    """Commands that block `redis.url` for more than 50 ms. The log is lost with the server."""

    def __init__(self) -> None:
        self.durations_ms: dict[str, list[float]] = {}
        self.start_logging()

    def start_logging(self) -> None:
        """Start logging slow commands."""
        client = SharedState.from_settings(load_settings()).client
        client.config_set("slowlog-log-slower-than", SLOW_MICROSECONDS)
        client.config_set("slowlog-max-len", 5_000)

    def collect(self) -> None:
        """Read the log, then empty it."""
        client = SharedState.from_settings(load_settings()).client
        names = _script_names()
        for entry in client.slowlog_get(5_000):
            parts = entry["command"].split(b" ")
            name = parts[0].decode()
            if name.upper() in ("EVALSHA", "EVAL"):
                name = names.get(parts[1].decode(), name)
            self.durations_ms.setdefault(name, []).append(entry["duration"] / 1e3)
        client.slowlog_reset()

    def print(self) -> None:
        """Print commands and scripts with their count and longest time."""
        for name, durations_ms in sorted(self.durations_ms.items()):
            print(
                f"{name} blocked Redis {len(durations_ms)} times for more than 50 ms, {max(durations_ms):.0f} at most"
            )


def _script_names() -> dict[str, str]:
    """Return the name of each script by its digest."""
    names = {}
    for package in (
        "aragog.crawl.pipeline",
        "aragog.crawl.politeness",
        "aragog.crawl.shared_redis",
        "aragog.crawl.traps",
        "pinlater",
    ):
        folder = files(package) / "lua"
        names_in_folder = [
            p.name.removesuffix(".lua") for p in folder.iterdir() if p.name.endswith(".lua")
        ]
        preludes = [name for name in names_in_folder if name.endswith("prelude")]
        several = [("in_flight_entry",), ("in_flight_entry", "in_flight_prelude")]
        for prelude in ((), *preludes, *several[: 2 * ("in_flight_entry" in names_in_folder)]):
            for name in names_in_folder:
                names[load_script(package, name, prelude=prelude).sha] = name
    return names
