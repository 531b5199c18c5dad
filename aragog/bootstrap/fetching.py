"""Fetches for callers who wait: what the API adds to the store."""

from __future__ import annotations

from aragog.bootstrap.redis_services import redis_client
from aragog.pipeline.completions import Completions
from aragog.serving.fetching import Enqueue, Fetching
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


def fetching(settings: Settings, store: UrlStore, enqueue: Enqueue) -> Fetching:
    """Fetches for callers who wait; `enqueue` is `Aragog.enqueue`. Close its `completions`."""
    settings = settings.resolved()
    completions = Completions(redis_client(settings), prefix=settings.redis.prefix)
    return Fetching(store, enqueue, completions, most_waiting=settings.serving.max_waiting)
