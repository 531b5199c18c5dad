"""
Conversion of `pinlater://` broker URLs to the Redis URLs of the servers. Pure.

    pinlater://[user:password@]host[:port][,host[:port]…][/db]   one server or several
    pinlaters://…                                                the same over TLS
    pinlater+socket:///path/to/redis.sock[?virtual_host=db]      one server on a unix socket
    pinlater+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]
                                 the master of a service, which the Sentinels at these hosts name
    pinlater+sentinels://…       the same over TLS

The first server also carries the messages that are not jobs: broadcasts, events, replies.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from aragog.errors import ConfigError
from aragog.hosts import split_port

SENTINEL_SCHEMES = ("pinlater+sentinel", "pinlater+sentinels")
SCHEMES = ("pinlater", "pinlaters", "pinlater+socket", *SENTINEL_SCHEMES)
# kombu removes the first half of a scheme with a plus sign.
SECOND_HALVES = ("socket", "sentinel", "sentinels")
DEFAULT_PORT = 6379


def redis_urls(broker_url: str) -> tuple[str, ...]:
    """
    Return the Redis URLs of a broker URL's servers, in the order given, as redis-py accepts them.

    Raises:
        ConfigError: the URL does not belong to this transport.
    """
    scheme, _, rest = broker_url.partition("://")
    if scheme in ("pinlater+socket", "socket"):
        return (_socket_url(rest),)
    if scheme in (*SENTINEL_SCHEMES, *SECOND_HALVES):
        return (f"{scheme.removeprefix('pinlater+')}://{rest}",)
    if scheme not in SCHEMES:
        schemes = ", ".join(f"{s}://" for s in SCHEMES)
        shown = f"{scheme}://" if "://" in broker_url else "what has no scheme"
        raise ConfigError(f"broker.url: {shown} is not one of {schemes}")
    redis_scheme = "rediss" if scheme == "pinlaters" else "redis"
    user, at, hosts_and_path = rest.rpartition("@")
    if "/" in user:
        raise ConfigError("broker.url: in its password, write / as %2F (it is not shown here)")
    hosts, slash, path = hosts_and_path.partition("/")
    return tuple(
        f"{redis_scheme}://{user}{at}{_host(host)}{slash}{path}" for host in hosts.split(",")
    )


class ServerAddress(NamedTuple):
    """The parts of a single-server URL, with kombu's names."""

    hostname: str
    port: int
    userid: str | None
    password: str | None
    virtual_host: str
    """The Redis database; `/` means 0."""


def single(broker_url: str) -> ServerAddress | None:
    """
    Return the unquoted parts of a broker URL.

    Returns None for other URLs, several servers, a unix socket or a URL with options.

    Raises:
        ConfigError: the port is not a number.
    """
    scheme, sep, rest = broker_url.partition("://")
    if not sep or scheme not in ("pinlater", "pinlaters") or "," in rest or "?" in rest:
        return None
    place, _, path = rest.partition("/")
    user, _, host = place.rpartition("@")
    name, port = split_port(_host(host))
    userid, _, password = user.partition(":")
    return ServerAddress(
        name.strip("[]"), int(port), unquote(userid) or None, unquote(password) or None, path or "/"
    )


def broker_url(scheme: str, server: ServerAddress) -> str:
    """Return the broker URL of one server."""
    user = quote(server.userid or "", safe="")
    if server.password:
        user += f":{quote(server.password, safe='')}"
    at = "@" if user else ""
    host = f"[{server.hostname}]" if ":" in server.hostname else server.hostname
    return f"{scheme}://{user}{at}{host}:{server.port}/{server.virtual_host.strip('/') or '0'}"


def _host(host: str) -> str:
    """Return `host:port` with an explicit port, so that each server has a single spelling."""
    try:
        has_port = bool(urlsplit(f"//{host}").port)
    except ValueError as error:
        # An unescaped / or # in the password would become part of the host.
        raise ConfigError("broker.url: its host is not host:port (it is not shown here)") from error
    if has_port and not host.startswith(":"):
        return host
    name, _, port = host.partition(":") if has_port else (host, "", str(DEFAULT_PORT))
    return f"{name or 'localhost'}:{port}"


def _socket_url(rest: str) -> str:
    path, _, query = rest.partition("?")
    if not path.startswith("/"):
        raise ConfigError(
            f"broker.url: a unix socket needs an absolute path, got {path!r}; "
            "write pinlater+socket:///path/to/redis.sock"
        )
    options = dict(parse_qsl(query))
    options.setdefault("db", options.pop("virtual_host", "0").strip("/") or "0")
    return f"unix://{path}?{urlencode(options)}"


def masked(url: str, mask: str = "**") -> str:
    """Return the URL without its password, which may contain unescaped `/` and `@`."""
    scheme, sep, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    if not at or ":" not in user:
        return url
    return f"{scheme}{sep}{user.partition(':')[0]}:{mask}{at}{place}"


def of_socket(path: str, db: int = 0) -> str:
    """Return the broker URL of a redis-server on a unix socket."""
    return f"pinlater+socket://{path}?virtual_host={db}"
