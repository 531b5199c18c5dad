"""Hold and release URLs. Safe to run twice and in any order: see aragog.pipeline.stages.watches."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.stages.watches import WatchBatch, apply_watches
from tasks.policy import stage
from tasks.routes import WATCHES
from workers.services import services


@stage(WATCHES)
def watches(message: dict[str, Any]) -> None:
    """Note who holds the URLs of the batch, or no longer does."""
    apply_watches(WatchBatch.read(message), services())
