"""Builds the egress routes of a process."""

from __future__ import annotations

import redis

from aragog.crawl.egress.egress import Egress
from aragog.crawl.egress.failing_routes import FailingRoutes
from aragog.runtime.clock import Clock
from aragog.settings import Settings


def create_egress(settings: Settings, client: redis.Redis, clock: Clock) -> Egress:
    """
    Return the egress routes of one process. They record failing routes in Redis (`redis.url`).

    Raises:
        ConfigError: `fetch.proxy` is not a valid proxy, or a setting refers to credentials that
            do not exist.
    """
    board = FailingRoutes(client, clock, prefix=settings.redis.prefix)
    return Egress(settings.egress, settings.fetch, clock, on_change=board.record)
