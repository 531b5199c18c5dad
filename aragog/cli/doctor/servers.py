"""Checks of network services: Redis servers, the broker, their clocks."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import redis
from kombu.connection import Connection

from aragog.bootstrap.dashboard import components
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.errors import ConfigError
from aragog.pinlater.brokers import kind_of, limitations, redis_urls
from aragog.pinlater.queue_rows import concerns, queue_rows
from aragog.redis_kit.address import server_name
from aragog.redis_kit.connect import connect
from aragog.secret import reveal, without_password
from aragog.settings import Settings
from aragog.standalone.redis_server import find_redis_server

TIMEOUT_S = 3.0
# The share of a server's maxmemory from which the doctor reports a problem.
NEARLY_FULL = 0.85
# A difference this large breaks nothing, but makes comparisons of logs and due times misleading.
CLOCK_DIFFERENCE_S = 2.0
# Older ones get no more security fixes from their projects, as of November 2026.
OLDEST_SUPPORTED = {"Redis": (7, 4), "Valkey": (7, 2)}


def check_redis(system: CheckedSystem) -> Iterator[Finding]:
    """Every Redis server of the settings once: it answers, keeps all keys, and has room."""
    if system.is_down:
        text = f"not running; `aragog up` starts {find_redis_server()}"
        yield Finding("redis", ok=not system.should_run, text=text)
        return
    for url, roles in redis_servers(system.resolved).items():
        part = "redis" if len(roles) > 1 else roles[0]
        durable = not {"redis.url", "broker.url", "broker.shards"}.isdisjoint(roles)
        yield from _server(url, f"{part} {server_name(url)}", durable=durable)


def redis_servers(resolved: Settings) -> dict[str, list[str]]:
    """URL of each Redis server that the settings name, and the settings that name it."""
    named: list[tuple[str, str]] = [("redis.url", resolved.redis.url)]
    named += [("redis.nodes", url) for url in resolved.redis.nodes]
    named += [("politeness.limiter_urls", url) for url in resolved.politeness.limiter_urls]
    kind = kind_of(resolved.broker.url)
    if kind == "pinlater":
        named += [("broker.url", url) for url in redis_urls(resolved.broker.url)]
    elif kind == "redis":
        named.append(("broker.url", resolved.broker.url))
    named += [("broker.shards", url) for url in resolved.broker.shards]
    result: dict[str, tuple[str, list[str]]] = {}
    for setting, url in named:
        _, settings = result.setdefault(server_name(url), (reveal(url), []))
        if setting not in settings:
            settings.append(setting)
    return dict(result.values())


def _server(url: str, part: str, *, durable: bool) -> Iterator[Finding]:
    try:
        with client_of(url) as client:
            memory, server = client.info("memory"), client.info("server")
            disk = client.info("persistence")
            start_s = time.time()
            seconds, micros = client.time()
            now_s = (start_s + time.time()) / 2
    except (redis.RedisError, OSError, ConfigError) as error:
        yield Finding(part, ok=False, text=f"does not answer: {type(error).__name__}")
        return
    name, version = product_of(server)
    yield _memory(part, memory, f"{name} {version}")
    yield from support_findings(f"{part}, version", name, version)
    if durable and not disk.get("aof_enabled"):
        text = "appendonly is off: jobs are lost when it restarts; set appendonly to yes"
        yield Finding(f"{part}, disk", ok=False, text=text)
    elif disk.get("aof_last_write_status", "ok") != "ok":
        text = "its append-only file cannot be written: check its disk and log"
        yield Finding(f"{part}, disk", ok=False, text=text)
    yield from clock_findings(part, seconds + micros / 1e6 - now_s)


def product_of(server: dict[str, Any]) -> tuple[str, str]:
    """Name and version of a server, from its INFO; Valkey also reports a version of Redis."""
    if server.get("server_name") == "valkey":
        return "Valkey", str(server["valkey_version"])
    return "Redis", str(server["redis_version"])


def support_findings(part: str, name: str, version: str) -> Iterator[Finding]:
    """A warning if the project of the server no longer maintains its version."""
    oldest = OLDEST_SUPPORTED[name]
    if tuple(map(int, re.findall(r"[0-9]+", version)[:2])) < oldest:
        text = (
            f"{name} {version} gets no more security fixes from its project: upgrade to "
            f"{name} {'.'.join(map(str, oldest))} or newer, or make sure that your distribution "
            "still maintains it"
        )
        yield Finding(part, ok=True, text=text, warning=True)


def clock_findings(part: str, ahead_s: float) -> Iterator[Finding]:
    """One where a server's clock is too far from this machine's."""
    if abs(ahead_s) > CLOCK_DIFFERENCE_S:
        way = "ahead of" if ahead_s > 0 else "behind"
        text = f"its clock is {abs(ahead_s):.1f} s {way} this machine's: run NTP on both"
        yield Finding(part, ok=False, text=text)


def client_of(url: str) -> redis.Redis:
    """A client with a short timeout that does not retry."""
    return connect(url, timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, attempts=1)


def _memory(part: str, info: dict[str, Any], version: str) -> Finding:
    policy, most = info.get("maxmemory_policy"), info.get("maxmemory", 0)
    text = f"{version}, {info['used_memory_human']} used"
    if policy != "noeviction":
        text = f"maxmemory-policy is {policy}: jobs and slots may vanish; set it to noeviction"
        return Finding(part, ok=False, text=text)
    if most and info["used_memory"] > NEARLY_FULL * most:
        text += f" of {info['maxmemory_human']}: it will soon refuse writes; raise maxmemory"
        return Finding(part, ok=False, text=text)
    return Finding(part, ok=True, text=text + (f" of {info['maxmemory_human']}" if most else ""))


def check_broker(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the broker answers, and report the features that it lacks."""
    url = system.resolved.broker.url
    scheme = url.partition("://")[0]
    if kind_of(url) == "rabbitmq":
        yield _rabbitmq(url)
    lacks = limitations(url)
    for text in lacks:
        yield Finding(f"broker {scheme}", ok=True, text=f"cannot: {text}")
    if not lacks:
        yield Finding(f"broker {scheme}", ok=True, text="supports everything that aragog uses")


def _rabbitmq(url: str) -> Finding:
    try:
        with Connection(reveal(url), connect_timeout=TIMEOUT_S) as connection:  # type: ignore[no-untyped-call]
            connection.connect()
    except Exception as error:  # noqa: BLE001 - whatever the library of this broker raises
        text = f"{without_password(url)} does not answer: {type(error).__name__}"
        return Finding("broker.url", ok=False, text=text)
    return Finding("broker.url", ok=True, text=f"{without_password(url)} answers")


def check_queues(system: CheckedSystem) -> Iterator[Finding]:
    """Queues that are paused, late or without a shard."""
    admin = None if system.is_down else components(system.resolved).admin
    for row in queue_rows(admin) if admin else ():
        for text in concerns(row):
            yield Finding(f"queue {row.queue}", ok=False, text=text)
