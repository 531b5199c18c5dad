"""
`celery`, forked from a process that has imported it: `python -m tests.support.celery_fork ENVIRON …`.

Importing Celery takes half a second of CPU time, and tests start about fifty workers. The workers
import aragog themselves, like a user's.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from importlib import import_module


def main() -> None:
    """Become the worker of this command line, in the environment given as its first argument."""
    os.environ.clear()
    os.environ.update(json.loads(sys.argv[1]))
    sys.argv = ["celery", *sys.argv[2:]]
    warnings.simplefilter("ignore")
    import_module("celery.__main__").main()


if __name__ == "__main__":
    main()
