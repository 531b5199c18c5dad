"""The command line, `aragog …`: one module for each group of commands, and one-line errors."""

from __future__ import annotations

import errno
import logging
import os
import sys

import click

from aragog.cli.lazy_group import LazyCommand, LazyGroup
from aragog.errors import AragogError, BadInput

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
        "aragog.cli.store.reextracting",
        "reextract",
        "Extract the fields of stored pages again; nothing is fetched.",
    ),
    "show": LazyCommand("aragog.cli.show", "show", "Show the fields and facts of URL."),
    "links": LazyCommand("aragog.cli.show", "links", "List the links from URL, or to it."),
    "content": LazyCommand(
        "aragog.cli.show", "content", "Print the page's content as it was fetched."
    ),
    "serve": LazyCommand(
        "aragog.cli.serve",
        "serve_command",
        "Serve HTTP (serving.http_port) and Thrift (serving.thrift_port) until SIGTERM.",
    ),
    "token": LazyCommand(
        "aragog.cli.serve",
        "token_command",
        "Create the bearer token NAME; print it once, with its entry for serving.tokens.",
    ),
    "explain": LazyCommand(
        "aragog.cli.inspecting",
        "explain",
        "Explain URL: spelling, SSRF filter, robots.txt, slot, canonical URL, fields, links.",
    ),
    "status": LazyCommand(
        "aragog.cli.inspecting",
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
        "Compute what a crawl needs (machines, Redis, HBase, S3) and its first bottleneck.",
    ),
    "robots": LazyCommand(
        "aragog.cli.robots", "robots", "Test URLs against robots.txt, and fetch it again."
    ),
    "domain": LazyCommand(
        "aragog.cli.domain",
        "domain",
        "Show why domains wait, and change their rates.",
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
