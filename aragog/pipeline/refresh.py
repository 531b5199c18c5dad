"""
URLs that are due are fetched again, behind the new ones.

Safe to run twice and by several beats at once: a due row is claimed before it is enqueued, and a
URL that waits already is not enqueued again. A run that is killed after the claim loses nothing:
the claim runs out and the row is due once more.
"""

from __future__ import annotations

from aragog.pipeline.bundles import PRIORITY_REFRESH
from aragog.pipeline.enqueue import Wanted
from aragog.pipeline.services import Services

# Longer than a fetch takes from queue to store on a healthy system; the row is written anew then.
CLAIM_S = 900.0


def enqueue_due(services: Services) -> int:
    """How many URLs were enqueued; at most `refresh.batch` a call."""
    now_ms = services.clock.now_ms()
    due = services.store.claim_due(now_ms, services.settings.refresh.batch, CLAIM_S)
    wanted = Wanted(refresh=True, priority=PRIORITY_REFRESH)
    return sum(1 for _ in services.enqueuer.enqueue([item.url for item in due], wanted))
