"""
The task that writes pages and fetch outcomes.

Safe to run twice: see aragog.crawl.stages.store.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import PageBatch
from aragog.tasks.policy import stage
from aragog.tasks.routes import STORE
from aragog.tasks.stored_again import write_again
from aragog.workers.services import pipeline, send_all


@stage(STORE)
def store(message: dict[str, Any] | list[str] | str) -> None:
    """
    Write the content of the batch, then its nodes, links and due rows.

    One URL (`store.delay("https://…")`) or a list: stored pages are read and written again.
    """
    if isinstance(message, str | list):
        write_again(STORE, message)
        return
    send_all(pipeline().store.run(PageBatch.read(message)))
