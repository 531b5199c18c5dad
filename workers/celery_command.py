"""
`celery aragog`: lists the roles of aragog's workers, each with its queues.

Celery loads this entry point before it looks for the app given by `-A`. Loading it provides the
module `workers`, so `celery -A workers worker` works in any folder (docs/adr/0109).
"""

from __future__ import annotations

import click

from aragog.runtime.short_names import offer

offer("workers")


@click.command("aragog")
def command() -> None:
    """Show the roles of aragog's workers, and their queues."""
    from aragog.settings.in_use import process_settings  # noqa: PLC0415 - only needed when the command runs
    from aragog.workers.roles import ROLES, configured_role  # noqa: PLC0415

    for name in ROLES:
        role = configured_role(name, process_settings())
        queues = ", ".join(role.queues)
        click.echo(f"{name:14} {queues} ({role.pool}, {role.concurrency} at once)")
