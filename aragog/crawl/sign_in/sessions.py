"""
Sessions of signed-in crawls: an origin's cookies for one crawl, in Redis.

Cookies are secrets. Redis stores them, like the pages that they give access to, but no log, record
or message contains them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

import orjson
import redis

from aragog.crawl.fetcher.cookies import OriginCookies
from aragog.crawl.shared_redis.leases import Leases
from pinlater.redis.errors import redis_errors

VERSION = 1
TTL_S = 30 * 86_400
LEASE_S = 120.0
"""After this time, another process may try to sign in."""


@dataclass(frozen=True, slots=True)
class Session:
    """The cookies for one origin and crawl, and the last sign-in's result."""

    cookies: tuple[tuple[Any, ...], ...] = ()
    """The cookies, from `Cookies.to_json_values`; empty if not signed in."""
    sign_in_started_at_ms: int = 0
    """When the last sign-in started."""
    failures: int = 0
    """Number of consecutive failed sign-ins."""
    reason: str = ""
    """Why the last sign-in failed."""


NO_SESSION = Session()


@dataclass(frozen=True, slots=True)
class FetchSession:
    """The session that one fetch uses."""

    cookies: OriginCookies
    crawl: str
    sign_in_started_at_ms: int
    original_cookies: list[tuple[Any, ...]]
    """The session's cookies before the fetch."""


class Sessions:
    """
    All sessions. Thread-safe. Every call may raise `BrokerUnavailable`.

    Args:
        client: a client of `redis.url`.
        prefix: the start of every key.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}sign_in:"
        self._leases = Leases(client, f"{prefix}sign_in.leases", LEASE_S)

    def read(self, origin: str, crawl: str) -> Session:
        """Return the stored session; `NO_SESSION` if there is none or another version wrote it."""
        with _translate_errors():
            raw = cast("bytes | None", self._redis.get(self._key(origin, crawl)))
        row = orjson.loads(raw) if raw else {}
        if row.get("v") != VERSION:
            return NO_SESSION
        cookies = tuple(tuple(cookie) for cookie in row["cookies"])
        return Session(cookies, row["began_at_ms"], row["failures"], row["reason"])

    def write(self, origin: str, crawl: str, session: Session) -> None:
        """Store a session for 30 days. The last write wins: every writer's cookies are valid."""
        row = {
            "v": VERSION,
            "cookies": session.cookies,
            "began_at_ms": session.sign_in_started_at_ms,
            "failures": session.failures,
            "reason": session.reason,
        }
        with _translate_errors():
            self._redis.set(self._key(origin, crawl), orjson.dumps(row), ex=TTL_S)

    def acquire(self, origin: str, crawl: str) -> bool:
        """
        Return True if the caller should sign in now.

        Other processes get False until `release` or until the lease expires.
        """
        with _translate_errors():
            return self._leases.acquire([f"{origin} {crawl}"])[0] > 0

    def release(self, origin: str, crawl: str) -> None:
        with _translate_errors():
            self._leases.release([f"{origin} {crawl}"])

    def _key(self, origin: str, crawl: str) -> str:
        """Hashed, because origins and crawl names may be long."""
        return self._prefix + sha256(f"{origin} {crawl}".encode()).hexdigest()[:32]


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("redis, sessions of signed-in crawls")
