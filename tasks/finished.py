"""
The task that runs the tasks linked to a fetch when a URL is done.

It is safe to run twice, because Redis records which results were passed on.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.finished_urls import Finished
from aragog.crawl.pipeline.routing import broker_errors
from aragog.tasks import continuation
from aragog.tasks.policy import stage
from aragog.tasks.routes import FINISHED
from aragog.workers.app import app
from aragog.workers.services import pipeline


@stage(FINISHED)
def finished(message: dict[str, Any]) -> None:
    """Pass a URL's result on to the tasks linked to its fetch."""
    with broker_errors():
        continuation.run_linked_tasks(app, Finished.read(message), pipeline().finished_urls)
