"""
Jobs of producers that use another database or another transport than the workers.

Sending them succeeds, and nothing runs them: a URL of the broker that ends in another number, or
`redis://` where the workers read `pinlater://`, names another place on the same server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import redis

from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.pipeline.routing import Queue
from aragog.errors import BrokerUnavailable
from aragog.runtime.secret import without_password
from pinlater.brokers import is_postgres, kind_of, shard_urls
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors
from pinlater.redis_shard import RedisShard

TIMEOUT_S = 3.0
PART = "broker.url"


def check_stray_jobs(system: CheckedSystem) -> Iterator[Finding]:
    """No producer sends URLs to a place on the broker's server that no worker reads."""
    url = system.resolved.broker.url
    if system.is_down or kind_of(url) != "pinlater":
        return
    for each in shard_urls(url):
        if not is_postgres(each):
            with suppress(BrokerUnavailable):  # `check_redis` reports it
                yield from _strays(each, without_password(url))


def _strays(shard_url: str, broker_url: str) -> Iterator[Finding]:
    with connect(shard_url, timeout_s=TIMEOUT_S, connect_timeout_s=TIMEOUT_S, attempts=1) as client:
        own = int(client.connection_pool.connection_kwargs.get("db") or 0)
        with redis_errors(PART):
            used = [int(n) for n in re.findall(r"db(\d+)", str(client.info("keyspace")))]
        for number in sorted({*used, own}):
            for how, count in _waiting(client, number, ours=number == own):
                text = (
                    f"{count:,} {how} in database {number} of this server, which no worker reads: "
                    f"their producer must use {broker_url}"
                )
                yield Finding(PART, ok=False, text=text)


def _waiting(client: redis.Redis, number: int, *, ours: bool) -> Iterator[tuple[str, int]]:
    """Jobs of the crawl in a database, which are not where the workers look, and what they are."""
    pool = client.connection_pool
    arguments = {**pool.connection_kwargs, "db": number}
    there = redis.ConnectionPool(connection_class=pool.connection_class, **arguments)
    with redis.Redis(connection_pool=there) as other, redis_errors(PART):
        if not ours:
            sizes = RedisShard(other).sizes(Queue.FETCH.value)
            if jobs := sizes.due + sizes.later:
                yield "jobs wait", jobs
        # kombu's own Redis transport keeps a list by the name of the queue.
        if other.type(Queue.FETCH.value) == b"list":
            yield "messages of Celery's redis:// transport wait", other.llen(Queue.FETCH.value)
    there.disconnect()
