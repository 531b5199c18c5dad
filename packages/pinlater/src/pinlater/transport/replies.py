"""
Lists of replies, which would stay for ever where their caller has died.

kombu lets a list expire in the process that declared it. Replies come from workers, which declared
nothing.
"""

from __future__ import annotations

import re

CONTROL_KEPT_MS = 3_600_000
"""How long replies of remote control are kept; their callers wait for seconds."""
RESULTS_KEPT_MS = 7 * 86_400_000
"""How long results of `rpc://` are kept after the last one, at least; Celery's default is a day."""
_CONTROL = re.compile(r"\.reply\.[^.]+\.pidbox$")
_CALLER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def reply_kept_ms(queue: str) -> int | None:
    """Return how long a queue of replies is kept; None for other queues. Pure."""
    if _CONTROL.search(queue):
        return CONTROL_KEPT_MS
    return RESULTS_KEPT_MS if _CALLER.fullmatch(queue) else None
