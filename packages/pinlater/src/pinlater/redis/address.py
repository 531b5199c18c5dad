"""
Parse Redis URLs.

    redis://[user:password@]host[:port][/db]     TCP
    rediss://…                                   TLS
    unix://[user:password@]/path/to/redis.sock[?db=0]
    sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]    the master of a service
    sentinels://…                                the same over TLS, to Sentinel and to Redis

A TLS URL may have redis-py's `ssl_` options, such as `?ssl_ca_certs=…`, and a Sentinel URL
`sentinel_username` and `sentinel_password`. `redis+socket://`, Celery's form, is the same as
`unix://`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from pinlater.masking import reveal

SCHEMES = ("redis", "rediss", "unix", "sentinel", "sentinels")
REDIS_PORT = 6379
SENTINEL_PORT = 26379
MAX_SOCKET_BYTES = 107
"""The longest path of a unix socket in bytes, without the final NUL (unix(7))."""


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """The parts of a Sentinel URL, decoded."""

    sentinels: tuple[tuple[str, int], ...]
    """Host and port of each Sentinel."""
    service: str
    """The name of the monitored master."""
    db: int
    username: str | None
    password: str | None
    tls: bool
    options: Mapping[str, str]
    """The URL's query parameters."""


def parse_sentinel(url: str) -> SentinelAddress:
    """
    Parse a `sentinel://` or `sentinels://` URL.

    Raises:
        ValueError: the service is missing, or a port or database is not a number.
    """
    scheme, _, rest = reveal(url).partition("://")
    rest, _, query = rest.partition("?")
    login, _, server = rest.rpartition("@")
    hosts, _, path = server.partition("/")
    service, _, db = path.partition("/")
    if not service:
        raise ValueError("a Sentinel URL needs a service: sentinel://host:port/service")
    username, _, password = login.partition(":")
    return SentinelAddress(
        sentinels=tuple(_host_and_port(host) for host in hosts.split(",")),
        service=unquote(service),
        db=int(db or 0),
        username=unquote(username) or None,
        password=unquote(password) or None,
        tls=scheme == "sentinels",
        options=dict(parse_qsl(query)),
    )


def _host_and_port(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    return parts.hostname or "localhost", parts.port or SENTINEL_PORT


def is_sentinel(url: str) -> bool:
    """Return whether the URL refers to a master through Sentinels."""
    return reveal(url).startswith(("sentinel://", "sentinels://"))


def is_socket_path_too_long(url: str) -> bool:
    """Return whether the URL's unix socket has a path that is too long."""
    parts = urlsplit(redis_py_url(url))
    path = os.fsencode(unquote(parts.path))
    return parts.scheme == "unix" and len(path) > MAX_SOCKET_BYTES


def is_usable(url: str) -> bool:
    """Return whether a client can be created for this URL, without calling the server."""
    try:
        if is_sentinel(url):
            parse_sentinel(url)
            return True
        parts = urlsplit(redis_py_url(url))
        return parts.scheme in SCHEMES and (parts.port or 1) > 0
    except ValueError:
        return False


def hosts_of(url: str) -> frozenset[str]:
    """Return a URL's hosts without ports; empty for a unix socket."""
    if is_sentinel(url):
        return frozenset(host for host, _ in parse_sentinel(url).sentinels)
    parts = urlsplit(redis_py_url(url))
    return frozenset() if parts.scheme == "unix" else frozenset({parts.hostname or "localhost"})


def redis_py_url(url: str) -> str:
    """Return the URL with its password, in the form that redis-py accepts."""
    return reveal(url).replace("redis+socket://", "unix://")


def server_name(url: str) -> str:
    """Return `host:port`, a path or `service@host:port,…`; the same for all URLs of a server."""
    if is_sentinel(url):
        address = parse_sentinel(url)
        hosts = ",".join(f"{host}:{port}" for host, port in address.sentinels)
        return f"{address.service}@{hosts}"
    parts = urlsplit(redis_py_url(url))
    if parts.scheme == "unix":
        return parts.path
    return f"{parts.hostname or 'localhost'}:{parts.port or REDIS_PORT}"
