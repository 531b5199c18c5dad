"""Enqueue what is due. Safe to run twice and side by side: see aragog.pipeline.stages.refresh."""

from __future__ import annotations

from tasks.policy import stage
from tasks.routes import REFRESH_DUE
from workers.services import pipeline


@stage(REFRESH_DUE)
def refresh_due() -> None:
    """Claim URLs that are due and enqueue them behind new ones."""
    pipeline().refresh.run()
