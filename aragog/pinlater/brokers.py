"""
What Celery needs to be told for each kind of broker, and what a broker cannot do.

    pinlater://, pinlaters://, pinlater+socket://   everything
    redis://, rediss://, redis+socket://            the stock transport of kombu
    amqp://, amqps://                               RabbitMQ: quorum queues, native delayed delivery
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aragog.pinlater  # noqa: F401 - registers the transport
from aragog.pinlater.address import SCHEMES


def celery_settings(
    broker_url: str, shards: Sequence[str] = (), claim_timeout_s: float = 60.0
) -> dict[str, Any]:
    """Celery's settings for a broker; merge them into an app's configuration."""
    scheme = broker_url.partition("://")[0]
    if scheme in SCHEMES:
        options: dict[str, Any] = {"claim_timeout_s": claim_timeout_s}
        if shards:
            options["shards"] = list(shards)
        return {"broker_url": broker_url, "broker_transport_options": options}
    if scheme.startswith("amqp"):
        return {
            "broker_url": broker_url,
            "task_default_queue_type": "quorum",
            "task_default_exchange_type": "topic",
            "broker_native_delayed_delivery_queue_type": "quorum",
            "worker_detect_quorum_queues": True,
            "broker_transport_options": {"confirm_publish": True},
        }
    return {
        "broker_url": broker_url,
        # Longer than any ETA of ours, or waiting jobs would run again and again (celery 2481).
        "broker_transport_options": {"visibility_timeout": 2 * 86_400},
    }


def limitations(broker_url: str) -> list[str]:
    """What a broker cannot do, a sentence each; empty for pinlater."""
    scheme = broker_url.partition("://")[0]
    if scheme in SCHEMES:
        return []
    common = [
        "states of jobs and retry by hand (aragog queue)",
        "unique jobs by key",
        "a rate limit and a pause for each queue",
    ]
    if scheme.startswith("amqp"):
        return [*common, "priorities, before RabbitMQ 4"]
    return [
        *common,
        "wait on the server: jobs with an ETA sit in a worker's memory until they are due",
        "give back a killed worker's jobs sooner than the visibility timeout",
    ]
