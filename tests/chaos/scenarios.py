"""
The scenarios: what is broken, how, and how often.

Each is a generator over a running world: it breaks something, then yields the seconds until it
continues. After its last fault has ended, the crawl must finish by itself.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import redis

from aragog.bootstrap.redis_services import limiter_ring
from aragog.standalone.redis_server import RedisServer
from pinlater.admin import Admin
from tests.chaos import parts
from tests.chaos.world import WORKERS, Plan, World

Faults = Callable[[World], Iterator[float]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the report."""

    name: str
    description: str
    """What is broken, for the report."""
    faults: Faults
    plan: Plan = field(default_factory=Plan)
    needs_root: bool = False
    may_refuse: bool = False
    """True if `redis.url` is broken, so that `enqueue` may be refused."""


def kill_workers(world: World) -> Iterator[float]:
    """Kill a worker of one of three roles every two seconds."""
    while world.in_flight() != 0 and world.faults < 30:
        world.kill(world.rng.choice(WORKERS))
        yield 2.0


def kill_front(world: World) -> Iterator[float]:
    for _ in range(5):
        world.kill("upkeep")
        yield 1.0
        world.kill("http")
        yield 1.0


def kill_redis(world: World) -> Iterator[float]:
    for _ in range(3):
        world.kill("redis")
        yield 6.0


def freeze_redis(world: World) -> Iterator[float]:
    world.signal("redis", signal.SIGSTOP)
    world.begin_fault()
    yield 20.0
    world.signal("redis", signal.SIGCONT)
    world.end_fault()


def freeze_workers(world: World) -> Iterator[float]:
    """Freeze one of two workers of each role for longer than its claims last."""
    for name in WORKERS:
        command = (sys.executable, "-m", "aragog.workers", name)
        world.run_worker(*command, "--hostname", f"second-{name}@%h")
    yield 10.0
    for name in WORKERS:
        world.signal(name, signal.SIGSTOP)
        world.begin_fault()
    yield 25.0
    for name in WORKERS:
        world.signal(name, signal.SIGCONT)
    world.end_fault()


def lose_shard(world: World) -> Iterator[float]:
    return _lose(world, world.shards[0], 60.0)


def freeze_shard(world: World) -> Iterator[float]:
    frozen = world.shards[0].process
    assert frozen is not None
    frozen.send_signal(signal.SIGSTOP)
    world.begin_fault()
    yield 20.0
    frozen.send_signal(signal.SIGCONT)
    world.end_fault()


def lose_first_shard(world: World) -> Iterator[float]:
    assert world.broker is not None
    return _lose(world, world.broker, 20.0)


def fill_shard(world: World) -> Iterator[float]:
    return _fill(world, world.shards[0].url)


def lose_limiter(world: World) -> Iterator[float]:
    return _lose(world, world.limiters[0], 10.0)


def _lose(world: World, server: RedisServer, outage_s: float) -> Iterator[float]:
    server.kill()
    world.begin_fault()
    yield outage_s
    server.start()
    world.end_fault()


def restart_all(world: World) -> Iterator[float]:
    """Stop the workers one after the other, as in a rolling upgrade."""
    for child in list(world.system.supervisor.children):
        if child.name != "redis" and child.process is not None:
            child.process.terminate()
            world.begin_fault()
            yield 3.0


def misbehave(world: World) -> Iterator[float]:
    """Misbehave twice, so that robots.txt and pages of a host are affected at different times."""
    for _ in range(2):
        world.origin.misbehave(on=True)
        world.begin_fault()
        yield 30.0
        world.origin.misbehave(on=False)
        yield 5.0
    world.end_fault()


def fill_disk(world: World) -> Iterator[float]:
    """Fill the file system of redis-server, SQLite, content and logs."""
    assert world.disk is not None
    world.disk.fill()
    world.begin_fault()
    yield 10.0
    world.kill("store")
    yield 5.0
    world.disk.free()
    world.end_fault()


def fill_redis(world: World) -> Iterator[float]:
    """Make redis-server reach its memory limit, so that it refuses writes."""
    return _fill(world, world.system.settings.resolved().redis.url)


def _fill(world: World, url: str) -> Iterator[float]:
    with redis.Redis.from_url(url) as server:
        limit = server.config_get("maxmemory")["maxmemory"]
        server.config_set("maxmemory", server.info("memory")["used_memory"] // 2)
        world.begin_fault()
        yield 15.0
        server.config_set("maxmemory", limit)
        world.end_fault()


def stop_stages(world: World) -> Iterator[float]:
    """Stop store, then canonicalize, so that queues and spool fill."""
    broker = world.system.settings.resolved().broker
    admin = Admin.connect(broker.url, broker.shards)
    for queue in ("store", "canonicalize"):
        admin.pause(queue)
        world.begin_fault()
        yield 15.0
        admin.resume(queue)
        yield 5.0
    world.end_fault()


def break_cluster(world: World) -> Iterator[float]:
    """Kill the gateway; then delay HBase by 2 s; then fail one S3 request in ten."""
    cluster = world.cluster
    assert cluster is not None
    cluster.hbase.kill_gateway()
    cluster.gateway.cut_all()
    world.begin_fault()
    yield 8.0
    cluster.hbase.start_gateway()
    yield 8.0
    cluster.gateway.delay_s = 2.0
    world.begin_fault()
    yield 15.0
    cluster.gateway.delay_s = 0.0
    cluster.s3.share = 0.1
    yield 20.0
    cluster.s3.share = 0.0
    world.begin_fault(cluster.s3.failed)


def wrong_clock(world: World) -> Iterator[float]:
    """Run two more fetch workers whose clocks are an hour ahead and an hour behind."""
    for seconds in ("3600", "-3600"):
        command = (sys.executable, "-m", "tests.chaos.shifted_worker", seconds, "fetch")
        world.run_worker(*command, "--hostname", f"shifted{seconds}@%h")
        world.begin_fault()
    yield 20.0
    world.end_fault()


def add_limiter(world: World) -> Iterator[float]:
    """Add a third limiter node to two, then remove one of the first two."""
    ring = limiter_ring(world.system.settings)
    ring.add(world.limiters[2].url)
    world.begin_fault()
    yield 5.0
    ring.remove(world.limiters[0].url)
    world.begin_fault()
    ring.close()
    world.end_fault()


def cut_cable(world: World) -> Iterator[float]:
    """Cut the cable of a second host that fetches, for longer than its claims last."""
    prefix = (
        "ip",
        "netns",
        "exec",
        parts.NAMESPACE,
        sys.executable,
        "-m",
        "aragog.workers",
        "fetch",
    )

    def remote_url(name: str) -> str:
        return world.system.environ[name].replace("127.0.0.1", parts.LOCAL_ADDRESS)

    world.run_worker(
        *prefix, "--hostname", "second@%h",
        ARAGOG_REDIS__URL=remote_url("ARAGOG_REDIS__URL"),
        ARAGOG_BROKER__URL=remote_url("ARAGOG_BROKER__URL"),
        ARAGOG_FETCH__HOST_MAP=f"*.test={parts.LOCAL_ADDRESS}:{world.origin.port}",
        ARAGOG_FETCH__ALLOWED_NETWORKS=f"127.0.0.0/8,{parts.LOCAL_ADDRESS}/32",
    )  # fmt: skip
    yield 12.0
    parts.set_cable(world.cable, connected=False)
    world.begin_fault()
    yield 25.0
    parts.set_cable(world.cable, connected=True)
    world.end_fault()


def poison(world: World) -> Iterator[float]:
    """Break nothing, because the fault is in the pages."""
    world.begin_fault(world.plan.poison)
    yield 0.0


SMALL_SPOOL = {"ARAGOG_PIPELINE__SPOOL_MAX_BYTES": "1000000"}

SCENARIOS = (
    Scenario("workers-killed", "kill -9 of a fetch, canonicalize or store worker every 2 s", kill_workers),
    Scenario("front-killed", "kill -9 of the beat process and the API process, five times each", kill_front,
             Plan(frontends=("beat", "http"))),
    Scenario("workers-frozen", "one of two workers of each role frozen for 25 s; claims last 10 s", freeze_workers),
    Scenario("rolling-restart", "each worker restarted in turn", restart_all),
    Scenario("redis-killed", "kill -9 of redis-server, three times (append-only file)", kill_redis,
             may_refuse=True),
    Scenario("redis-frozen", "redis-server frozen for 20 s", freeze_redis, may_refuse=True),
    Scenario("redis-full", "redis-server at its memory limit for 15 s", fill_redis,
             may_refuse=True),
    Scenario("shard-gone", "one of three PinLater shards gone for a minute", lose_shard,
             Plan(extra_shards=2)),
    Scenario("shard-frozen", "one of three PinLater shards frozen for 20 s", freeze_shard,
             Plan(extra_shards=2)),
    Scenario("shard-full", "one of three PinLater shards at its memory limit for 15 s", fill_shard,
             Plan(extra_shards=2)),
    Scenario("first-shard-gone", "the broker's first server, one of three, gone for 20 s; `redis.url` "
             "is another", lose_first_shard, Plan(extra_shards=2, own_broker=True)),
    Scenario("limiter-gone", "one of two limiter nodes gone for 10 s", lose_limiter,
             Plan(limiter_nodes=2)),
    Scenario("limiter-added", "a third limiter node joins two, then one leaves", add_limiter,
             Plan(limiter_nodes=3, limiter_first=2)),
    Scenario("disk-full", "the disk full for 15 s, and a worker killed meanwhile", fill_disk,
             Plan(disk_mb=384), needs_root=True, may_refuse=True),
    Scenario("stages-stopped", "the store stage, then the canonicalize stage stopped for 15 s", stop_stages,
             Plan(environ=SMALL_SPOOL)),
    Scenario("cluster-broken", "HBase's gateway killed and down for 8 s; HBase 2 s slower for 15 s; S3 "
             "returns 500, 503 or nothing for one request in ten, for 20 s", break_cluster,
             Plan(cluster=True)),
    Scenario("origins-misbehave", "one host in three stalls after one byte, returns 429, or resets or "
             "closes connections, for a minute", misbehave),
    Scenario("poisoned-pages", "five pages that kill the process that parses them", poison,
             Plan(poison=5)),
    Scenario("clocks-apart", "two fetch workers whose clocks are an hour ahead and behind", wrong_clock),
    Scenario("cable-cut", "a second host cut off from the network for 25 s; claims last 10 s", cut_cable,
             Plan(second_host=True), needs_root=True),
)  # fmt: skip
