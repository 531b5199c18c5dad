"""
Broker URLs, and Celery's settings for each kind of broker.

    pinlater://[user:password@]host[:port][,host[:port]…][/db]   one server or several
    pinlaters://…                                                the same over TLS
    pinlater+socket:///path/to/redis.sock[?virtual_host=db]      one server on a unix socket
    pinlater+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]
                                 the master of a service, found through these Sentinels
    pinlater+sentinels://…       the same over TLS
    pinlater+postgresql://[user:password@]host[:port][,host[:port]…]/database[?option=value…]
                                 one PostgreSQL server; further hosts are its replicas

Messages that are not jobs (broadcasts, events, replies) go through the first Redis server. With
PostgreSQL, they go through the Redis server in the transport option `control`.

Task settings are the same on every broker: late acks, and rejection when a worker is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pinlater.errors import InvalidConfig
from pinlater.masking import reveal

SENTINEL_SCHEMES = ("pinlater+sentinel", "pinlater+sentinels")
POSTGRES_SCHEME = "pinlater+postgresql"
PINLATER_SCHEMES = (
    "pinlater", "pinlaters", "pinlater+socket", *SENTINEL_SCHEMES, POSTGRES_SCHEME,
)  # fmt: skip
# kombu drops the part of a scheme before a plus sign.
KOMBU_SCHEMES = ("socket", "sentinel", "sentinels", "postgresql")
DEFAULT_PORT = 6379
Kind = Literal["pinlater", "redis", "rabbitmq", "memory"]
SCHEMES: dict[str, Kind] = {
    "pinlater": "pinlater",
    "pinlaters": "pinlater",
    "pinlater+socket": "pinlater",
    "pinlater+sentinel": "pinlater",
    "pinlater+sentinels": "pinlater",
    POSTGRES_SCHEME: "pinlater",
    "redis": "redis",
    "rediss": "redis",
    "redis+socket": "redis",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "pyamqp": "rabbitmq",
    "memory": "memory",
}
REDIS_ETA = (
    "redis:// delivers a task with an ETA at once, and the worker keeps it in memory until it is "
    "due by that worker's own clock (8.5 KB each, measured), and delivers it again after an hour "
    "(visibility_timeout): keep delays short and clocks right, or use pinlater://"
)
NO_STATES = "has no job states: no list of failed jobs, no retry by hand"
NO_QUEUE_SETTINGS = "has no dequeue rate and no pause for a queue"
NO_UNIQUE = "has no unique jobs: the same URL may be queued twice"
NO_PRIORITIES = (
    "has no priorities on quorum queues before RabbitMQ 4, and two levels since: all priorities "
    "run alike"
)


def kind_of(broker_url: str) -> Kind:
    """
    Return the kind of broker that a URL belongs to.

    Raises:
        InvalidConfig: the scheme is unknown.
    """
    scheme = broker_url.partition("://")[0]
    try:
        return SCHEMES[scheme]
    except KeyError:
        schemes = ", ".join(f"{s}://" for s in SCHEMES)
        scheme_text = f"{scheme}://" if "://" in broker_url else "a URL without a scheme"
        raise InvalidConfig(f"broker URL: {scheme_text} is not one of {schemes}") from None


def celery_settings(
    broker_url: str,
    shards: Sequence[str] = (),
    claim_timeout_s: float = 60.0,
    *,
    control: str = "",
    publishes_only: bool = False,
) -> dict[str, Any]:
    """
    Return Celery's settings for a broker, under Celery's own names.

    Args:
        broker_url: the broker; its scheme is one of `SCHEMES`.
        shards: URLs of more servers for jobs (`redis://…`, `unix://…`, `postgresql://…`);
            pinlater only.
        claim_timeout_s: seconds until a killed worker's jobs run again; pinlater only.
        control: URL of the Redis server for other messages; `pinlater+postgresql://` only.
        publishes_only: True for a program without a worker, see `transport.queues`; pinlater only.

    Raises:
        InvalidConfig: the scheme is unknown, or the broker does not support shards.
    """
    kind = kind_of(broker_url)
    if shards and kind != "pinlater":
        raise InvalidConfig(f"shards: only pinlater:// has shards, not {kind}")
    broker_url, shards = reveal(broker_url), tuple(reveal(url) for url in shards)
    common: dict[str, Any] = {
        "broker_url": broker_url,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "broker_connection_retry_on_startup": True,
        # On pinlater, acks survive a reconnect; on other brokers, tasks may run twice anyway.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
    }
    if kind == "pinlater":
        options: dict[str, Any] = {"shards": shards, "claim_timeout_s": claim_timeout_s}
        if publishes_only:
            options["publishes_only"] = True
        if is_postgres(broker_url):
            options["control"] = reveal(control)
        return common | {"broker_transport_options": options}
    return common | _SETTINGS_BY_KIND[kind]


_SETTINGS_BY_KIND: dict[Kind, dict[str, Any]] = {
    "redis": {"broker_transport_options": {"visibility_timeout": 3600}},
    "rabbitmq": {
        "task_default_queue_type": "quorum",
        # Native delayed delivery routes by topic and supports no direct exchanges.
        "task_default_exchange_type": "topic",
        "broker_native_delayed_delivery_queue_type": "quorum",
        "worker_detect_quorum_queues": True,
        "broker_transport_options": {"confirm_publish": True},
    },
    "memory": {"broker_transport_options": {"polling_interval": 0.01}},
}


def limitations(broker_url: str) -> list[str]:
    """Return this broker's limitations, one sentence each; none for pinlater."""
    kind = kind_of(broker_url)
    shared = [f"{broker_url.partition('://')[0]}:// {limitation}" for limitation in (
        NO_STATES, NO_QUEUE_SETTINGS, NO_UNIQUE,
    )]  # fmt: skip
    match kind:
        case "pinlater":
            return []
        case "redis":
            return [REDIS_ETA, *shared]
        case "rabbitmq":
            return [*shared, f"amqp:// {NO_PRIORITIES}"]
        case "memory":
            return ["memory:// keeps its messages in one process: use it only in tests", *shared]


def is_postgres(url: str) -> bool:
    """Return whether a broker's or a shard's URL names a PostgreSQL server."""
    return url.partition("://")[0] in (POSTGRES_SCHEME, "postgresql", "postgres")


def shard_urls(broker_url: str) -> tuple[str, ...]:
    """
    Return the URLs of the servers that store a broker's jobs, in order.

    Raises:
        InvalidConfig: the URL is malformed or does not belong to this transport.
    """
    if is_postgres(broker_url):
        return (reveal(broker_url).removeprefix("pinlater+"),)
    return redis_urls(broker_url)


def redis_urls(broker_url: str) -> tuple[str, ...]:
    """
    Return a broker URL's Redis servers as URLs for redis-py, in order; empty for PostgreSQL.

    Raises:
        InvalidConfig: the URL is malformed or does not belong to this transport.
    """
    scheme, _, rest = broker_url.partition("://")
    if is_postgres(broker_url):
        return ()
    if scheme in ("pinlater+socket", "socket"):
        return (_socket_url(rest),)
    if scheme in (*SENTINEL_SCHEMES, *KOMBU_SCHEMES):
        return (f"{scheme.removeprefix('pinlater+')}://{rest}",)
    if scheme not in PINLATER_SCHEMES:
        schemes = ", ".join(f"{s}://" for s in PINLATER_SCHEMES)
        scheme_text = f"{scheme}://" if "://" in broker_url else "a URL without a scheme"
        raise InvalidConfig(f"broker URL: {scheme_text} is not one of {schemes}")
    redis_scheme = "rediss" if scheme == "pinlaters" else "redis"
    user, at, hosts_and_path = rest.rpartition("@")
    if "/" in user:
        raise InvalidConfig("broker URL: write a / in the password as %2F (the URL is not shown)")
    hosts, slash, path = hosts_and_path.partition("/")
    return tuple(
        f"{redis_scheme}://{user}{at}{_add_port(host)}{slash}{path}" for host in hosts.split(",")
    )


class ServerAddress(NamedTuple):
    """The parts of a single-server URL, with kombu's names."""

    hostname: str
    port: int
    userid: str | None
    password: str | None
    virtual_host: str
    """The Redis database; `/` means 0."""


def single_server(broker_url: str) -> ServerAddress | None:
    """
    Return the unquoted parts of a single server's broker URL.

    Returns None for other brokers, several servers, a unix socket or a URL with options.

    Raises:
        InvalidConfig: the port is not a number.
    """
    scheme, sep, rest = broker_url.partition("://")
    if not sep or scheme not in ("pinlater", "pinlaters") or "," in rest or "?" in rest:
        return None
    authority, _, path = rest.partition("/")
    user, _, host = authority.rpartition("@")
    name, _, port = _add_port(host).rpartition(":")
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


def _add_port(host: str) -> str:
    """Return `host:port` with an explicit port, so that each server has only one URL."""
    try:
        has_port = bool(urlsplit(f"//{host}").port)
    except ValueError as error:
        # An unescaped / or # in the password would become part of the host.
        raise InvalidConfig(
            "broker URL: the host is not host:port (the URL is not shown)"
        ) from error
    if has_port and not host.startswith(":"):
        return host
    name, _, port = host.partition(":") if has_port else (host, "", str(DEFAULT_PORT))
    return f"{name or 'localhost'}:{port}"


def _socket_url(rest: str) -> str:
    path, _, query = rest.partition("?")
    if not path.startswith("/"):
        raise InvalidConfig(
            f"broker URL: a unix socket needs an absolute path, got {path!r}; "
            "write pinlater+socket:///path/to/redis.sock"
        )
    options = dict(parse_qsl(query))
    options.setdefault("db", options.pop("virtual_host", "0").strip("/") or "0")
    return f"unix://{path}?{urlencode(options)}"


def mask_password(url: str, mask: str = "**") -> str:
    """Return the URL with its password masked. The password may contain unescaped `/` and `@`."""
    scheme, sep, rest = url.partition("://")
    user, at, server = rest.rpartition("@")
    if not at or ":" not in user:
        return url
    return f"{scheme}{sep}{user.partition(':')[0]}:{mask}{at}{server}"


def of_socket(path: str, db: int = 0) -> str:
    """Return the broker URL of a redis-server on a unix socket."""
    return f"pinlater+socket://{path}?virtual_host={db}"
