"""
The names of all tasks, each with its queue.

Stages and producers send tasks by the names in `aragog.crawl.pipeline.routing.Destination`. Beat
enqueues the other tasks (`beat_schedule.py`).
"""

from __future__ import annotations

from aragog.crawl.pipeline.routing import FETCH_BY_MODULE, Destination, Queue

FETCH = Destination.FETCH.task
ROBOTS = Destination.ROBOTS.task
RENDER = Destination.RENDER.task
CANONICALIZE = Destination.CANONICALIZE.task
STORE = Destination.STORE.task
FINISHED = Destination.FINISHED.task
WATCHES = Destination.WATCHES.task
WEBHOOK = Destination.WEBHOOK.task
REEXTRACT = Destination.REEXTRACT.task

REFRESH_DUE = "aragog.refresh.due"
ROBOTS_EXPIRING = "aragog.robots.expiring"
COMPACT_LINKS = "aragog.maintenance.compact_links"
SWEEP = "aragog.maintenance.sweep"
CRAWL_LOG = "aragog.maintenance.crawl_log"
PACKS = "aragog.maintenance.packs"
CRAWLS_DUE = "aragog.crawls.due"
WEBHOOKS_DUE = "aragog.webhooks.due"

QUEUES_BY_TASK = {
    FETCH: Queue.FETCH,
    FETCH_BY_MODULE: Queue.FETCH,
    ROBOTS: Queue.ROBOTS,
    RENDER: Queue.RENDER,
    CANONICALIZE: Queue.CANONICALIZE,
    REEXTRACT: Queue.CANONICALIZE,
    STORE: Queue.STORE,
    FINISHED: Queue.STORE,
    WEBHOOK: Queue.WEBHOOKS,
    WATCHES: Queue.WATCHES,
    WEBHOOKS_DUE: Queue.UPKEEP,
    REFRESH_DUE: Queue.UPKEEP,
    ROBOTS_EXPIRING: Queue.UPKEEP,
    COMPACT_LINKS: Queue.UPKEEP,
    SWEEP: Queue.UPKEEP,
    CRAWL_LOG: Queue.UPKEEP,
    PACKS: Queue.UPKEEP,
    CRAWLS_DUE: Queue.UPKEEP,
}
