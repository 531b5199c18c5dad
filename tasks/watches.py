"""
The task that watches and unwatches URLs.

It is safe to run twice and in any order; see aragog.crawl.stages.watch.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.stages.watch import WatchBatch, apply_watches
from aragog.tasks.policy import limited
from aragog.tasks.routes import WATCHES
from aragog.workers.services import pipeline


@limited(WATCHES, Queue.WATCHES)
def watches(message: dict[str, Any]) -> None:
    """Add or remove watchers of the URLs in the batch."""
    apply_watches(WatchBatch.read(message), pipeline().refresh.schedule)
