"""
The task that analyzes fetched pages.

It is safe to run twice; see aragog.crawl.stages.canonicalize.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import ResultBatch
from aragog.tasks.policy import callable_module, stage
from aragog.tasks.routes import CANONICALIZE
from aragog.tasks.stored_again import write_again
from aragog.workers.services import pipeline, send_all


@stage(CANONICALIZE)
def canonicalize(message: dict[str, Any] | list[str] | str) -> None:
    """
    Extract the canonical URL, links and Rich Pin of each page in the batch.

    For a URL (`canonicalize.delay("https://…")`) or a list of URLs, the stored pages are processed
    again.
    """
    if isinstance(message, str | list):
        write_again(CANONICALIZE, message)
        return
    send_all(pipeline().canonicalize.run(ResultBatch.read(message)))


__getattr__ = callable_module(canonicalize)
