"""Connect the ways out for requests."""

from __future__ import annotations

import redis

from aragog.crawl.egress.board import WayBoard
from aragog.crawl.egress.egress import Egress
from aragog.runtime.clock import Clock
from aragog.settings import Settings


def egress_of(settings: Settings, client: redis.Redis, clock: Clock) -> Egress:
    """
    Return the ways out of one process; failing ones are reported to `redis.url`.

    Raises:
        ConfigError: `fetch.proxy` is not a valid proxy, or a setting refers to a login that does
            not exist.
    """
    board = WayBoard(client, clock, prefix=settings.redis.prefix)
    return Egress(settings.egress, settings.fetch, clock, tell=board.tell)
