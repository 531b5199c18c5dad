"""
`celery`, forked from a process that has imported it: `python -m tests.support.celery_fork ENVIRON …`.

Celery takes more than a second of CPU time to import, and thirty workers are started by tests. What
the workers import of aragog they import themselves, as a user's would.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from importlib import import_module

IMPORTED = (
    "celery.__main__",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.solo",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "kombu.transport.redis",
)


def preload() -> None:
    """Import Celery and what its workers import at their start."""
    for name in IMPORTED:
        import_module(name)


def main() -> None:
    """Become the worker of this command line, in the environment that is its first argument."""
    os.environ.clear()
    os.environ.update(json.loads(sys.argv[1]))
    sys.argv = ["celery", *sys.argv[2:]]
    warnings.simplefilter("ignore")
    import_module("celery.__main__").main()


if __name__ == "__main__":
    main()
