"""
`celery`, forked from a process that has imported it: `python -m tests.support.celery_fork ENVIRON …`.

Celery takes half a second of CPU time to import, and tests start some fifty workers. What the workers
import of aragog they import themselves, as a user's would.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from importlib import import_module


def main() -> None:
    """Become the worker of this command line, in the environment that is its first argument."""
    os.environ.clear()
    os.environ.update(json.loads(sys.argv[1]))
    sys.argv = ["celery", *sys.argv[2:]]
    warnings.simplefilter("ignore")
    import_module("celery.__main__").main()


if __name__ == "__main__":
    main()
