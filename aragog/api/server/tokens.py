"""
Bearer tokens (RFC 6750), each with scopes and an optional rate limit.

Settings contain only hashes. A token has 256 random bits, so its SHA-256 cannot be reversed and no
slow hash is needed. Each token has one token bucket per process, in memory.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from aragog.api.operations.scopes import LacksScope, Token
from aragog.api.problems import Problem, to_problem
from aragog.errors import ConfigError
from aragog.runtime.hosts import is_loopback
from aragog.settings import ServingSettings


def new_token(name: str, scopes: Iterable[str], rate: float | None = None) -> tuple[str, str]:
    """
    Return a new token and its entry for `serving.tokens`, which does not reveal it.

    Args:
        name: the token's name in the access log.
        scopes: the token's scopes.
        rate: requests per second; None if unlimited.
    """
    token = f"aragog_{secrets.token_urlsafe(32)}"
    limit = "" if rate is None else f":{rate:.3f}"
    return token, f"{name}:{'+'.join(scopes)}:{_hash_token(token)}{limit}"


class TokenRateExceeded(Problem):
    """
    A token exceeds its rate limit.

    Args:
        wait_s: seconds until its next request is allowed.
    """

    def __init__(self, wait_s: float) -> None:
        headers = {"Retry-After": str(math.ceil(wait_s))}
        super().__init__(429, "this token exceeds its request rate", headers)
        self.wait_s = wait_s


class _KnownToken(NamedTuple):
    token: Token
    bucket: TokenBucket | None


class Tokens:
    """
    The tokens in the settings. All protocols in a process share one object, and therefore the rate
    limits.

    Args:
        entries: each is `name:scopes:sha256` or `name:scopes:sha256:rate`. Without entries, every
            request is allowed.
        processes: how many processes share each rate limit.
        now_s: a monotonic clock.
    """

    def __init__(
        self,
        entries: Iterable[str] = (),
        processes: int = 1,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now_s = now_s
        self._tokens: dict[str, _KnownToken] = {}
        for entry in entries:
            name, scopes, digest, *rate = entry.split(":")
            limit = float(rate[0]) if rate else None
            bucket = None if limit is None else TokenBucket(limit / processes)
            self._tokens[digest] = _KnownToken(Token(name, scopes.split("+"), limit), bucket)

    @property
    def required(self) -> bool:
        """True if requests need a token."""
        return bool(self._tokens)

    def check(self, authorization: str | None, scope: str, *, counts: bool = True) -> Token | None:
        """
        Check that a request with this Authorization header has `scope` (see `Token.allows`), and
        return its token. With `counts=False`, the request is not counted towards the rate limit.

        Raises:
            Problem: 401 for a missing or unknown token, 403 for a token without the scope.
            TokenRateExceeded: the token exceeds its rate limit.
        """
        if not self._tokens:
            return None
        scheme, _, token = (authorization or "").strip().partition(" ")
        has_token = scheme.lower() == "bearer" and bool(token)
        known_token = self._tokens.get(_hash_token(token.strip())) if has_token else None
        if known_token is None:
            detail = (
                "unknown token; see serving.tokens" if has_token else "a bearer token is required"
            )
            error = ', error="invalid_token"' if has_token else ""
            raise Problem(401, detail, {"WWW-Authenticate": f'Bearer realm="aragog"{error}'})
        if not known_token.token.allows(scope):
            raise to_problem(LacksScope(scope.removesuffix("@")))
        wait_s = known_token.bucket.take(self._now_s()) if known_token.bucket and counts else 0.0
        if wait_s:
            raise TokenRateExceeded(wait_s)
        return known_token.token


def check_exposure(settings: ServingSettings) -> None:
    """
    Check that the API may listen on the configured host.

    Raises:
        ConfigError: other machines could use it without tokens.
    """
    if not settings.tokens and not is_loopback(settings.host):
        raise ConfigError(
            f"serving.host: {settings.host} is reachable from other machines, and serving.tokens "
            "is empty; create a token with `aragog token NAME --scope read`"
        )


BURST_S = 1.0
"""After a pause, a client may send this many seconds' worth of requests at once."""


class TokenBucket:
    """
    A token bucket.

    Args:
        rate: requests per second. A new bucket always allows the first request.
    """

    __slots__ = ("_available", "_capacity", "_rate", "_updated_s")

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._capacity = max(1.0, rate * BURST_S)
        self._available = self._capacity
        self._updated_s: float | None = None

    def take(self, now_s: float) -> float:
        """
        Return 0.0 if a request is allowed at this monotonic time, or the seconds until one is
        allowed.
        """
        if self._updated_s is not None:
            added = max(0.0, now_s - self._updated_s) * self._rate
            self._available = min(self._capacity, self._available + added)
        self._updated_s = now_s
        if self._available < 1:
            return (1 - self._available) / self._rate
        self._available -= 1
        return 0.0


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
