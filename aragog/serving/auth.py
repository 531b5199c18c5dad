"""
Bearer tokens (RFC 6750), stored as hashes, each with scopes.

A token has 256 random bits, so its plain SHA-256 cannot be reversed; a slow hash is not needed.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

from aragog.errors import ConfigError
from aragog.hosts import is_loopback
from aragog.serving.http.problems import Problem
from aragog.settings import ServingSettings

READ, WRITE, ADMIN = "read", "write", "admin"
SCOPES = (READ, WRITE, ADMIN)


def make(name: str, scopes: Iterable[str]) -> tuple[str, str]:
    """A new token, and its entry for `serving.tokens`, which does not reveal the token."""
    token = f"aragog_{secrets.token_urlsafe(32)}"
    return token, f"{name}:{'+'.join(scopes)}:{_hash(token)}"


class Tokens:
    """
    The tokens in the settings.

    Args:
        entries: each is `name:scopes:sha256`; without entries, every request may do everything.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._scopes: dict[str, frozenset[str]] = {}
        for entry in entries:
            _, scopes, digest = entry.split(":")
            self._scopes[digest] = frozenset(scopes.split("+"))

    @property
    def required(self) -> bool:
        """True if requests need a token."""
        return bool(self._scopes)

    def check(self, authorization: str | None, scope: str) -> None:
        """
        Check that a request with this Authorization header has `scope`.

        Scope `admin` includes all others.

        Raises:
            Problem: 401 for a missing or unknown token; 403 for a token without the scope.
        """
        if not self._scopes:
            return
        scheme, _, token = (authorization or "").strip().partition(" ")
        found = self._scopes.get(_hash(token.strip())) if scheme.lower() == "bearer" else None
        if found is None:
            raise Problem(
                401, "needs a bearer token", {"WWW-Authenticate": 'Bearer realm="aragog"'}
            )
        if scope not in found and ADMIN not in found:
            challenge = f'Bearer realm="aragog", error="insufficient_scope", scope="{scope}"'
            raise Problem(
                403, f"this token has not the scope {scope}", {"WWW-Authenticate": challenge}
            )


def check_exposure(settings: ServingSettings) -> None:
    """
    Check that the API may listen on the configured host.

    Raises:
        ConfigError: it would be open to other machines without tokens.
    """
    if not settings.tokens and not is_loopback(settings.host):
        raise ConfigError(
            f"serving.host: {settings.host} is reached from other machines, and serving.tokens is "
            "empty; make a token with `aragog token NAME --scope read`"
        )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
