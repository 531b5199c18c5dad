"""
The Celery app and the roles of workers, under their short names in a source checkout.

`workers.app` and `workers.roles` are the modules of `aragog.workers`, not copies (docs/adr/0069).
"""

import sys

from aragog.workers import app, roles, services

__all__ = ["app", "roles", "services"]

for _name in __all__:
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
