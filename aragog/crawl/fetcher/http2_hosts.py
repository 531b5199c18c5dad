"""Decides which hosts to offer HTTP/2 (setting `fetch.http2_hosts`)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from aragog.errors import ConfigError, InvalidUrl
from aragog.runtime.clock import Clock
from aragog.runtime.extras import require
from urlspelling import normalize
from urlspelling.hosts import longest_match

EVERY_HOST = "*"
# A host whose HTTP/2 failed gets another offer after an hour, in case it has been fixed.
RETRY_AFTER_S = 3_600.0
MAX_DISABLED_HOSTS = 1_000


class Http2Hosts:
    """
    Decides which hosts are offered HTTP/2 in the TLS handshake; the server then chooses.

    Args:
        names: hosts and domains. A name includes its subdomains; `*` means all hosts.

    Raises:
        ConfigError: a name is not a host name, or the extra `http2` is not installed.
    """

    def __init__(self, names: Sequence[str], clock: Clock) -> None:
        if names:
            require("http2", "fetch.http2_hosts")
        self._offers_to_all = EVERY_HOST in names
        self._names = frozenset(_host_name(name) for name in names if name != EVERY_HOST)
        self._clock = clock
        self._disabled_until_s: dict[str, float] = {}

    def offers(self, host: str) -> bool:
        """Return True if HTTP/2 is offered to `host`. Takes 1 µs."""
        if not self._offers_to_all and (
            not self._names or longest_match(host, self._names) is None
        ):
            return False
        until_s = self._disabled_until_s.get(host)
        return until_s is None or self._clock.monotonic_s() >= until_s

    def disable(self, host: str) -> None:
        """Offer `host` only HTTP/1.1 for an hour: the host requires it, or its HTTP/2 is broken."""
        if len(self._disabled_until_s) >= MAX_DISABLED_HOSTS:
            self._disabled_until_s.clear()
        self._disabled_until_s[host] = self._clock.monotonic_s() + RETRY_AFTER_S


def _host_name(name: str) -> str:
    try:
        host = urlsplit(normalize(f"https://{name.strip()}/")).netloc
    except InvalidUrl:
        host = ""
    if not host or set("/?#@:*") & set(name):
        raise ConfigError(
            f"fetch.http2_hosts: {name!r} is not a host name; use a name without scheme, port or "
            'path, or "*" for all hosts'
        )
    return host
