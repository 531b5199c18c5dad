"""
The tasks that beat enqueues, and how often.

Two beats at once do no harm: every task here claims its work before it does it, and `expires`
keeps a queue without workers from filling with stale messages.
"""

from aragog.tasks.routes import (
    COMPACT_LINKS,
    REFRESH_DUE,
    ROBOTS_EXPIRING,
    SWEEP,
    WEBHOOKS_DUE,
)

beat_schedule = {
    "refresh URLs that are due": {
        "task": REFRESH_DUE,
        "schedule": 5.0,
        "options": {"expires": 30},
    },
    "deliver changes to webhooks": {
        "task": WEBHOOKS_DUE,
        "schedule": 5.0,
        "options": {"expires": 30},
    },
    "refresh robots.txt about to expire": {
        "task": ROBOTS_EXPIRING,
        "schedule": 60.0,
        "options": {"expires": 300},
    },
    "compact the link journal into inlinks": {
        "task": COMPACT_LINKS,
        "schedule": 3.0,
        "options": {"expires": 30},
    },
    "free what nobody waits for": {
        "task": SWEEP,
        "schedule": 60.0,
        "options": {"expires": 300},
    },
}
