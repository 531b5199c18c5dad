"""
Measure whether a domain's rate follows its latency, with the limiter's own scripts in virtual time.

    python -m bench.latency [--minutes N] [--qps N]

A private redis-server runs the scripts of the limiter with a clock that the measurement sets, so an
hour of requests takes seconds and every run gives the same figures. One domain always has work. Its
server models known behavior of servers under load:

    queue    one request at a time, 200 ms each; more than 20 wait: 503
    pool     four requests at a time, 300 to 900 ms each; more than 20 wait: 503
    busy     100 ms; after a third of the time its other clients make it four times slower
    steady   80 to 120 ms, whatever the load
    mixed    two pages of five take 60 ms, the others 1,500 ms, whatever the load
    moved    80 to 120 ms; half-way it moves to a server that takes four times as long

Each runs with `politeness.max_latency_slowdown` at its default and at 1, which turns the rule off.
It prints the rate after the first third, the share of the allowed rate, the 50th and 90th
percentile of latency, the longest queue, the number of 503s, and the smallest gap in intervals.
"""

from __future__ import annotations

import argparse
import heapq
import random
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from aragog.crawl.politeness.latencies import PendingLatencies
from aragog.crawl.politeness.nodes.node import LimiterNode
from aragog.crawl.politeness.nodes.scripts import (
    PermitReport,
    SlotArguments,
    acquire_permit,
    release_permits,
    reserve,
)
from aragog.crawl.politeness.slots import Slot, unpack_state
from aragog.settings import PolitenessSettings
from aragog.standalone.redis_server import RedisServer
from bench.quick import add_quick
from pinlater.redis.scripts import LuaScript, load_script

DOMAIN = "site.example"
HOLD_US = 1_250_000
WINDOW_US = 1_000_000.0
# A response from another server counts as one from a moved server.
ADDRESSES = "192.0.2.1", "192.0.2.2"


class VirtualNode(LimiterNode):
    """A limiter node whose scripts read `now_us` instead of the server's clock."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "aragog:", HOLD_US)
        self.at_us = 1e15
        self._loaded: set[str] = set()

    def run(self, name: str, **values: Any) -> Any:
        """Run a script at `at_us`."""
        script = _virtual(name)
        keys, args = script.bind(values)
        with self.client.pipeline(transaction=False) as pipe:
            pipe.set("now", f"{self.at_us:.0f}")
            pipe.evalsha(self.sha(script), len(keys), *keys, *args)
            return pipe.execute()[1]

    def sha(self, script: LuaScript) -> str:
        """Return the digest of a script loaded on the server."""
        if script.name not in self._loaded:
            self.client.script_load(script.script)
            self._loaded.add(script.name)
        return script.sha


_scripts: dict[str, LuaScript] = {}


def _virtual(name: str) -> LuaScript:
    if name not in _scripts:
        source = load_script("aragog.crawl.politeness", name, prelude="prelude").script
        clock = "(function() local us = tonumber(redis.call('GET', 'now'))"
        clock += " return {math.floor(us / 1000000), us % 1000000} end)()"
        assert "redis.call('TIME')" in source
        # Keys expire by the server's own clock, which does not advance here.
        _scripts[name] = LuaScript(name, source.replace("redis.call('TIME')", clock))
    return _scripts[name]


Server = Callable[[float, int], tuple[float, str] | None]
"""
Returns when a request at this time (s) is answered, and the address, or None for a 503
at once.
"""


def queue_server(service_s: float = 0.2, max_waiting: int = 20) -> Server:
    """Handles one request at a time."""
    ends: deque[float] = deque()

    def answer(now_s: float, _: int) -> tuple[float, str] | None:
        while ends and ends[0] <= now_s:
            ends.popleft()
        if len(ends) > max_waiting:
            return None
        ends.append(max(now_s, ends[-1] if ends else 0.0) + service_s)
        return ends[-1], ADDRESSES[0]

    return answer


def pool_server(concurrency: int = 4, max_waiting: int = 20) -> Server:
    """Handles a few requests at a time, each for a random time."""
    rng, ends = random.Random(1), [0.0] * concurrency
    waiting: list[float] = []

    def answer(now_s: float, _: int) -> tuple[float, str] | None:
        while waiting and waiting[0] <= now_s:
            heapq.heappop(waiting)
        if len(waiting) > max_waiting:
            return None
        start_s = max(now_s, heapq.heappop(ends))
        end_s = start_s + rng.uniform(0.3, 0.9)
        heapq.heappush(ends, end_s)
        heapq.heappush(waiting, start_s)
        return end_s, ADDRESSES[0]

    return answer


def steady_server(low_s: float = 0.08, high_s: float = 0.12) -> Server:
    """Has a latency that does not depend on the load."""
    rng = random.Random(1)
    return lambda now_s, _: (now_s + rng.uniform(low_s, high_s), ADDRESSES[0])


def mixed_server() -> Server:
    """Has fast and slow pages, whatever the load."""
    rng = random.Random(1)
    return lambda now_s, _: (now_s + (0.06 if rng.random() < 0.4 else 1.5), ADDRESSES[0])


def changing_server(at_s: float, *, moves: bool) -> Server:
    """Becomes four times as slow at a given time, with another address if it moves."""
    rng = random.Random(1)

    def answer(now_s: float, _: int) -> tuple[float, str] | None:
        has_changed = now_s >= at_s
        duration_s = rng.uniform(0.08, 0.12) * (4 if has_changed else 1)
        return now_s + duration_s, ADDRESSES[has_changed and moves]

    return answer


@dataclass
class Run:
    """The results of one run of a model. Times are seconds from its start."""

    sent_s: list[float] = field(default_factory=list)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """When each response arrived, and how long it took (s)."""
    busy: int = 0
    """The number of 503 responses."""
    factors: list[tuple[float, float]] = field(default_factory=list)
    """The latency factor after each request."""

    def rate(self, from_s: float, to_s: float) -> float:
        """Return the requests per second in a time span."""
        return sum(from_s <= arrived_s < to_s for arrived_s in self.sent_s) / (to_s - from_s)

    def smallest_gap_s(self) -> float:
        """Return the shortest time between two requests."""
        return min((b - a for a, b in pairwise(self.sent_s)), default=0.0)

    def latency_s(self, share: float, from_s: float) -> float:
        """Return the latency that a share of the responses since `from_s` did not exceed."""
        latencies_s = sorted(
            latency_s for arrived_s, latency_s in self.latencies if arrived_s >= from_s
        )
        return (
            latencies_s[min(len(latencies_s) - 1, int(share * len(latencies_s)))]
            if latencies_s
            else 0.0
        )


def simulate(
    node: VirtualNode, server: Server, *, seconds: float, qps: float, max_slowdown: float
) -> Run:
    """
    Send requests to one server as fast as the limiter allows.

    Args:
        node: the limiter node; its server is emptied first.
        server: the model.
        seconds: the duration in virtual time.
        qps: the domain's rate.
        max_slowdown: `politeness.max_latency_slowdown`.
    """
    node.client.flushall()
    start_us, run, pending = node.at_us, Run(), PendingLatencies()
    in_flight: list[tuple[float, float, str]] = []
    token, interval_us = 0, 1e6 / qps
    while node.at_us < start_us + seconds * 1e6:
        token += 1
        _, replies = reserve(node, [DOMAIN], [SlotArguments(interval_us, 1e12, 0, False)])
        slot = Slot(DOMAIN, next(iter(replies)).at_us, 0, interval_us, token)
        node.at_us = max(node.at_us, slot.at_us - 3_000)
        decision = acquire_permit(node, slot, max_concurrent=0, window_us=WINDOW_US)
        while decision.verdict == "wait":
            node.at_us = max(node.at_us + 1, decision.at_us - 3_000)
            decision = acquire_permit(node, slot, max_concurrent=0, window_us=WINDOW_US)
        if decision.verdict == "late":
            continue
        node.at_us = max(node.at_us, decision.at_us)
        now_s = (node.at_us - start_us) / 1e6
        while in_flight and in_flight[0][0] <= now_s:
            end_s, duration_s, address = heapq.heappop(in_flight)
            run.latencies.append((end_s, duration_s))
            if max_slowdown > 1:
                pending.record(DOMAIN, duration_s * 1000, address)
        answer = server(now_s, token)
        if answer is None:
            run.busy += 1
        else:
            heapq.heappush(in_flight, (answer[0], answer[0] - now_s, answer[1]))
        run.sent_s.append(now_s)
        release_permits(node, [PermitReport(slot, node.at_us, pending.take(DOMAIN), max_slowdown)])
        state = unpack_state(node.get_many([node.key("slot", DOMAIN)])[0])
        run.factors.append((now_s, state.latency_factor))
    return run


def models(seconds: float) -> dict[str, Callable[[], Server]]:
    """Return a maker of each server model, for a run of that length."""
    return {
        "queue": queue_server,
        "pool": pool_server,
        "busy": lambda: changing_server(seconds / 3, moves=False),
        "steady": steady_server,
        "mixed": mixed_server,
        "moved": lambda: changing_server(seconds / 2, moves=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--qps", type=float, default=10.0)
    add_quick(parser, minutes=0.2)
    args = parser.parse_args()
    seconds, default = args.minutes * 60, PolitenessSettings().max_latency_slowdown
    table = Table(
        "server", "max slowdown", "requests/s", "share of allowed", "p50", "p90", "503", "min gap"
    )
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as server:
        node = VirtualNode(server.url)
        for name, make in models(seconds).items():
            for max_slowdown in (default, 1.0):
                run = simulate(
                    node, make(), seconds=seconds, qps=args.qps, max_slowdown=max_slowdown
                )
                from_s = seconds / 3
                rate = run.rate(from_s, seconds)
                table.add_row(
                    name, f"{max_slowdown:g}", f"{rate:.2f}", f"{rate / args.qps:.1%}",
                    f"{run.latency_s(0.5, from_s) * 1000:.0f} ms",
                    f"{run.latency_s(0.9, from_s) * 1000:.0f} ms",
                    f"{run.busy}", f"{run.smallest_gap_s() * args.qps:.3f}",
                )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main()
