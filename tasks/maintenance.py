"""House-keeping that beat asks for. Safe to run twice and side by side: see each function."""

from __future__ import annotations

from aragog.pipeline.stages import maintenance
from tasks.policy import stage
from tasks.routes import COMPACT_LINKS, SWEEP
from workers.services import services


@stage(COMPACT_LINKS)
def compact_links() -> None:
    """Fold the link journal into posting lists."""
    maintenance.compact_links(services())


@stage(SWEEP)
def sweep() -> None:
    """Drop notes of URLs that wait no longer, and bodies that nobody waits for."""
    maintenance.sweep(services())
    maintenance.sweep_spool(services())
    maintenance.sweep_changes(services())
    maintenance.share_takedowns(services())
