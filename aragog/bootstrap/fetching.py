"""Fetches for callers who wait: what the API adds to the store."""

from __future__ import annotations

from functools import cache

from aragog.api.batches import Batches
from aragog.api.fetching import Enqueue, Fetching
from aragog.api.jobs import Jobs
from aragog.bootstrap.redis_services import limiter, overrides_of, redis_client
from aragog.pinlater.brokers import kind_of, redis_urls
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.pipeline.completions import Completions
from aragog.pipeline.url_batches import UrlBatches
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


def fetching(settings: Settings, store: UrlStore, enqueue: Enqueue) -> Fetching:
    """Fetches for callers who wait; `enqueue` is `Aragog.enqueue`. Close it."""
    settings = settings.resolved()
    completions = Completions(redis_client(settings), prefix=settings.redis.prefix)
    return Fetching(
        store, enqueue, completions, most_waiting=settings.serving.max_waiting,
        extractors=settings.pipeline.extractors,
    )  # fmt: skip


def batches(settings: Settings) -> Batches:
    """Batches of enqueued URLs, and when they will be finished."""
    settings = settings.resolved()
    url_batches = UrlBatches(redis_client(settings), prefix=settings.redis.prefix)
    return Batches(url_batches, cache(lambda: limiter(settings, overrides_of(settings))))


def job_queues(settings: Settings) -> Jobs | None:
    """The queues of workers in other programs; None if the broker is not pinlater."""
    broker = settings.resolved().broker
    if kind_of(broker.url) != "pinlater":
        return None
    cluster = Cluster(connect_shards((*redis_urls(broker.url), *broker.shards)))
    return Jobs(cluster, settings.serving.max_waiting)
