"""
Crawl URLs of many crawls on many hosts, half of them cancelled, while everything is killed twice.

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
from bench.crawl_laws import found, violated_invariants
from bench.crawl_shards import shards
from bench.crawl_system import Clock, Origin, System, origin, wait_for
from pinlater.redis.scripts import load_script

CANCELLED_WITHIN_S = 10.0
"""It takes about 2 s on an idle machine: each process checks once a second, and slots are 1.5 s."""
RESUMES_WITHIN_S = 600.0
"""The claim of a killed process ends after 10 s, plus time for a busy machine."""
SWEPT_WITHIN_S = 900.0
SLOW_MICROSECONDS = 50_000
SHARED = 10
"""The previous crawl also wants every tenth URL of a crawl."""


def urls_of(crawl: int, options: argparse.Namespace) -> Iterator[str]:
    """Return a crawl's own URLs, and a tenth of the next crawl's."""
    each = options.urls // options.crawls
    for owner, count in ((crawl, each), ((crawl + 1) % options.crawls, each // SHARED)):
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
            urls = urls_of(number, options)
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
        self.say = Clock()
        self.given: dict[str, int] = {}
        self.slow = _SlowScripts()
        self.broken: list[str] = []
        self.held: list[tuple[list[str], float]] = []
        """When each cancelled crawl was cancelled."""

    def run(self) -> int:
        """Return the number of violated invariants."""
        self._enqueue()
        self._kill()
        if self.system.broker.kill_last():
            self.say("a server of the broker is dead")
        control, asked = crawl_control(load_settings()), self._asked_alone(self.cancelled)
        wait_for(lambda: self._asked_alone(self.cancelled) > asked, RESUMES_WITHIN_S)
        wait_for(lambda: self._stored(control) >= len(self.names), RESUMES_WITHIN_S)
        self._cancel(self.cancelled)
        asked = self.web.seen.total()
        wait_for(lambda: self.web.seen.total() > asked, RESUMES_WITHIN_S)
        self.say("the other crawls go on")
        self._kill(checked=True)
        left = self.live
        if self.options.end_by == "work":
            left = self._finish()
            self.say("the others are done" if not left else f"{len(left)} others were cancelled")
        else:
            self._cancel(self.live)
        self._sweep()
        self.say(f"upkeep has removed what was cancelled{_memory()}")
        self._check("at the end", is_whole=not left)
        self.slow.note()
        self._print()
        return len(self.broken)

    def _enqueue(self) -> None:
        options, before = self.options, _used_bytes()
        began_s = time.monotonic()
        argv = [sys.executable, "-m", "bench.crawls", *_argv(options)]
        producers = [
            subprocess.Popen([*argv, "--producer", str(n)], stdout=subprocess.PIPE, text=True)
            for n in range(options.producers)
        ]
        for process in producers:
            output, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"a producer ended with {process.returncode}")
            self.given |= {n: int(count) for n, count in map(str.split, output.splitlines())}
        took_s = time.monotonic() - began_s
        given = sum(self.given.values())
        self.say(
            f"{given:,} URLs of {options.crawls} crawls on {options.hosts:,} hosts wait: {given / took_s:,.0f}/s"
            f" by {options.producers} producers, {(_used_bytes() - before) / options.urls:.0f} bytes of Redis a URL"
        )

    def _kill(self, *, checked: bool = False) -> None:
        """Kill and restart everything; with `checked`, check the servers' data in between."""
        self.slow.note()
        self.system.kill()
        if checked:
            with self.system.servers_alone():
                self._check("killed")
        began_s = time.monotonic()
        self.system.start()
        self.slow.begin()
        self.say(f"killed, and started in {time.monotonic() - began_s:.1f} s{_memory()}")

    def _cancel(self, names: list[str]) -> None:
        """Cancel crawls, then wait until the cancellation must have taken effect."""
        control = crawl_control(load_settings())
        waited = sum(control.status(name).counts.waiting for name in names)
        began_s = time.monotonic()
        for name in names:
            control.cancel(name)
        held_s = time.monotonic()
        time.sleep(CANCELLED_WITHIN_S)
        late = [self._last_s(name, names) - held_s for name in names]
        self.say(
            f"cancelled {waited:,} URLs in {held_s - began_s:.2f} s; the last of them was asked for "
            f"{max(0.0, *late):.1f} s later"
        )
        self.held.append((names, held_s))

    def _alone(self, path: str, names: list[str]) -> bool:
        """Return True if only crawls with these names want the path."""
        _, owner, number = path.split("/")
        sharer = f"c{(int(owner[1:]) - 1) % len(self.names)}"
        each = self.options.urls // len(self.names)
        return owner in names and (int(number) >= each // SHARED or sharer in names)

    def _asked_alone(self, names: list[str]) -> int:
        """Return the number of requests that only crawls with these names wanted."""
        return sum(count for p, count in list(self.web.seen.items()) if self._alone(p, names))

    def _last_s(self, name: str, names: list[str]) -> float:
        start, asked = f"/{name}/", list(self.web.last_s.items())
        return max(
            (at_s for p, at_s in asked if p.startswith(start) and self._alone(p, names)),
            default=0.0,
        )

    def _stored(self, control: CrawlControl) -> int:
        return sum(control.status(name).counts.stored for name in self.names)

    def _late(self) -> list[str]:
        """Return cancelled crawls whose exclusive URLs were requested too late."""
        return [
            f"{name} was asked for {late_s:.1f} s after it was cancelled"
            for names, held_s in self.held
            for name in names
            if (late_s := self._last_s(name, names) - held_s) > CANCELLED_WITHIN_S
        ]

    def _check(self, when: str, *, is_whole: bool = False) -> None:
        control, of = crawl_control(load_settings()), found(load_settings())
        broken = violated_invariants(control, self.names, self.given, of, is_whole=is_whole)
        waiting = sum(of.entries.values())
        self.say(f"{when}: {waiting:,} are in flight, {len(broken)} laws are broken")
        self.broken += [f"{when}: {text}" for text in broken]

    def _finish(self) -> list[str]:
        """
        Wait until no URL waits, at most `for_s`. Returns the crawls that were cancelled
        to finish.
        """
        control = crawl_control(load_settings())
        until_s = time.monotonic() + self.options.for_s
        while left := [n for n in self.names if not _is_over(control, n)]:
            if time.monotonic() > until_s:
                self._cancel(left)
                return left
            time.sleep(0.5)
        return []

    def _sweep(self) -> None:
        """Run upkeep's removal of cancelled crawls, which normally runs every few minutes."""
        control = crawl_control(load_settings())
        in_flight = SharedState.of(load_settings()).in_flight

        def is_swept() -> bool:
            ended = control.registry.read().ended
            return not (in_flight.sweep(ended).cancelled or in_flight.count())

        wait_for(is_swept, SWEPT_WITHIN_S)
        waiting = {
            n: control.counts.of(control.registry.get(n).numbers).waiting for n in self.names
        }
        self.broken += [f"{name}: {count} still wait" for name, count in waiting.items() if count]

    def _print(self) -> None:
        control = crawl_control(load_settings())
        total = Counter[str]()
        for name in self.names:
            total.update(control.status(name).counts.outcomes)
        print(", ".join(f"{count:,} {outcome}" for outcome, count in total.most_common()))
        repeated = sum(count - 1 for count in self.web.seen.values())
        self.say(f"{self.web.seen.total():,} requests, {repeated} of them repeated after a kill")
        self.slow.show()
        self.broken += self._late()
        for text in self.broken:
            print(f"BROKEN: {text}")


def _argv(options: argparse.Namespace) -> list[str]:
    numbers = {"urls": options.urls, "hosts": options.hosts, "crawls": options.crawls}
    numbers["producers"] = options.producers
    return ["faults", *(part for n, v in numbers.items() for part in (f"--{n}", str(v)))]


def _is_over(control: CrawlControl, name: str) -> bool:
    status = control.status(name)
    return status.record.has_ended or not status.counts.waiting


def _used_bytes() -> int:
    info: Any = SharedState.of(load_settings()).client.info("memory")
    return int(info["used_memory_dataset"])


def _memory() -> str:
    return f"; Redis has {_used_bytes() / 1e6:,.0f} MB"


class _SlowScripts:
    """Commands that block `redis.url` for more than 50 ms. The log is lost with the server."""

    def __init__(self) -> None:
        self.longest: dict[str, list[float]] = {}
        self.begin()

    def begin(self) -> None:
        """Start logging slow commands."""
        client = SharedState.of(load_settings()).client
        client.config_set("slowlog-log-slower-than", SLOW_MICROSECONDS)
        client.config_set("slowlog-max-len", 5_000)

    def note(self) -> None:
        """Read the log, then empty it."""
        client = SharedState.of(load_settings()).client
        names = _names_of_scripts()
        for one in client.slowlog_get(5_000):
            words = one["command"].split(b" ")
            name = words[0].decode()
            if name.upper() in ("EVALSHA", "EVAL"):
                name = names.get(words[1].decode(), name)
            self.longest.setdefault(name, []).append(one["duration"] / 1e3)
        client.slowlog_reset()

    def show(self) -> None:
        """Print commands and scripts with their count and longest time."""
        for name, took_ms in sorted(self.longest.items()):
            print(
                f"{name} held Redis {len(took_ms)} times for more than 50 ms, {max(took_ms):.0f} at most"
            )


def _names_of_scripts() -> dict[str, str]:
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
        every = [p.name.removesuffix(".lua") for p in folder.iterdir() if p.name.endswith(".lua")]
        preludes = [name for name in every if name.endswith("prelude")]
        several = [("in_flight_entry",), ("in_flight_entry", "in_flight_prelude")]
        for prelude in ((), *preludes, *several[: 2 * ("in_flight_entry" in every)]):
            for name in every:
                names[load_script(package, name, prelude=prelude).sha] = name
    return names
