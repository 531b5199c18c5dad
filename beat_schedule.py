"""
The tasks that beat enqueues, and how often.

Running two beats at once is harmless, because every task here claims its work before doing it.
`expires` keeps stale messages from filling a queue that has no workers.

In a source checkout, this module can also be imported as `beat_schedule`
(aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.runtime.short_names import share
from aragog.settings.in_use import process_settings
from aragog.tasks.routes import (
    COMPACT_LINKS,
    CRAWL_LOG,
    CRAWLS_DUE,
    PACKS,
    REFRESH_DUE,
    ROBOTS_EXPIRING,
    SWEEP,
    WEBHOOKS_DUE,
)

share(__name__)


def _entry(task: str, every_s: float, expires_s: int) -> dict[str, Any]:
    return {"task": task, "schedule": every_s, "options": {"expires": expires_s}}


beat_schedule = {
    "refresh URLs that are due": _entry(REFRESH_DUE, 5.0, 30),
    "deliver changes to webhooks": _entry(WEBHOOKS_DUE, 5.0, 30),
    "refresh robots.txt about to expire": _entry(ROBOTS_EXPIRING, 60.0, 300),
    "compact the link journal into inlinks": _entry(COMPACT_LINKS, 3.0, 30),
    "sweep abandoned state": _entry(SWEEP, 60.0, 300),
    "start due crawls and report ended ones": _entry(CRAWLS_DUE, 10.0, 60),
    "rewrite packs with dead content": _entry(PACKS, 60.0, 300),
}
if process_settings().crawl_log.engine != "off":
    beat_schedule["write the crawl log"] = _entry(CRAWL_LOG, 30.0, 60)
