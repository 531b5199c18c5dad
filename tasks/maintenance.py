"""
The maintenance tasks that beat enqueues.

Safe to run twice and concurrently: see each function.
"""

from __future__ import annotations

from aragog.crawl.pipeline.routing import Queue
from aragog.settings.in_use import process_settings
from aragog.tasks.policy import periodic
from aragog.tasks.routes import COMPACT_LINKS, CRAWL_LOG, CRAWLS_DUE, PACKS, SWEEP
from aragog.workers.services import pipeline
from pinlater import gates

OTHER_KINDS = 7
"""The periodic tasks of the queue `upkeep` besides compaction; each has one thread."""


def compactions(threads: int) -> int:
    """How many compactions run at once, by the queue's threads: what others leave."""
    return max(1, threads - OTHER_KINDS)


def _threads() -> int:
    """The threads that this worker has for the queue, which may be fewer than the setting."""
    return gates.limit_of(Queue.UPKEEP) or process_settings().workers.upkeep


@periodic(COMPACT_LINKS, lambda: compactions(_threads()))
def compact_links() -> None:
    """Compact the link journal into posting lists."""
    pipeline().maintenance.compact_links()


@periodic(SWEEP)
def sweep() -> None:
    """Drop expired in-flight entries, orphaned bodies and old changes; publish takedowns."""
    maintenance = pipeline().maintenance
    maintenance.sweep_crawls()
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()
    maintenance.sweep_changes()
    maintenance.share_takedowns()
    maintenance.rewrite_file()


@periodic(CRAWLS_DUE)
def crawls_due() -> None:
    """Decide about links that crawls hold; begin crawls again, or tell of those that ended."""
    maintenance = pipeline().maintenance
    maintenance.sweep_held_links()
    maintenance.begin_crawls()


@periodic(PACKS)
def upkeep_packs() -> None:
    """Rewrite packs that are half dead, and those with bytes that must go."""
    pipeline().maintenance.upkeep_packs()


@periodic(CRAWL_LOG)
def write_crawl_log() -> None:
    """Write the files of the crawl log that are due."""
    pipeline().maintenance.write_crawl_log()
