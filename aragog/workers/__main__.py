"""
`python -m aragog.workers ROLE`: a Celery worker with the queues, pool and size of a role.

`… beat` and `… flower` run these commands of Celery's. Unlike `celery -A`, none of them looks for
modules in the current folder first, so no file there hides one.
"""

from __future__ import annotations

import sys

from aragog.settings import load_settings
from aragog.workers.app import app
from aragog.workers.preload import preload
from aragog.workers.roles import ROLES, sized

COMMANDS = ("beat", "flower")


def main() -> int:
    """Run a worker until a signal stops it; returns the exit code."""
    role = sys.argv[1] if len(sys.argv) > 1 else ""
    if role in COMMANDS:
        app.start(sys.argv[1:])
        return 0
    if role not in ROLES:
        roles = "|".join([*ROLES, *COMMANDS])
        sys.stderr.write(f"usage: python -m aragog.workers {{{roles}}} [celery options]\n")
        return 2
    size = sized(role, load_settings().workers).options()
    options = ["--hostname", f"{role}@%h", "--loglevel", "WARNING", *size]
    app.loader.import_default_modules()  # the tasks and everything they import
    preload()
    app.worker_main(["worker", *options, *sys.argv[2:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
