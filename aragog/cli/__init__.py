"""
The command line, `aragog …`: one module for each group of commands, and one-line errors.

A command's module is imported when the command is used, so that `--help` and errors are fast.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click

from aragog.errors import AragogError, BadInput


class LazyCommand(NamedTuple):
    """Where a command is, and its first help line, so that `--help` imports no command."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """
    A group of commands that are imported on use.

    Args:
        lazy_commands: name → where the command is.
        options: those of `click.Group`.
    """

    def __init__(self, *, lazy_commands: Mapping[str, LazyCommand], **options: Any) -> None:
        super().__init__(**options)
        self.lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click."""
        return sorted({*super().list_commands(ctx), *self.lazy_commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click."""
        lazy = self.lazy_commands.get(cmd_name)
        if lazy is None:
            return super().get_command(ctx, cmd_name)
        command = getattr(import_module(lazy.module), lazy.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{lazy.module}.{lazy.attribute} is not a click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See click, which suggests only among commands that are not lazy."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            meant = get_close_matches(name, self.list_commands(ctx), 1)
            hint = f" Did you mean {meant[0]!r}?" if meant else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._short_help(ctx, name, limit)) for name in names])

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        lazy = self.lazy_commands.get(name)
        command = click.Command(name, help=lazy.summary) if lazy else self.get_command(ctx, name)
        return command.get_short_help_str(limit) if command else ""


# A summary is the first line of the command's docstring.
COMMANDS = {
    "up": LazyCommand(
        "aragog.cli.up",
        "up",
        "Start the standalone system; it continues where it stopped.",
    ),
    "down": LazyCommand(
        "aragog.cli.up",
        "down",
        "Stop the standalone system of this data folder; waiting URLs stay for the next `up`.",
    ),
    "run": LazyCommand(
        "aragog.cli.run",
        "run",
        "Start the system, fetch the URLs of FILE (one a line), show progress and a summary.",
    ),
    "try": LazyCommand(
        "aragog.cli.try_url",
        "try_url",
        "Fetch URL once and show its fields, links and timing; nothing is stored.",
    ),
    "enqueue": LazyCommand(
        "aragog.cli.enqueue",
        "enqueue",
        "Enqueue URLs: each SOURCE is a URL, a file with one a line, or `-` for standard input.",
    ),
    "watch": LazyCommand(
        "aragog.cli.freshness", "watch", "Keep each URL fresh for OWNER until `unwatch`."
    ),
    "unwatch": LazyCommand(
        "aragog.cli.freshness",
        "unwatch",
        "Stop watching each URL; a URL whose last watch ended is not refreshed.",
    ),
    "changes": LazyCommand(
        "aragog.cli.freshness", "changes", "List what changed on pages that were fetched again."
    ),
    "webhooks": LazyCommand(
        "aragog.cli.freshness", "webhooks", "Add, list and remove webhooks, which receive changes."
    ),
    "due": LazyCommand(
        "aragog.cli.freshness",
        "due",
        "Show when each URL is fetched again and why; without URLs, how late refreshes are.",
    ),
    "reextract": LazyCommand(
        "aragog.cli.reextract",
        "reextract",
        "Extract the fields of stored pages again; nothing is fetched.",
    ),
    "show": LazyCommand("aragog.cli.show", "show", "Show the fields and facts of URL."),
    "links": LazyCommand("aragog.cli.show", "links", "List the links from URL, or to it."),
    "content": LazyCommand(
        "aragog.cli.show",
        "content",
        "Print the page's content as it was fetched, or its main text.",
    ),
    "serve": LazyCommand(
        "aragog.cli.serve",
        "serve_command",
        "Serve HTTP (serving.http_port) and Thrift (serving.thrift_port) until SIGTERM.",
    ),
    "mcp": LazyCommand(
        "aragog.cli.mcp",
        "mcp_command",
        "Offer the store and the fetcher to language models, over the Model Context Protocol.",
    ),
    "token": LazyCommand(
        "aragog.cli.serve",
        "token_command",
        "Create the bearer token NAME; print it once, with its entry for serving.tokens.",
    ),
    "explain": LazyCommand(
        "aragog.cli.explain",
        "explain",
        "Explain URL: spelling, SSRF filter, robots.txt, slot, canonical URL, fields, links.",
    ),
    "status": LazyCommand(
        "aragog.cli.explain",
        "status",
        "Show how many URLs are in flight, and the outcomes of the others.",
    ),
    "doctor": LazyCommand(
        "aragog.cli.doctor",
        "doctor",
        "Check every part and print what to do; exits with 1 if something is wrong.",
    ),
    "plan": LazyCommand(
        "aragog.cli.plan",
        "plan",
        "Compute what a crawl needs (machines, Redis, HBase or PostgreSQL, S3) and its first "
        "bottleneck.",
    ),
    "robots": LazyCommand(
        "aragog.cli.robots", "robots", "Test URLs against robots.txt, and fetch it again."
    ),
    "identity": LazyCommand(
        "aragog.cli.identity",
        "identity",
        "Make and rotate the keys that sign requests, and publish who you are.",
    ),
    "domain": LazyCommand(
        "aragog.cli.domain",
        "domain",
        "Show why domains wait, and change their rates.",
    ),
    "limiter": LazyCommand(
        "aragog.cli.limiter",
        "limiter_command",
        "Show and change the nodes of the rate limiter; each decides for a share of the domains.",
    ),
    "store": LazyCommand(
        "aragog.cli.store", "store", "Create tables, repair, import, export and take down."
    ),
    "queue": LazyCommand(
        "aragog.cli.queue", "queue", "Inspect, pause and limit queues, and retry failed jobs."
    ),
}


class OneLineErrors(LazyGroup):
    """A group whose commands end with a message and a non-zero code, never with a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except AragogError as error:
            # A command that succeeds needs neither.
            from aragog.cli.error_hints import remedy  # noqa: PLC0415
            from aragog.terminal import echo, verbosity  # noqa: PLC0415

            if verbosity.verbose:
                raise
            for line in str(error).splitlines():
                echo(f"aragog: {line}", err=True)
            hint = remedy(error)
            if hint:
                echo(f"aragog: {hint}", err=True)
            sys.exit(2 if isinstance(error, BadInput) else 1)
        except OSError as error:
            from aragog.terminal import echo, verbosity  # noqa: PLC0415

            # click quietly ends a command whose reader has closed the pipe, as `head` does.
            if verbosity.verbose or error.errno == errno.EPIPE:
                raise
            _give_up_output()
            name = f"{error.filename}: " if error.filename else ""
            echo(f"aragog: {name}{error.strerror or error}", err=True)
            sys.exit(1)
        except UnicodeEncodeError as error:
            if error.encoding != "utf-8":
                raise
            raise click.UsageError(f"{error.object!r} is not valid UTF-8", context) from error


def _give_up_output() -> None:
    """Discard output that cannot be written: Python would try again when it ends, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=OneLineErrors,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="aragog-crawler")
@click.option("-q", "--quiet", is_flag=True, help="Print results and problems only.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Log to standard error; errors have their traceback."
)
def main(*, quiet: bool, verbose: bool) -> None:
    """Fetch, canonicalize, store and serve URLs, politely."""
    if quiet and verbose:
        raise click.UsageError("use --quiet or --verbose, not both")
    from aragog.terminal import verbosity  # noqa: PLC0415

    verbosity.quiet, verbosity.verbose = quiet, verbose
    if verbose:
        logging.basicConfig(level=logging.INFO, stream=sys.stderr)
        logging.getLogger("aragog").setLevel(logging.DEBUG)
