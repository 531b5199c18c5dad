"""
The task that extracts the fields of stored pages again.

It is safe to run twice; see aragog.crawl.stages.reextract.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.stages.reextract import ReextractBatch
from aragog.tasks.policy import stage
from aragog.tasks.routes import REEXTRACT
from aragog.workers.services import pipeline


@stage(REEXTRACT)
def reextract(message: dict[str, Any]) -> None:
    """Extract the fields of the batch's pages from their stored content."""
    pipeline().reextract.run(ReextractBatch.read(message))
