"""Checks of the processes: workers for every queue, and beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from celery import Celery

from aragog.bootstrap.redis_services import redis_client
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.pinlater.brokers import celery_settings
from aragog.pipeline.counters import Counters
from aragog.pipeline.routing import Queue

REPLY_WITHIN_S = 2.0


def check_workers(system: CheckedSystem) -> Iterator[Finding]:
    """A worker answers for every queue."""
    if system.is_down:
        return
    broker = system.resolved.broker
    app = Celery("aragog-doctor", set_as_current=False)
    app.conf.update(celery_settings(broker.url, broker.shards, broker.claim_timeout_s))
    app.conf.update(broker_connection_timeout=REPLY_WITHIN_S)
    needed = [queue for queue in Queue if queue != Queue.RENDER or system.settings.rendering.hosts]
    try:
        result = system.settled(
            lambda: _answers(app), lambda found: _queues(found).issuperset(needed)
        )
    except Exception as error:  # noqa: BLE001 - whatever the library of this broker raises
        yield Finding("workers", ok=False, text=f"cannot query the workers: {type(error).__name__}")
        return
    finally:
        app.close()
    served = _queues(result)
    if missing := [queue for queue in needed if queue not in served]:
        text = (
            f"no worker responds for {', '.join(missing)}: start `celery -A aragog.workers "
            f"worker -Q {','.join(missing)}`, or `aragog up`"
        )
        yield Finding("workers", ok=False, text=text)
    else:
        yield Finding("workers", ok=True, text=", ".join(sorted(result)))


def _answers(app: Celery) -> dict[str, list[dict[str, Any]]]:
    """The queues of each worker that answers."""
    return app.control.inspect(timeout=REPLY_WITHIN_S).active_queues() or {}


def _queues(answers: dict[str, list[dict[str, Any]]]) -> set[str]:
    return {queue["name"] for queues in answers.values() for queue in queues}


def check_beat(system: CheckedSystem) -> Iterator[Finding]:
    """A periodic task ran within the last minute: beat sends them, and a worker runs them."""
    if system.is_down:
        return
    with redis_client(system.resolved) as client:
        counters = Counters(client, prefix=system.resolved.redis.prefix)
        age_s = system.settled(counters.tick_age_s, lambda found: found is not None)
    if age_s is None:
        text = (
            "no periodic task ran within a minute: nothing is refreshed; start `celery -A "
            "aragog.workers beat` and a worker of the queue upkeep"
        )
        yield Finding("beat", ok=False, text=text)
    else:
        yield Finding("beat", ok=True, text=f"its last task ran {age_s:.0f} s ago")
