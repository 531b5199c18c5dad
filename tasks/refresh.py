"""
The task that enqueues URLs that are due for a refresh.

It is safe to run twice and concurrently; see aragog.crawl.stages.refresh.
"""

from __future__ import annotations

from aragog.tasks.policy import periodic
from aragog.tasks.routes import REFRESH_DUE
from aragog.workers.services import pipeline


@periodic(REFRESH_DUE)
def refresh_due() -> None:
    """Claim URLs that are due, and enqueue them at a lower priority than new URLs."""
    pipeline().refresh.run()
