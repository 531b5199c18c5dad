"""
What beat enqueues, and how often. Only data; each entry names a registered task.

Two beats at once do no harm: every task here claims its work before it does it, and `expires`
keeps a queue that nobody serves from filling with stale ticks.
"""

from aragog.pipeline.routing import (
    COMPACT_LINKS,
    OVERRIDES,
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
    "tell webhooks what has changed": {
        "task": WEBHOOKS_DUE,
        "schedule": 5.0,
        "options": {"expires": 30},
    },
    "refresh robots.txt about to expire": {
        "task": ROBOTS_EXPIRING,
        "schedule": 60.0,
        "options": {"expires": 300},
    },
    "fold the link journal into inlinks": {
        "task": COMPACT_LINKS,
        "schedule": 3.0,
        "options": {"expires": 30},
    },
    "sweep what is over": {
        "task": SWEEP,
        "schedule": 60.0,
        "options": {"expires": 300},
    },
    "check the limiter's overrides": {
        "task": OVERRIDES,
        "schedule": 5.0,
        "options": {"expires": 30},
    },
}
