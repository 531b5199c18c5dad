"""Watch and unwatch URLs. Safe to run twice, in any order: see aragog.pipeline.stages.watches."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.stages.watches import WatchBatch, apply_watches
from tasks.policy import stage
from tasks.routes import WATCHES
from workers.services import pipeline


@stage(WATCHES)
def watches(message: dict[str, Any]) -> None:
    """Record who watches the URLs of the batch, or no longer does."""
    apply_watches(WatchBatch.read(message), pipeline().refresh.schedule)
