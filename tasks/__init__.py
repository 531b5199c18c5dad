"""
The Celery tasks: a few lines each, which call aragog.crawl.stages.

`tasks.fetch` in a source checkout is `aragog.tasks.fetch` (aragog/runtime/short_names.py).
"""

from typing import Any

from aragog.runtime.short_names import share

share(__name__)


def __getattr__(name: str) -> Any:
    """The app as `celery`, for `celery -A tasks`; a process that only wants names does without."""
    if name == "celery":
        from aragog.workers.app import app  # noqa: PLC0415

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
