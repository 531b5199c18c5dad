"""Check servers and processes: Redis, the limiter, the broker, clocks, workers and beat."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import redis
from celery import Celery
from kombu.connection import Connection

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.redis_services import limiter_ring, redis_client
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.politeness.limiter_ring import RingReport
from aragog.errors import CONFIG, BrokerUnavailable, LimiterUnavailable
from aragog.runtime.secret import reveal, without_password
from aragog.settings import Settings
from aragog.standalone.append_only_files import AppendOnlyFiles
from aragog.standalone.redis_server import REPAIR, find_redis_server
from pinlater.brokers import (
    celery_settings,
    is_postgres,
    kind_of,
    limitations,
    redis_urls,
    shard_urls,
)
from pinlater.cluster import connect_shards
from pinlater.queue_rows import get_problems, queue_rows
from pinlater.redis.address import server_name
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors
from pinlater.redis_shard import RedisShard

TIMEOUT_S = 3.0
REPLY_TIMEOUT_S = 2.0
# Servers that use at least this fraction of their maxmemory are reported.
MAX_MEMORY_SHARE = 0.85
# Larger files of the private Redis are not read: reading takes a second per 100 MB.
MAX_CHECKED_BYTES = 300_000_000
# If clocks differ by more, nothing breaks, but logs and due times are misleading.
MAX_CLOCK_DIFFERENCE_S = 2.0
# As of November 2026, older versions get no security fixes.
OLDEST_SUPPORTED = {"Redis": (7, 4), "Valkey": (7, 2)}


def check_redis(system: CheckedSystem) -> Iterator[Finding]:
    """Check that every configured Redis server responds, keeps all keys, and has free memory."""
    if system.is_down:
        text = f"not running; `aragog up` starts {find_redis_server()}"
        yield Finding("redis", ok=not system.should_run, text=text)
        if system.settings.private_redis:
            yield from _check_files(AppendOnlyFiles(system.settings.data_dir.absolute() / "redis"))
        return
    for url, roles in redis_servers(system.resolved).items():
        part = "redis" if len(roles) > 1 else roles[0]
        durable = not {"redis.url", "broker.url", "broker.shards"}.isdisjoint(roles)
        yield from _check_server(url, f"{part} {server_name(url)}", durable=durable)


def _check_files(files: AppendOnlyFiles) -> Iterator[Finding]:
    """Check a stopped private Redis's files for problems that lose data or prevent a start."""
    problems = files.problems()
    total_bytes = files.total_bytes()
    if total_bytes <= MAX_CHECKED_BYTES and (damage := files.damage()):
        problems.append(str(damage))
    for problem in problems:
        yield Finding("redis, files", ok=False, text=f"{problem}; {REPAIR}")
    if not problems and total_bytes:
        part = "" if total_bytes <= MAX_CHECKED_BYTES else "; too large to be read here"
        text = f"{total_bytes:,} bytes in {files.folder}{part}"
        yield Finding("redis, files", ok=True, text=text)


def redis_servers(resolved: Settings) -> dict[str, list[str]]:
    """Return each Redis server's URL, with the settings that name it."""
    urls: list[tuple[str, str]] = [("redis.url", resolved.redis.url)]
    urls += [("redis.nodes", url) for url in resolved.redis.nodes]
    urls += [("politeness.limiter_urls", url) for url in resolved.politeness.limiter_urls]
    kind = kind_of(resolved.broker.url)
    if kind == "pinlater":
        urls += [("broker.url", url) for url in redis_urls(resolved.broker.url)]
    elif kind == "redis":
        urls.append(("broker.url", resolved.broker.url))
    if is_postgres(resolved.broker.url):
        urls.append(("broker.control", resolved.broker.control))
    urls += [("broker.shards", url) for url in resolved.broker.shards if not is_postgres(url)]
    result: dict[str, tuple[str, list[str]]] = {}
    for setting, url in urls:
        _, settings = result.setdefault(server_name(url), (reveal(url), []))
        if setting not in settings:
            settings.append(setting)
    return dict(result.values())


def _check_server(url: str, part: str, *, durable: bool) -> Iterator[Finding]:
    try:
        with short_timeout_client(url) as client:
            memory, server = client.info("memory"), client.info("server")
            disk = client.info("persistence")
            start_s = time.time()
            seconds, micros = client.time()
            now_s = (start_s + time.time()) / 2
    except (redis.RedisError, OSError, *CONFIG) as error:
        yield Finding(part, ok=False, text=f"does not respond: {type(error).__name__}")
        return
    name, version = server_product(server)
    yield _check_memory(part, memory, f"{name} {version}")
    yield from support_findings(f"{part}, version", name, version)
    if durable and not disk.get("aof_enabled"):
        text = "appendonly is off, so jobs are lost when it restarts; set appendonly to yes"
        yield Finding(f"{part}, disk", ok=False, text=text)
    elif disk.get("aof_last_write_status", "ok") != "ok":
        text = "its append-only file cannot be written; check its disk and log"
        yield Finding(f"{part}, disk", ok=False, text=text)
    yield from clock_findings(part, seconds + micros / 1e6 - now_s)


def server_product(server: dict[str, Any]) -> tuple[str, str]:
    """Return the product's name and version. Valkey also reports a Redis version."""
    if server.get("server_name") == "valkey":
        return "Valkey", str(server["valkey_version"])
    return "Redis", str(server["redis_version"])


def support_findings(part: str, name: str, version: str) -> Iterator[Finding]:
    """Warn if the product's project no longer maintains this version."""
    oldest = OLDEST_SUPPORTED[name]
    if tuple(map(int, re.findall(r"[0-9]+", version)[:2])) < oldest:
        text = (
            f"{name} {version} no longer gets security fixes from its project; upgrade to "
            f"{name} {'.'.join(map(str, oldest))} or newer, or make sure that your distribution "
            "still maintains it"
        )
        yield Finding(part, ok=True, text=text, warning=True)


def clock_findings(part: str, difference_s: float) -> Iterator[Finding]:
    """Yield a finding if a server's clock differs too much from this machine's."""
    if abs(difference_s) > MAX_CLOCK_DIFFERENCE_S:
        direction = "ahead of" if difference_s > 0 else "behind"
        text = f"its clock is {abs(difference_s):.1f} s {direction} this machine's; run NTP on both"
        yield Finding(part, ok=False, text=text)


def short_timeout_client(url: str) -> redis.Redis:
    """Return a client with a short timeout that does not retry."""
    return connect(url, timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, attempts=1)


def _check_memory(part: str, info: dict[str, Any], version: str) -> Finding:
    policy, maxmemory = info.get("maxmemory_policy"), info.get("maxmemory", 0)
    text = f"{version}, {info['used_memory_human']} used"
    if policy != "noeviction":
        text = (
            f"maxmemory-policy is {policy}, so jobs and slots may be evicted; set it to noeviction"
        )
        return Finding(part, ok=False, text=text)
    if maxmemory and info["used_memory"] > MAX_MEMORY_SHARE * maxmemory:
        text += f" of {info['maxmemory_human']}, so it will soon refuse writes; raise maxmemory"
        return Finding(part, ok=False, text=text)
    return Finding(
        part, ok=True, text=text + (f" of {info['maxmemory_human']}" if maxmemory else "")
    )


def check_broker(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the broker responds, and report missing features."""
    url = system.resolved.broker.url
    scheme = url.partition("://")[0]
    if kind_of(url) == "rabbitmq":
        yield _check_rabbitmq(url)
    elif kind_of(url) == "pinlater":
        urls = [("broker.url", shard_url) for shard_url in shard_urls(url)]
        urls += [("broker.shards", shard_url) for shard_url in system.resolved.broker.shards]
        for setting, shard_url in urls:
            if is_postgres(shard_url):
                yield from _check_postgres_shard(setting, shard_url)
    missing_features = limitations(url)
    for text in missing_features:
        yield Finding(f"broker {scheme}", ok=True, text=f"cannot: {text}")
    if not missing_features:
        yield Finding(f"broker {scheme}", ok=True, text="supports everything that aragog uses")


def _check_postgres_shard(setting: str, url: str) -> Iterator[Finding]:
    part = f"{setting} {without_password(url)}"
    try:
        [shard] = connect_shards([url])
        shard.ping()
        problems = shard.config_warnings()
    except (BrokerUnavailable, *CONFIG) as error:
        yield Finding(part, ok=False, text=str(error))
        return
    for text in problems:
        yield Finding(part, ok=False, text=text)
    if not problems:
        yield Finding(part, ok=True, text="accepts jobs")


def _check_rabbitmq(url: str) -> Finding:
    try:
        with Connection(reveal(url), connect_timeout=TIMEOUT_S) as connection:  # type: ignore[no-untyped-call]
            connection.connect()
    except Exception as error:  # noqa: BLE001 - whatever the library of this broker raises
        text = f"{without_password(url)} does not respond: {type(error).__name__}"
        return Finding("broker.url", ok=False, text=text)
    return Finding("broker.url", ok=True, text=f"{without_password(url)} responds")


def check_queues(system: CheckedSystem) -> Iterator[Finding]:
    """Report queues that are paused or late, or whose shard is missing."""
    admin = None if system.is_down else components(system.resolved).admin
    for row in queue_rows(admin) if admin else ():
        for text in get_problems(row, "aragog queue"):
            yield Finding(f"queue {row.queue}", ok=False, text=text)


def check_workers(system: CheckedSystem) -> Iterator[Finding]:
    """Check that every queue has a worker that responds."""
    if system.is_down:
        return
    broker = system.resolved.broker
    app = Celery("aragog-doctor", set_as_current=False)
    app.conf.update(
        celery_settings(broker.url, broker.shards, broker.claim_timeout_s, control=broker.control)
    )
    app.conf.update(broker_connection_timeout=REPLY_TIMEOUT_S)
    required_queues = [
        queue for queue in Queue if queue != Queue.RENDER or system.settings.rendering.hosts
    ]
    try:
        result = system.wait_for(
            lambda: _active_queues(app),
            lambda found: _queue_names(found).issuperset(required_queues),
        )
    except Exception as error:  # noqa: BLE001 - whatever the library of this broker raises
        yield Finding("workers", ok=False, text=f"cannot query the workers: {type(error).__name__}")
        return
    finally:
        app.close()
    served_queues = _queue_names(result)
    if missing := [queue for queue in required_queues if queue not in served_queues]:
        text = (
            f"no worker responds for {', '.join(missing)}; start `celery -A aragog.workers "
            f"worker -Q {','.join(missing)}`, or `aragog up`"
        )
        yield Finding("workers", ok=False, text=text)
    else:
        yield Finding("workers", ok=True, text=", ".join(sorted(result)))


def _active_queues(app: Celery) -> dict[str, list[dict[str, Any]]]:
    return app.control.inspect(timeout=REPLY_TIMEOUT_S).active_queues() or {}


def _queue_names(replies: dict[str, list[dict[str, Any]]]) -> set[str]:
    return {queue["name"] for queues in replies.values() for queue in queues}


def check_beat(system: CheckedSystem) -> Iterator[Finding]:
    """Check that beat is running: a periodic task must have run in the last minute."""
    if system.is_down:
        return
    with redis_client(system.resolved) as client:
        counters = Counters(client, prefix=system.resolved.redis.prefix)
        age_s = system.wait_for(counters.tick_age_s, lambda found: found is not None)
    if age_s is None:
        text = (
            "no periodic task ran in the last minute, so nothing is refreshed; start `aragog up` "
            "(if it is running, see upkeep.log) or `python -m aragog.workers upkeep,webhooks,beat`"
        )
        yield Finding("beat", ok=False, text=text)
    else:
        yield Finding("beat", ok=True, text=f"its last task ran {age_s:.0f} s ago")


def check_limiter(system: CheckedSystem) -> Iterator[Finding]:
    """Check the limiter's servers, and report problems that need an operator."""
    if system.is_down:
        return
    try:
        ring = limiter_ring(system.resolved)
    except CONFIG:
        return  # another check reports it
    try:
        report, configured = ring.report(), ring.nodes_in_settings()
    except LimiterUnavailable:
        return  # redis.url does not respond, which another check reports
    finally:
        ring.close()
    yield from _check_nodes(report, configured)
    if configured != {node.node for node in report.nodes if node.state != "leaving"}:
        text = (
            "politeness.limiter_urls is ignored, because it differs from the ring in use "
            "(`aragog limiter list`); set it to the same nodes"
        )
        yield Finding("limiter, settings", ok=True, text=text, warning=True)


def _check_nodes(report: RingReport, configured: set[str]) -> Iterator[Finding]:
    active = [node for node in report.nodes if node.state == "active"]
    text = f"epoch {report.epoch}, {len(active)} of {len(report.nodes)} nodes active"
    yield Finding("limiter", ok=True, text=text)
    if report.moving:
        text = (
            "domains are moving; unless a command is moving them now, run `aragog limiter finish`"
        )
        yield Finding("limiter, move", ok=True, text=text, warning=True)
    for node in report.nodes:
        if not node.answers and node.node not in configured:
            text = "does not respond; start it, or replace it (docs/operations.md)"
            yield Finding(f"limiter node {node.node}", ok=False, text=text)


def check_stray_jobs(system: CheckedSystem) -> Iterator[Finding]:
    """
    Check that workers read every queue on the broker's server.

    Producers use an unread queue without an error if their broker URL has another database number,
    or starts with `redis://` instead of `pinlater://`.
    """
    url = system.resolved.broker.url
    if system.is_down or kind_of(url) != "pinlater":
        return
    for shard_url in shard_urls(url):
        if not is_postgres(shard_url):
            with suppress(BrokerUnavailable):  # `check_redis` reports this
                yield from _check_database_numbers(shard_url, without_password(url))


def _check_database_numbers(shard_url: str, broker_url: str) -> Iterator[Finding]:
    with connect(shard_url, timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, attempts=1) as client:
        configured_number = int(client.connection_pool.connection_kwargs.get("db") or 0)
        with redis_errors("broker.url"):
            used_numbers = [int(n) for n in re.findall(r"db(\d+)", str(client.info("keyspace")))]
        for number in sorted({*used_numbers, configured_number}):
            for kind, count in _unread_jobs(
                client, number, is_configured=number == configured_number
            ):
                text = (
                    f"{count:,} {kind} in database {number} of this server, which no worker reads; "
                    f"their producer must use {broker_url}"
                )
                yield Finding("broker.url", ok=False, text=text)


def _unread_jobs(
    client: redis.Redis, number: int, *, is_configured: bool
) -> Iterator[tuple[str, int]]:
    """Yield each kind of job in a database, with the number of jobs."""
    pool = client.connection_pool
    arguments = {**pool.connection_kwargs, "db": number}
    pool_of_database = redis.ConnectionPool(connection_class=pool.connection_class, **arguments)
    with (
        redis.Redis(connection_pool=pool_of_database) as client_of_database,
        redis_errors("broker.url"),
    ):
        if not is_configured:
            sizes = RedisShard(client_of_database).sizes(Queue.FETCH.value)
            if jobs := sizes.due + sizes.later:
                yield "jobs are waiting", jobs
        # With kombu's Redis transport, a queue is a list under its name.
        if client_of_database.type(Queue.FETCH.value) == b"list":
            yield (
                "messages of Celery's redis:// transport are waiting",
                client_of_database.llen(Queue.FETCH.value),
            )
    pool_of_database.disconnect()
