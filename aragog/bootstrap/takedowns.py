"""Build the removal of taken-down URLs from Redis and the broker."""

from __future__ import annotations

from celery import Celery

from aragog.bootstrap.redis_services import redis_nodes, robots_cache, spool
from aragog.pinlater import dead_letters
from aragog.pinlater.admin import Admin
from aragog.pinlater.brokers import celery_settings, kind_of
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.removal.takedown import Purge
from aragog.pipeline.routing import CelerySender
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


def takedown_purge(settings: Settings, store: UrlStore) -> Purge:
    """Removes taken-down URLs from Redis and the broker."""
    settings = settings.resolved()
    broker, nodes = settings.broker, redis_nodes(settings)
    app = Celery("aragog-takedown", set_as_current=False)
    app.conf.update(celery_settings(broker.url, broker.shards, broker.claim_timeout_s))
    pinlater = kind_of(broker.url) == "pinlater"
    return Purge(
        store.takedowns.refused,
        robots_cache(settings),
        spool(settings, nodes),
        InFlightSet(nodes, prefix=settings.redis.prefix),
        Admin.connect(broker.url, broker.shards) if pinlater else None,
        CelerySender(app),
        lambda drop: 0 if pinlater else dead_letters.drop(app, drop),
    )
