"""Commands that are imported on use, so that `--help` and error messages are fast."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click


class LazyCommand(NamedTuple):
    """The location of a command, and the first line of its help."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """
    A group of commands that are imported on use.

    Args:
        lazy_commands: the commands by name.
        options: the options of `click.Group`.
    """

    def __init__(self, *, lazy_commands: Mapping[str, LazyCommand], **options: Any) -> None:
        super().__init__(**options)
        self.lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click."""
        return sorted({*super().list_commands(ctx), *self.lazy_commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click."""
        lazy_command = self.lazy_commands.get(cmd_name)
        if lazy_command is None:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(lazy_command.module), lazy_command.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(
                f"{lazy_command.module}.{lazy_command.attribute} is not a click command"
            )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, but also suggest lazy commands."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            similar_names = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f" Did you mean {similar_names[0]!r}?" if similar_names else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._short_help(ctx, name, limit)) for name in names])

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        lazy_command = self.lazy_commands.get(name)
        command = (
            click.Command(name, help=lazy_command.summary)
            if lazy_command
            else self.get_command(ctx, name)
        )
        return command.get_short_help_str(limit) if command else ""
