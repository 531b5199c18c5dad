"""House-keeping that beat asks for. Safe to run twice and side by side: see each function."""

from __future__ import annotations

from aragog.pipeline import upkeep
from aragog.pipeline.sending import FOLD_LINKS, OVERRIDES, SWEEP
from tasks.policy import stage
from workers.services import services


@stage(FOLD_LINKS)
def fold_links() -> None:
    """Fold the link journal into posting lists."""
    upkeep.fold_links(services())


@stage(SWEEP)
def sweep() -> None:
    """Drop notes of URLs that wait no longer, and bodies that nobody waits for."""
    upkeep.sweep(services())
    upkeep.sweep_spool(services())
    upkeep.sweep_changes(services())
    upkeep.share_takedowns(services())


@stage(OVERRIDES)
def overrides() -> None:
    """Read the per-domain rates again if their file has changed."""
    upkeep.overrides(services())
