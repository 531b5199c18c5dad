"""House-keeping, each step safe to repeat and to run beside itself."""

from __future__ import annotations

import logging
from contextlib import suppress

from aragog.errors import StoreDamaged
from aragog.pipeline.services import Services
from aragog.pipeline.spool import reclaim

log = logging.getLogger(__name__)

# Journal rows one task folds; the rest waits for the next tick.
FOLD_ROWS = 1000


def compact_links(services: Services) -> None:
    """Fold a stretch of the link journal into the inlinks' posting lists."""
    with suppress(StoreDamaged):  # told when the file was set aside; the journal keeps all
        services.store.maintenance.compact_links(FOLD_ROWS)


def sweep(services: Services) -> None:
    """Drop notes of URLs whose messages were lost with a server, so that they may come again."""
    dropped = services.in_flight.sweep()
    if dropped:
        log.warning("%d URLs had waited for two days and were let go", dropped)


def share_takedowns(services: Services) -> None:
    """Tell producers which hosts and domains were taken down, by the store."""
    services.blocks.replace(services.store.takedowns.sites())


def sweep_spool(services: Services) -> None:
    """Free bodies that no message names any more."""
    freed = reclaim.sweep(
        services.spool, services.waiting_jobs, idle_s=services.settings.pipeline.spool_ttl_s
    )
    if freed:
        log.warning("%d bodies in the spool belonged to nobody and were freed", freed)


def sweep_changes(services: Services) -> None:
    """Let go of changes that have been in the feed long enough."""
    services.store.sweep_changes(services.settings.refresh.changes_kept_s)
