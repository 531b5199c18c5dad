"""
Run one of aragog's processes.

    python -m aragog.workers ROLE [options of `celery worker`]   a worker with that role (`roles`)
    python -m aragog.workers upkeep,webhooks,beat [options …]    several roles in one process
    python -m aragog.workers beat [options of `celery beat`]     the schedule
    python -m aragog.workers flower [options of Flower]          the dashboard

Celery's commands are called directly, because the `celery` program imports all plugins, including
Flower, which takes 0.3 s of CPU time and 15 MB per process. Unlike with `celery -A`, files in the
current folder cannot shadow modules.
"""

from __future__ import annotations

import sys

import click
from celery.bin.base import CLIContext

from aragog.errors import CONFIG
from aragog.observability.logs import configure
from aragog.observability.tracing.tracer import name_service
from aragog.runtime.extras import require
from aragog.runtime.open_files import raise_limit
from aragog.settings.in_use import process_settings
from aragog.workers.app import app
from aragog.workers.niceness import be_nice
from aragog.workers.roles import BEAT, JOINED, ROLES, combined_role


def main() -> int:
    """Run until a signal stops the process, and return the exit code."""
    raise_limit()
    name, *options = sys.argv[1:] or [""]
    if name == BEAT:
        from celery.bin.beat import beat  # noqa: PLC0415 - workers do not need it

        return _run(beat, ["--loglevel", process_settings().logs.level, *options])
    if name == "flower":
        from flower.command import flower  # noqa: PLC0415 - only in Flower's process

        from aragog.workers import dashboard  # noqa: PLC0415

        dashboard.install()
        return _run(flower, options)
    roles = name.split(",")
    if roles[0] in ROLES and set(roles[1:]) <= {*ROLES, BEAT}:
        return _work(roles, options)
    names = "|".join((*ROLES, ",".join((*JOINED, BEAT)), BEAT, "flower"))
    sys.stderr.write(f"usage: python -m aragog.workers {{{names}}} [options]\n")
    return 2


def _work(roles: list[str], options: list[str]) -> int:
    settings = process_settings()
    try:
        if "render" in roles:
            require("render", "the role render")
        role = combined_role(roles, settings)
    except CONFIG as error:
        sys.exit(f"aragog: {error}")
    from celery.bin.worker import worker  # noqa: PLC0415 - beat and Flower do not need it

    from aragog.workers.preload import preload  # noqa: PLC0415

    name_service(roles[0])
    preload()
    if BEAT in roles:
        from aragog.workers.embedded_beat import embed_beat  # noqa: PLC0415 - other processes do not need it

        embed_beat(app)
    be_nice(role.niceness)
    level = ["--loglevel", settings.logs.level]
    return _run(worker, ["--hostname", f"{roles[0]}@%h", *level, *role.options(), *options])


def _run(command: click.Command, options: list[str]) -> int:
    logs = process_settings().logs
    quiet = logs.format == "json"  # no banner, because it is not JSON
    if quiet:
        configure(logs)  # Celery logs warnings before it sets up its own handlers
    context = CLIContext(app=app, no_color=False, workdir=None, quiet=quiet)
    celery = click.Context(click.Command("celery"))  # Flower reads the parent context's options
    return int(command.main(options, obj=context, parent=celery, standalone_mode=False) or 0)


if __name__ == "__main__":
    sys.exit(main())
