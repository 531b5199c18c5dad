"""Read stored pages again with today's extractor. Safe to run twice: see pipeline.reextract."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.stages.reextract import ReextractBatch, reextract_batch
from tasks.policy import stage
from tasks.routes import REEXTRACT
from workers.services import services


@stage(REEXTRACT)
def reextract(message: dict[str, Any]) -> None:
    """Fields of the batch's pages, from their stored content."""
    of = services()
    reextract_batch(
        ReextractBatch.read(message), of.store, limits=of.settings.pipeline, marks=of.run_marks
    )
