"""
Calls a Redis server of the limiter, and estimates its clock.

A restarted server, or a replica that became the master, may not know the latest requests. Clients
notice this because they lose their connection, so `restart.lua` runs first on each new connection.
It keeps lost state from bringing two requests too close together. A missing script would not
reliably show a restart, because Redis before version 7 keeps scripts in its append-only file and
sends them to replicas.

Each response contains the server's time, which bounds the offset to the local monotonic clock.
Recent bounds are intersected, so the error is about half of the fastest recent round trip.
"""

from __future__ import annotations

import re
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, cast

import redis

from aragog.errors import LimiterUnavailable
from aragog.runtime.secret import without_password
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import LuaScript, load_script

# The clocks of two machines drift apart by less than this (NTP slews at up to 500 ppm, usually 50).
MAX_DRIFT = 0.0005
TIMEOUT_S = 2.0
# Every response starts with the server's time.
_SERVER_TIME = struct.Struct("<d")
_GLOB_CHARACTER = re.compile(r"[\\*?\[\]^-]")


class OtherRing(Exception):
    """The node's ring version differs from the caller's. The call changed nothing."""

    def __init__(self, node: LimiterNode) -> None:
        super().__init__(node.display_name)
        self.node = node


class LimiterNode:
    """
    A server in the ring. Thread-safe; may be used after a fork.

    Args:
        url: `redis://…` or `unix://…`.
        prefix: the start of every key.
        hold_us: how long a pre-granted permit lasts, which limits what a restart can lose.
        name: the node's name in the ring; by default, the URL.
    """

    def __init__(self, url: str, prefix: str, hold_us: int, name: str | None = None) -> None:
        self.url = url
        self.name = name or url
        self.version = 0.0
        self.display_name = without_password(url)
        self.prefix = prefix
        self.hold_us = hold_us
        self.clock = ServerClock()
        self.client = connect(
            url,
            setting="politeness.limiter_urls",
            timeout_s=TIMEOUT_S,
            connect_timeout_s=TIMEOUT_S,
            attempts=2,
        )
        pool: Any = self.client.connection_pool
        pool.connection_kwargs["redis_connect_func"] = self._on_connect

    def _on_connect(self, connection: Any) -> None:
        """Prepare a new connection, with `restart.lua` as its first command."""
        connection.on_connect()
        keys = self.key("slots", "run"), self.key("slots", "epoch")
        connection.send_command("EVAL", _script("restart").script, 2, *keys, self.hold_us)
        connection.read_response()

    def key(self, kind: str, name: str) -> str:
        """
        Return a Redis key. The kinds `slot` and `concurrent` are for one domain, and `slots` is for
        the whole server.
        """
        return f"{self.prefix}{kind}:{name}"

    def with_version(self, version: float) -> LimiterNode:
        """Return a copy for callers with this ring version. It shares the connections."""
        node = copy(self)
        node.version = version
        return node

    def call(self, name: str, **values: Any) -> bytes:
        """
        Run lua/<name>.lua with its declared keys and arguments.

        Returns the script's result, which starts with the server's time.

        Raises:
            OtherRing: the node's ring version differs from this object's.
            LimiterUnavailable: the server did not respond. The script may have run anyway.
        """
        sent_us = stopwatch_us()
        reply = cast("bytes", self.run(name, **values))
        self.clock.observe(sent_us, _SERVER_TIME.unpack_from(reply)[0], stopwatch_us())
        return reply

    def run(self, name: str, **values: Any) -> Any:
        """Run a script whose result does not start with the server's time; see `call`."""
        with self._errors():
            try:
                return _script(name).run(self.client, **values)
            except redis.ResponseError as error:
                if str(error).startswith("OTHERRING"):
                    raise OtherRing(self) from None
                raise

    def _errors(self) -> AbstractContextManager[None]:
        return redis_errors(self.display_name, LimiterUnavailable)

    def now_us(self) -> float:
        """
        Return the server's time, estimated from its latest response. Before the first response,
        reads the server's clock.
        """
        if not self.clock.is_known:
            self.read_time()
        now_us = stopwatch_us()
        return (self.clock.earliest_us(now_us) + self.clock.latest_us(now_us)) / 2

    def read_time(self) -> None:
        """Read the server's clock, in one round trip."""
        with self._errors():
            sent_us = stopwatch_us()
            seconds, us = self.client.time()
        self.clock.observe(sent_us, seconds * 1_000_000 + us, stopwatch_us())

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of keys, in one round trip."""
        with self._errors():
            return cast("list[bytes | None]", self.client.mget(keys))

    def last_members(self, key: str, count: int) -> list[bytes]:
        """Return a sorted set's members with the highest scores, highest first."""
        with self._errors():
            return cast("list[bytes]", self.client.zrevrange(key, 0, count - 1))

    def ring_copy(self) -> bytes | None:
        with self._errors():
            return cast("bytes | None", self.client.hget(self.key("slots", "ring"), "record"))

    def keys(self, kind: str) -> Iterator[bytes]:
        """Yield all keys of a kind, in no particular order and perhaps twice."""
        pattern = _GLOB_CHARACTER.sub(r"\\\g<0>", self.key(kind, ""))
        with self._errors():
            for key in self.client.scan_iter(match=f"{pattern}*", count=1_000):
                yield key[len(self.key(kind, "").encode()) :]

    def close(self) -> None:
        self.client.close()


def _script(name: str) -> LuaScript:
    return load_script("aragog.crawl.politeness", name, prelude="prelude")


def stopwatch_us() -> float:
    """Return the time of this process's monotonic clock in microseconds."""
    return time.monotonic_ns() / 1000


class ServerClock:
    """
    Bounds on a server's clock. All times are in microseconds. Thread-safe.

    If the server's clock jumps, the bounds do not intersect, and only the newest one is used.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._low_us = float("-inf")
        self._high_us = float("inf")
        self._observed_us = 0.0

    @property
    def is_known(self) -> bool:
        """False until the first response."""
        return self._high_us != float("inf")

    def observe(self, sent_us: float, server_us: float, received_us: float) -> None:
        """Record the monotonic times before and after a call, and the server's time in between."""
        low, high = server_us - received_us, server_us - sent_us
        with self._lock:
            drift = max(0.0, received_us - self._observed_us) * MAX_DRIFT
            intersection = max(low, self._low_us - drift), min(high, self._high_us + drift)
            self._low_us, self._high_us = (
                intersection if intersection[0] <= intersection[1] else (low, high)
            )
            self._observed_us = received_us

    def earliest_us(self, stopwatch_us: float) -> float:
        return stopwatch_us + self._low_us - self._drift(stopwatch_us)

    def latest_us(self, stopwatch_us: float) -> float:
        return stopwatch_us + self._high_us + self._drift(stopwatch_us)

    def _drift(self, stopwatch_us: float) -> float:
        return max(0.0, stopwatch_us - self._observed_us) * MAX_DRIFT
