"""
All processes' failing egress routes, for `aragog explain`, `doctor` and the metrics.

For display only. To choose routes, each process uses only the failures that it has seen itself
(`health`).
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from typing import NamedTuple, cast

import orjson
import redis

from aragog.crawl.egress.health import RouteFailure
from aragog.runtime.clock import Clock
from pinlater.redis.errors import redis_errors

log = logging.getLogger(__name__)
VERSION = 1
STALE_MS = 900_000
"""An entry whose retry is this long overdue is ignored: its process has ended."""
TTL_S = 86_400


class FailingRoute(NamedTuple):
    """A route that is failing on one machine. Times are in ms since the epoch."""

    way: str
    machine: str
    failures: int
    since_ms: int
    retry_at_ms: int
    reason: str


class FailingRoutes:
    """
    One Redis hash. Each field is a route and a machine; the value describes the failure in JSON.
    Thread-safe.

    Args:
        client: a client of `redis.url`.
        prefix: prefix of the key.
    """

    def __init__(self, client: redis.Redis, clock: Clock, *, prefix: str) -> None:
        self._redis = client
        self._clock = clock
        self._key = f"{prefix}egress"
        self._machine = socket.gethostname()

    def record(self, name: str, state: RouteFailure | None) -> None:
        """
        Record that a route is failing, or working again (None). Ignores Redis errors.

        Idempotent: a machine's record replaces its earlier one.
        """
        field = f"{name} {self._machine}"
        if state is None:
            log.warning("egress route %s works again", name)
            with suppress(redis.RedisError):
                self._redis.hdel(self._key, field)
            return
        log.warning("egress route %s fails: %s", name, state.reason)
        now_ms, now_s = self._clock.now_ms(), self._clock.monotonic_s()
        row = {
            "v": VERSION,
            "failures": state.consecutive_failures,
            "since_ms": now_ms - int((now_s - state.since_s) * 1000),
            "retry_at_ms": now_ms + int((state.retry_at_s - now_s) * 1000),
            "reason": state.reason,
        }
        with suppress(redis.RedisError), self._redis.pipeline(transaction=False) as pipe:
            pipe.hset(self._key, field, orjson.dumps(row))
            pipe.expire(self._key, TTL_S)
            pipe.execute()

    def read(self) -> list[FailingRoute]:
        """
        Return the routes that are failing on any machine, sorted by name.

        Raises:
            BrokerUnavailable: Redis does not respond.
        """
        with redis_errors("redis, failing egress routes"):
            rows = cast("dict[bytes, bytes]", self._redis.hgetall(self._key))
        parsed = [_parse_route(name.decode(), value) for name, value in rows.items()]
        oldest_ms = self._clock.now_ms() - STALE_MS
        return sorted(row for row in parsed if row and row.retry_at_ms > oldest_ms)


def _parse_route(field: str, value: bytes) -> FailingRoute | None:
    name, _, machine = field.partition(" ")
    try:
        row = orjson.loads(value)
        return FailingRoute(
            name, machine, int(row["failures"]), int(row["since_ms"]), int(row["retry_at_ms"]),
            str(row["reason"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None
