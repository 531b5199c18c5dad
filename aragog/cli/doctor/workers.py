"""Checks of the processes: workers for every queue, and beat."""

from __future__ import annotations

from collections.abc import Iterator

from celery import Celery

from aragog.bootstrap.redis_services import redis_client
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.pinlater.brokers import celery_settings
from aragog.pipeline.routing import Queue
from aragog.pipeline.statistics.counters import Counters

REPLY_WITHIN_S = 2.0


def check_workers(system: CheckedSystem) -> Iterator[Finding]:
    """A worker answers for every queue."""
    if system.is_down:
        return
    broker = system.resolved.broker
    app = Celery("aragog-doctor", set_as_current=False)
    app.conf.update(celery_settings(broker.url, broker.shards, broker.claim_timeout_s))
    app.conf.update(broker_connection_timeout=REPLY_WITHIN_S)
    try:
        result = app.control.inspect(timeout=REPLY_WITHIN_S).active_queues() or {}
    except Exception as error:  # noqa: BLE001 - whatever the library of this broker raises
        yield Finding("workers", ok=False, text=f"cannot query the workers: {type(error).__name__}")
        return
    finally:
        app.close()
    served = {queue["name"] for queues in result.values() for queue in queues}
    needed = [queue for queue in Queue if queue != Queue.RENDER or system.settings.rendering.hosts]
    missing = [queue for queue in needed if queue not in served]
    if missing:
        text = (
            f"no worker responds for {', '.join(missing)}: start `celery -A aragog.workers "
            f"worker -Q {','.join(missing)}`, or `aragog up`"
        )
        yield Finding("workers", ok=False, text=text)
    else:
        yield Finding("workers", ok=True, text=", ".join(sorted(result)))


def check_beat(system: CheckedSystem) -> Iterator[Finding]:
    """A periodic task ran within the last minute: beat sends them, and a worker runs them."""
    if system.is_down:
        return
    with redis_client(system.resolved) as client:
        age_s = Counters(client, prefix=system.resolved.redis.prefix).tick_age_s()
    if age_s is None:
        text = (
            "no periodic task ran within a minute: nothing is refreshed; start `celery -A "
            "aragog.workers beat` and a worker of the queue upkeep"
        )
        yield Finding("beat", ok=False, text=text)
    else:
        yield Finding("beat", ok=True, text=f"its last task ran {age_s:.0f} s ago")
