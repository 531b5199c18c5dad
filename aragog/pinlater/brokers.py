"""
Celery settings and known limitations for each kind of broker. Pure.

Task settings are the same on every broker: late acks, rejection when a worker is lost, and no
prefetch beyond the tasks that a worker starts soon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from aragog.errors import ConfigError
from aragog.secret import reveal

Kind = Literal["pinlater", "redis", "rabbitmq", "memory"]

SCHEMES: dict[str, Kind] = {
    "pinlater": "pinlater",
    "pinlaters": "pinlater",
    "pinlater+socket": "pinlater",
    "pinlater+sentinel": "pinlater",
    "pinlater+sentinels": "pinlater",
    "redis": "redis",
    "rediss": "redis",
    "redis+socket": "redis",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
    "pyamqp": "rabbitmq",
    "memory": "memory",
}

REDIS_ETA = (
    "redis:// hands a task with an ETA to a worker at once, which keeps it in memory until it is "
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
        ConfigError: the scheme is unknown.
    """
    scheme = broker_url.partition("://")[0]
    try:
        return SCHEMES[scheme]
    except KeyError:
        schemes = ", ".join(f"{s}://" for s in SCHEMES)
        shown = f"{scheme}://" if "://" in broker_url else "what has no scheme"
        raise ConfigError(f"broker.url: {shown} is not one of {schemes}") from None


def celery_settings(
    broker_url: str,
    shards: Sequence[str] = (),
    claim_timeout_s: float = 60.0,
    *,
    publishes_only: bool = False,
) -> dict[str, Any]:
    """
    Return Celery's settings for a broker, under Celery's own names.

    Args:
        broker_url: as in `broker.url`.
        shards: further Redis servers for jobs (`redis://…`, `unix://…`); pinlater only.
        claim_timeout_s: seconds until a killed worker's jobs run again; pinlater only.
        publishes_only: for a program that runs no worker, see `transport.channel`; pinlater only.

    Raises:
        ConfigError: the scheme is unknown, or the broker does not support shards.
    """
    kind = kind_of(broker_url)
    if shards and kind != "pinlater":
        raise ConfigError(f"broker.shards: only pinlater:// has shards, not {kind}")
    broker_url, shards = reveal(broker_url), tuple(reveal(url) for url in shards)
    common: dict[str, Any] = {
        "broker_url": broker_url,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "broker_connection_retry_on_startup": True,
        # Acks survive a reconnect on pinlater; on other brokers tasks may run twice anyway.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
    }
    if kind == "pinlater":
        options: dict[str, Any] = {"shards": shards, "claim_timeout_s": claim_timeout_s}
        if publishes_only:
            options["publishes_only"] = True
        return common | {"broker_transport_options": options}
    return common | _OF_KIND[kind]


_OF_KIND: dict[Kind, dict[str, Any]] = {
    "redis": {"broker_transport_options": {"visibility_timeout": 3600}},
    "rabbitmq": {
        "task_default_queue_type": "quorum",
        # Native delayed delivery routes by topic and does not support direct exchanges.
        "task_default_exchange_type": "topic",
        "broker_native_delayed_delivery_queue_type": "quorum",
        "worker_detect_quorum_queues": True,
        "broker_transport_options": {"confirm_publish": True},
    },
    "memory": {"broker_transport_options": {"polling_interval": 0.01}},
}


def limitations(broker_url: str) -> list[str]:
    """Return what this broker cannot do, one sentence each; empty for pinlater."""
    kind = kind_of(broker_url)
    shared = [f"{broker_url.partition('://')[0]}:// {lack}" for lack in (
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
            return ["memory:// lives in one process and ends with it: for tests only", *shared]
