"""
The Celery tasks, under the short name that a source checkout offers.

`tasks.fetch` is the module `aragog.tasks.fetch`, not a copy of it, and so for every other module of
`aragog.tasks`. The wheel has only the long names (docs/adr/0069).
"""

import sys

from aragog.tasks import (
    canonicalize,
    fetch,
    maintenance,
    policy,
    reextract,
    refresh,
    render,
    robots,
    routes,
    store,
    watches,
    webhooks,
)

__all__ = [
    "canonicalize",
    "fetch",
    "maintenance",
    "policy",
    "reextract",
    "refresh",
    "render",
    "robots",
    "routes",
    "store",
    "watches",
    "webhooks",
]

for _name in __all__:
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
