"""
The Celery app, the roles of its workers, and the services of a worker process.

`workers.app` in a source checkout is `aragog.workers.app` (aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.runtime.short_names import share

share(__name__)


def __getattr__(name: str) -> Any:
    """The app as `celery`, for `celery -A workers`; a process that needs no app imports none."""
    if name == "celery":
        from aragog.workers.app import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
