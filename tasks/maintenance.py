"""
The maintenance tasks that beat enqueues.

Safe to run twice and concurrently: see each function.
"""

from __future__ import annotations

from aragog.tasks.policy import stage
from aragog.tasks.routes import COMPACT_LINKS, CRAWL_LOG, SWEEP
from aragog.workers.services import pipeline


@stage(COMPACT_LINKS)
def compact_links() -> None:
    """Compact the link journal into posting lists."""
    pipeline().maintenance.compact_links()


@stage(SWEEP)
def sweep() -> None:
    """Drop expired in-flight entries, orphaned bodies and old changes; publish takedowns."""
    maintenance = pipeline().maintenance
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()
    maintenance.sweep_changes()
    maintenance.share_takedowns()
    maintenance.rewrite_file()


@stage(CRAWL_LOG)
def write_crawl_log() -> None:
    """Write the files of the crawl log that are due."""
    pipeline().maintenance.write_crawl_log()
