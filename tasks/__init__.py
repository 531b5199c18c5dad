"""
The Celery tasks, under the short name that a source checkout offers.

Each task is a module of `aragog.tasks`; the wheel has only that name (docs/adr/0069).
"""

from aragog.tasks import (
    canonicalize,
    fetch,
    maintenance,
    reextract,
    refresh,
    robots,
    store,
    watches,
    webhooks,
)

__all__ = [
    "canonicalize",
    "fetch",
    "maintenance",
    "reextract",
    "refresh",
    "robots",
    "store",
    "watches",
    "webhooks",
]
