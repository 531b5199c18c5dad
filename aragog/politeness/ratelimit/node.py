"""
One Redis server of the limiter: its scripts, its clock, and its errors in our words.

A script that the server does not know means that the server was restarted (or is new): before the
scripts are loaded again, `restart.lua` makes sure that what the server may have forgotten cannot
bring two requests too close together.
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, cast

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from aragog.errors import ConfigError, LimiterUnavailable
from aragog.politeness.ratelimit.server_clock import ServerClock
from aragog.settings.secret import reveal, without_password

SCRIPTS = ("reserve", "acquire_permit", "release_permit", "pause_until", "report")
# Every answer starts with the server's time.
_NOW = struct.Struct("<d")


@cache
def script(name: str) -> tuple[str, str]:
    """Source and SHA-1 of lua/<name>.lua."""
    source = files("aragog.politeness").joinpath(f"lua/{name}.lua").read_text("utf-8")
    return source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


@contextmanager
def limiter_errors(where: str) -> Iterator[None]:
    """Redis errors inside become `LimiterUnavailable`: the only place where they are translated."""
    try:
        yield
    except RedisError as error:
        raise LimiterUnavailable(where, f"{type(error).__name__}: {error}") from error


def connect(url: str, *, setting: str, timeout_s: float = 2.0) -> redis.Redis:
    """
    A client that tries again once: a connection of the pool may have died with its server.

    Raises:
        ConfigError: not a Redis URL.
    """
    try:
        return redis.Redis.from_url(
            reveal(url),
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(ConstantBackoff(0.05), 1),
        )
    except ValueError:
        # The library's own words may hold the password of a URL that it could not read.
        raise ConfigError(
            f"{setting}: {without_password(url)!r} is no Redis URL; use redis://host:port"
        ) from None


class LimiterNode:
    """
    A server of the ring. Safe to share between threads and to carry over a fork.

    Args:
        url: `redis://…` or `unix://…`.
        prefix: put before every key.
        hold_us: how long a solo slot is held; what a restart may have forgotten is at most that.
    """

    def __init__(self, url: str, prefix: str, hold_us: int) -> None:
        self.url = url
        self.shown = without_password(url)
        self.prefix = prefix
        self.hold_us = hold_us
        self.clock = ServerClock()
        self.client = connect(url, setting="politeness.limiter_urls")

    def key(self, kind: str, name: str) -> str:
        """The Redis key of one kind: `slot` and `place` by domain, `slots` for the server's own."""
        return f"{self.prefix}{kind}:{name}"

    def call(self, name: str, keys: Sequence[str], *args: bytes | float) -> bytes:
        """
        Run lua/<name>.lua; its answer, which starts with the server's time.

        Raises:
            LimiterUnavailable: the server did not answer; the script may have run all the same.
        """
        sha = script(name)[1]
        with limiter_errors(self.shown):
            asked_us = stopwatch_us()
            try:
                answer = self._run(sha, keys, args)
            except NoScriptError:
                self._load()
                asked_us = stopwatch_us()
                answer = self._run(sha, keys, args)
        self.clock.observe(asked_us, _NOW.unpack_from(answer)[0], stopwatch_us())
        return answer

    def _run(self, sha: str, keys: Sequence[str], args: Sequence[Any]) -> bytes:
        return cast("bytes", self.client.evalsha(sha, len(keys), *keys, *args))

    def _load(self) -> None:
        """After a restart: first `restart`, by its source, then the scripts that ask for slots."""
        run_id = str(self.client.info("server")["run_id"])
        keys = (self.key("slots", "run"), self.key("slots", "restart"))
        self.client.eval(script("restart")[0], len(keys), *keys, run_id, str(self.hold_us))
        for name in SCRIPTS:
            self.client.script_load(script(name)[0])

    def now_us(self) -> float:
        """The server's clock, from what its answers told; asked when there was none yet."""
        if not self.clock.known:
            self.ask_time()
        now = stopwatch_us()
        return (self.clock.earliest_us(now) + self.clock.latest_us(now)) / 2

    def ask_time(self) -> None:
        """One round trip to learn the server's clock."""
        with limiter_errors(self.shown):
            asked_us = stopwatch_us()
            seconds, us = self.client.time()
        self.clock.observe(asked_us, seconds * 1_000_000 + us, stopwatch_us())

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of keys; one round trip."""
        with limiter_errors(self.shown):
            return cast("list[bytes | None]", self.client.mget(keys))

    def last_members(self, key: str, count: int) -> list[bytes]:
        """The members of a sorted set with the highest scores, highest first."""
        with limiter_errors(self.shown):
            return cast("list[bytes]", self.client.zrevrange(key, 0, count - 1))

    def remove_member(self, key: str, member: int) -> None:
        """Take one member out of a sorted set; harmless when it is not there."""
        with limiter_errors(self.shown):
            self.client.zrem(key, member)

    def close(self) -> None:
        """Let go of the connections."""
        self.client.close()


def stopwatch_us() -> float:
    """Microseconds on this process's stopwatch."""
    return time.monotonic_ns() / 1000
