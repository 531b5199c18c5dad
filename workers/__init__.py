"""
The Celery app, the roles of its workers, and the services of a worker process.

In a source checkout, `workers.app` is `aragog.workers.app` (aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.runtime.short_names import share

share(__name__)


def __getattr__(name: str) -> Any:
    """Return the app as `celery`, for `celery -A workers`. It is imported on first use."""
    if name == "celery":
        from aragog.workers.app import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
