"""What the stages work with, connected. Built by `aragog.bootstrap`, once a process."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from aragog.clock import Clock
from aragog.fetcher.http import Fetcher
from aragog.pipeline.enqueue import Enqueuer
from aragog.pipeline.run_marks import RunMarks
from aragog.pipeline.sending import Sender
from aragog.pipeline.site_blocks import SiteBlocks
from aragog.pipeline.spool import Spool
from aragog.pipeline.spool_sweep import WaitingJobs
from aragog.pipeline.tally import Tally
from aragog.pipeline.waiting import Waiting
from aragog.politeness.limiter import Limiter
from aragog.politeness.overrides import Overrides
from aragog.politeness.robots_cache import RobotsCache
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """All connections of one process; each part is safe to use from many threads."""

    settings: Settings
    clock: Clock
    spool: Spool
    run_marks: RunMarks
    waiting: Waiting
    tally: Tally
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
