"""
The promise while limiter nodes join, leave and die: random histories, checked at the origin.

`ARAGOG_RING_SECONDS=300 pytest tests/integration/politeness/test_ring_histories.py` runs each
history for that long, and `ARAGOG_RING_SEED` draws a different one.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.limiter_ring import LimiterRing
from aragog.settings import PolitenessSettings
from tests.support.punctual_origin import PunctualOrigin
from tests.support.redis_server import _kind
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

SECONDS = float(os.environ.get("ARAGOG_RING_SECONDS", "5"))
SEED = int(os.environ.get("ARAGOG_RING_SEED", "1"))
NOISE_MS = 2.0
QPS = 5
LEASE_S = 0.6
NODES = 3
HOSTS = [f"site-{number}.example" for number in range(8)]
PAUSED = [f"paused-{number}.example" for number in range(4)]


class World:
    """Servers, workers and operators; `do` runs one event of a history."""

    def __init__(self, folder: Path, origin: PunctualOrigin, seed: int) -> None:
        self.rng = random.Random(seed)
        self.origin = origin
        self.shared = _kind()(folder / "shared", persistent=True).start()
        self.nodes = [_kind()(folder / f"n{n}", persistent=True).start() for n in range(NODES)]
        first = ",".join(node.url for node in self.nodes[:2])
        self.where = f"{self.shared.url}|{LEASE_S}|{first}"
        self.workers = [self.worker() for _ in range(2)]
        self.did: Counter[str] = Counter()

    def worker(self) -> subprocess.Popen[bytes]:
        arguments = [self.where, str(self.origin.port), str(QPS), "100000", "4", *HOSTS]
        command = [sys.executable, "-m", "tests.support.slot_worker", *arguments]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def operator(self, *action: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.support.ring_operator", self.where, *action]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def sent(self) -> Counter[str]:
        return Counter(host for _, host, _ in self.origin.arrivals())

    def do(self, event: str) -> None:
        self.did[event] += 1
        getattr(self, event)()

    def change(self) -> None:
        """Make one change, which may be impossible for the current ring."""
        self.operator(self._action(), self._node()).wait(60)

    def two_changes(self) -> None:
        """Two operators at once, possibly with conflicting changes."""
        both = [self.operator(self._action(), self._node()) for _ in range(2)]
        for each in both:
            each.wait(60)

    def killed_change(self) -> None:
        """An operator is killed at a random moment, and the command is run again."""
        action = self._action(), self._node()
        operator = self.operator(*action)
        self.pause(0.25, 0.6)
        operator.kill()
        operator.wait()
        if self.rng.random() < 0.5:
            self.operator(*action).wait(60)

    def killed_node(self) -> None:
        """A node is killed during a change and comes back."""
        node = self.rng.choice(self.nodes)
        operator = self.operator(self._action(), self._node())
        self.pause(0.1, 0.5)
        node.kill()
        self.pause(0.0, 0.3)
        node.start()
        operator.wait(60)

    def stopped_worker(self) -> None:
        """A worker is suspended while the ring changes and continues with the earlier ring."""
        worker = self.rng.choice(self.workers)
        os.kill(worker.pid, signal.SIGSTOP)
        self.change()
        os.kill(worker.pid, signal.SIGCONT)

    def killed_worker(self) -> None:
        """A worker is killed while it holds permits, and another starts with the first settings."""
        worker = self.workers.pop(self.rng.randrange(len(self.workers)))
        worker.kill()
        worker.wait()
        self.workers.append(self.worker())

    def lost_node(self) -> None:
        """A node does not respond to the operator, who gives it up; workers reach it afterward."""
        node = self.rng.choice(self.nodes)
        worker = self.rng.choice(self.workers)
        assert node.process is not None
        os.kill(worker.pid, signal.SIGSTOP)
        os.kill(node.process.pid, signal.SIGSTOP)
        operator = self.operator("lose", node.url)
        self.pause(0.0, LEASE_S)
        os.kill(worker.pid, signal.SIGCONT)
        self.pause(0.0, 1.0)
        os.kill(node.process.pid, signal.SIGCONT)
        operator.wait(60)

    def pause(self, low_s: float, high_s: float) -> None:
        threading.Event().wait(self.rng.uniform(low_s, high_s))

    def _action(self) -> str:
        return self.rng.choice(["add", "add", "drain", "remove"])

    def _node(self) -> str:
        return self.rng.choice(self.nodes).url

    def settle(self) -> None:
        """
        Complete unfinished changes with all nodes up, and wait until every host gets requests.
        """
        assert self.operator("finish").wait(60) == 0
        before = self.sent()
        wait_until(lambda: all(self.sent()[host] >= before[host] + 3 for host in HOSTS))

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
        for server in (*self.nodes, self.shared):
            server.kill()


@pytest.fixture
def world(punctual_origin: PunctualOrigin, request: pytest.FixtureRequest) -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        world = World(Path(folder), punctual_origin, request.param)
        yield world
        world.close()


def short_gaps(origin: PunctualOrigin) -> list[tuple[str, float]]:
    arrived: dict[str, list[float]] = {}
    for at, host, _ in origin.arrivals():
        arrived.setdefault(host, []).append(at)
    return [
        (host, later - earlier)
        for host, instants in arrived.items()
        for earlier, later in pairwise(instants)
        if later - earlier < 1000 / QPS - NOISE_MS
    ]


def run(world: World, events: list[str]) -> None:
    """Run random events for a time, each at least once."""
    until_s = time.monotonic() + SECONDS
    todo: list[str] = []
    while time.monotonic() < until_s or len(world.did) < len(events):
        todo = todo or world.rng.sample(events, len(events))
        world.do(todo.pop())
        world.pause(0.0, 0.3)
    world.settle()


@pytest.mark.parametrize("world", [SEED], indirect=True)
def test_intervals_and_pauses_are_kept_while_the_ring_changes(world):
    urls = [node.url for node in world.nodes[:2]]
    limiter = Limiter(urls, PolitenessSettings(), shared=world.shared.url, lease_s=LEASE_S)
    for host in PAUSED:
        limiter.pause(host, 3_600)
        limiter.report_many([(host, False)] * 4)

    run(world, ["change", "two_changes", "killed_change", "stopped_worker", "killed_worker"])

    assert short_gaps(world.origin) == []
    ring = LimiterRing(urls, PolitenessSettings(), shared=world.shared.url, sleep_s=time.sleep)
    states = [ring.locate(host).state for host in PAUSED]
    assert all(state.last_us > time.time() * 1e6 + 3_000e6 for state in states)
    assert all(state.factor == 400 for state in states)
    ring.close()
    limiter.close()
    print(world.did, sum(world.sent().values()), "requests")


@pytest.mark.parametrize("world", [SEED + 1], indirect=True)
def test_intervals_are_kept_while_nodes_die_and_are_given_up(world):
    run(world, ["lost_node", "killed_node", "change", "stopped_worker"])

    assert short_gaps(world.origin) == []
    print(world.did, sum(world.sent().values()), "requests")
