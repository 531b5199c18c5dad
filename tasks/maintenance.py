"""
The maintenance tasks that beat enqueues.

All of them are safe to run twice and concurrently.
"""

from __future__ import annotations

from aragog.crawl.pipeline.routing import Queue
from aragog.settings.in_use import process_settings
from aragog.tasks.policy import periodic
from aragog.tasks.routes import COMPACT_LINKS, CRAWL_LOG, CRAWLS_DUE, PACKS, SWEEP
from aragog.workers.services import pipeline
from pinlater import gates

OTHER_TASKS = 7
"""How many periodic tasks other than compaction use the queue `upkeep`, one thread each."""


def max_compactions(threads: int) -> int:
    """Return how many compactions run at once: the queue's threads, minus those for other tasks."""
    return max(1, threads - OTHER_TASKS)


def _thread_count() -> int:
    """Return how many threads this worker has for the queue, possibly fewer than configured."""
    return gates.get_limit(Queue.UPKEEP) or process_settings().workers.upkeep


@periodic(COMPACT_LINKS, lambda: max_compactions(_thread_count()))
def compact_links() -> None:
    """Compact the link journal into posting lists."""
    pipeline().maintenance.compact_links()


@periodic(SWEEP)
def sweep() -> None:
    """Delete expired in-flight entries, orphaned bodies and old changes, and publish takedowns."""
    maintenance = pipeline().maintenance
    maintenance.sweep_crawls()
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()
    maintenance.sweep_changes()
    maintenance.share_takedowns()
    maintenance.rewrite_file()


@periodic(CRAWLS_DUE)
def crawls_due() -> None:
    """Decide about crawls' held links, send notices about crawls, and start their due rounds."""
    maintenance = pipeline().maintenance
    maintenance.sweep_held_links()
    maintenance.start_crawls()


@periodic(PACKS)
def upkeep_packs() -> None:
    """Rewrite packs (files of many bodies) that are half unused or contain bytes to be deleted."""
    pipeline().maintenance.upkeep_packs()


@periodic(CRAWL_LOG)
def write_crawl_log() -> None:
    """Write the crawl log files that are due."""
    pipeline().maintenance.write_crawl_log()
