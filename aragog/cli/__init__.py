"""The command line: `aragog …`. Each group of commands is a module; errors end here, in a line."""

from __future__ import annotations

import sys

import click

from aragog.cli import inspecting, producing, reading, running, serving
from aragog.errors import AragogError


class OneLineErrors(click.Group):
    """A group whose commands end with a message and a non-zero code, never with a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except AragogError as error:
            for line in str(error).splitlines():
                click.echo(f"aragog: {line}", err=True)
            sys.exit(1)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aragog")
def main() -> None:
    """Fetch, canonicalize, store and serve URLs, politely."""


for command in (
    *running.COMMANDS,
    *producing.COMMANDS,
    *reading.COMMANDS,
    *serving.COMMANDS,
    *inspecting.COMMANDS,
):
    main.add_command(command)
