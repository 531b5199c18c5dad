"""What the stages work with, connected. Built by `aragog.bootstrap`, once a process."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aragog.clock import Clock
from aragog.fetcher.fetcher import Fetcher
from aragog.pipeline.counters import Counters
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.pages.run_marks import RunMarks
from aragog.pipeline.routing import Sender
from aragog.pipeline.site_blocks import SiteBlocks
from aragog.pipeline.spool.reclaim import WaitingJobs
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.enqueue import Enqueuer
from aragog.politeness.ratelimit.limiter import Limiter
from aragog.politeness.ratelimit.overrides import Overrides
from aragog.politeness.robots.cache import RobotsCache
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """All connections of one process; each part is safe to use from many threads."""

    settings: Settings
    clock: Clock
    spool: Spool
    run_marks: RunMarks
    in_flight: InFlightSet
    counters: Counters
    sender: Sender
    enqueuer: Enqueuer
    blocks: SiteBlocks
    limiter: Limiter
    overrides: Overrides
    robots: RobotsCache
    fetcher: Fetcher
    robots_fetcher: Fetcher
    sitemap_fetcher: Fetcher
    store: UrlStore
    pool: ThreadPoolExecutor
    """Threads for single fetches; each is bounded by the fetch deadline."""
    waiting_jobs: WaitingJobs | None = None
    """What waits on the broker, where it can be asked: on `pinlater://`."""
    rng: random.Random = field(default_factory=random.Random)

    def close(self) -> None:
        """Let go of threads, connections and files."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.store.close()
