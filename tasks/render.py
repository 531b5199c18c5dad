"""
The task that renders a fetched page.

It is safe to run twice; see aragog.crawl.stages.render.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import ResultBatch
from aragog.tasks.policy import stage
from aragog.tasks.routes import RENDER
from aragog.workers.services import pipeline, send_all


@stage(RENDER)
def render(message: dict[str, Any]) -> None:
    """Render the batch's page, and send it to the next stage."""
    batch = ResultBatch.read(message)
    outgoing = pipeline().render.run(batch)
    send_all(outgoing)
    pipeline().render.free(batch, outgoing)
