"""
The Celery tasks: short functions that call aragog.crawl.stages.

In a source checkout, `tasks.fetch` is `aragog.tasks.fetch` (aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.runtime.short_names import share

share(__name__)


def __getattr__(name: str) -> Any:
    """
    Return the app as `celery`, for `celery -A tasks`. It is imported on first use, because some
    processes only need the tasks' names.
    """
    if name == "celery":
        from aragog.workers.app import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
