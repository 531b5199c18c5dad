"""The command line, `aragog …`: one module for each group of commands, and one-line errors."""

from __future__ import annotations

import sys

import click

from aragog.cli import freshness, inspecting, producing, reading, robots, running, serving, storing
from aragog.cli.error_hints import remedy
from aragog.cli.shared_options import QueueOptions
from aragog.errors import AragogError, BadInput
from aragog.pinlater.cli import queue
from aragog.terminal import echo


class OneLineErrors(click.Group):
    """A group whose commands end with a message and a non-zero code, never with a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except AragogError as error:
            for line in str(error).splitlines():
                echo(f"aragog: {line}", err=True)
            hint = remedy(error)
            if hint:
                echo(f"aragog: {hint}", err=True)
            sys.exit(2 if isinstance(error, BadInput) else 1)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aragog")
@click.pass_context
def main(context: click.Context) -> None:
    """Fetch, canonicalize, store and serve URLs, politely."""
    context.obj = QueueOptions()


for command in (
    *running.COMMANDS,
    *producing.COMMANDS,
    *freshness.COMMANDS,
    *reading.COMMANDS,
    *serving.COMMANDS,
    *inspecting.COMMANDS,
    *robots.COMMANDS,
    *storing.COMMANDS,
    queue,
):
    main.add_command(command)
