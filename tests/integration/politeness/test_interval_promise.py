"""The promise, as seen by the origin: no two requests are closer than the interval."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from statistics import quantiles

import pytest

from aragog.crawl.shared_redis.nodes import Ring
from tests.support.punctual_origin import PunctualOrigin
from tests.support.waiting import wait_until

# Inaccuracy of clocks and networks.
NOISE_MS = 2.0

pytestmark = pytest.mark.redis


@pytest.fixture
def workers(punctual_origin):
    """Starts workers with four threads each: `workers(url, qps, seconds, *hosts)`."""
    running: list[subprocess.Popen[bytes]] = []

    def start(url: str, qps: float, seconds: float, *hosts: str) -> subprocess.Popen[bytes]:
        running.append(
            subprocess.Popen(
                [
                    sys.executable, "-m", "tests.support.slot_worker",
                    url, str(punctual_origin.port), str(qps), str(seconds), "4", *hosts,
                ],
                stdout=subprocess.DEVNULL,
            )
        )  # fmt: skip
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait()


def gaps_by_host_ms(origin: PunctualOrigin) -> dict[str, list[float]]:
    arrived: dict[str, list[float]] = {}
    for at, host, _ in origin.arrivals():
        arrived.setdefault(host, []).append(at)
    return {host: gaps_ms(instants) for host, instants in arrived.items()}


def wait_for_more(origin: PunctualOrigin, requests: int, hosts: set[str]) -> None:
    """Wait until each of `hosts` has received that many more requests."""
    before = Counter(host for _, host, _ in origin.arrivals())

    def came() -> bool:
        now = Counter(host for _, host, _ in origin.arrivals())
        return all(now[host] >= before[host] + requests for host in hosts)

    wait_until(came)


def arrivals_ms(origin: PunctualOrigin, host: str) -> list[float]:
    return [at for at, name, _ in origin.arrivals() if name == host]


def gaps_ms(arrivals: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(arrivals)]


@pytest.mark.parametrize("qps", [5, 15])
def test_many_workers_keep_the_interval_and_use_the_rate(redis_url, punctual_origin, workers, qps):
    started = [workers(redis_url, qps, 5, "busy.example") for _ in range(3)]
    for process in started:
        assert process.wait(300) == 0

    arrived = arrivals_ms(punctual_origin, "busy.example")

    assert min(gaps_ms(arrived)) >= 1000 / qps - NOISE_MS
    # The last workers end one by one, so only the first four seconds count. A busy machine sends
    # late: `bench.politeness` measures how much of the rate an idle one uses.
    while_waiting = [at for at in arrived if at < arrived[0] + 4000]
    quarter_ms, _, _ = quantiles(gaps_ms(while_waiting))
    assert quarter_ms < 1.5 * 1000 / qps


def test_killed_workers_keep_the_interval_and_the_domain_running(
    redis_url, punctual_origin, workers
):
    stays = workers(redis_url, 20, 6, "busy.example")
    for _ in range(6):
        victim = workers(redis_url, 20, 60, "busy.example")
        wait_for_more(punctual_origin, 12, {"busy.example"})
        victim.kill()
    assert stays.wait(300) == 0

    arrived = arrivals_ms(punctual_origin, "busy.example")

    assert min(gaps_ms(arrived)) >= 50 - NOISE_MS
    assert len(arrived) > 60


def test_suspended_worker_does_not_send_its_backlog_at_once(redis_url, punctual_origin, workers):
    stopped = workers(redis_url, 20, 5, "busy.example")
    workers(redis_url, 20, 60, "busy.example")
    for _ in range(4):
        wait_for_more(punctual_origin, 12, {"busy.example"})
        os.kill(stopped.pid, signal.SIGSTOP)
        wait_for_more(punctual_origin, 4, {"busy.example"})
        os.kill(stopped.pid, signal.SIGCONT)
    stopped.wait(300)

    assert min(gaps_ms(arrivals_ms(punctual_origin, "busy.example"))) >= 50 - NOISE_MS


def test_limiter_restart_keeps_the_interval(own_redis, punctual_origin, workers):
    before = workers(own_redis.url, 2, 60, "slow.example")
    wait_for_more(punctual_origin, 4, {"slow.example"})
    own_redis.kill()
    before.kill()
    own_redis.start()
    after = workers(own_redis.url, 2, 5, "slow.example")
    after.wait(300)

    arrived = arrivals_ms(punctual_origin, "slow.example")

    assert min(gaps_ms(arrived)) >= 500 - NOISE_MS
    assert len(arrived) > 6


def hosts_of(nodes):
    """Eight hosts, four on each of two nodes; the node of a host depends on the nodes' names."""
    ring = Ring(nodes)
    groups = {node: [] for node in nodes}
    for number in range(1000):
        groups[ring.node_for(host := f"site-{number}.example")].append(host)
    return [host for hosts in groups.values() for host in hosts[:4]]


def test_node_that_returns_causes_no_early_request(redis_url, own_redis, punctual_origin, workers):
    both = [redis_url, own_redis.url]
    hosts = hosts_of(both)
    gone = {host for host in hosts if Ring(both).node_for(host) == own_redis.url}
    started = [workers(",".join(both), 4, 9, *hosts) for _ in range(2)]
    wait_for_more(punctual_origin, 4, set(hosts))
    own_redis.kill()
    wait_for_more(punctual_origin, 8, set(hosts) - gone)
    own_redis.start()
    assert [process.wait(300) for process in started] == [0, 0]

    gaps = gaps_by_host_ms(punctual_origin)
    assert set(gaps) == set(hosts)
    assert min(gap for gaps in gaps.values() for gap in gaps) >= 250 - NOISE_MS
    assert all(max(gaps[host]) > 1500 for host in gone)
