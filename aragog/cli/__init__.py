"""The command line, `aragog …`."""

from __future__ import annotations

import logging
import sys

import click

from aragog.cli import addons
from aragog.cli.lazy_commands import LazyCommand
from aragog.cli.one_line_errors import OneLineErrors

# The summaries repeat the first lines of the commands' docstrings, so that `--help` imports no
# command.
COMMANDS = {
    "up": LazyCommand(
        "aragog.cli.up",
        "up",
        "Start the standalone system; it continues where it left off.",
    ),
    "down": LazyCommand(
        "aragog.cli.up",
        "down",
        "Stop the standalone system of this data folder; queued URLs wait for the next `up`.",
    ),
    "run": LazyCommand(
        "aragog.cli.run",
        "run",
        "Start the system, fetch the URLs of FILE (one per line), show progress and a summary.",
    ),
    "new": LazyCommand(
        "aragog.cli.new",
        "new",
        "Guess rules from example pages, and write them to aragog.toml.",
    ),
    "try": LazyCommand(
        "aragog.cli.try_url",
        "try_url",
        "Fetch URL once and show its fields, items, links and timing; nothing is stored.",
    ),
    "enqueue": LazyCommand(
        "aragog.cli.enqueue",
        "enqueue",
        "Enqueue URLs: each SOURCE is a URL, a file with one per line, or `-` for standard input.",
    ),
    "crawl": LazyCommand(
        "aragog.cli.crawl",
        "crawl",
        "Start, watch and stop crawls, which have a name, a scope and limits.",
    ),
    "cancel": LazyCommand(
        "aragog.cli.crawl",
        "cancel",
        "Cancel queued URLs, whoever enqueued them; stored pages are kept.",
    ),
    "templates": LazyCommand(
        "aragog.cli.templates",
        "templates",
        "Show which URL templates of a host are followed; open or close one.",
    ),
    "watch": LazyCommand(
        "aragog.cli.freshness", "watch", "Keep each URL fresh for OWNER until `unwatch`."
    ),
    "unwatch": LazyCommand(
        "aragog.cli.freshness",
        "unwatch",
        "Stop watching each URL; a URL without watches is no longer refreshed.",
    ),
    "changes": LazyCommand(
        "aragog.cli.freshness", "changes", "List changes of pages that were fetched again."
    ),
    "webhooks": LazyCommand(
        "aragog.cli.freshness", "webhooks", "Add, list and remove webhooks, which receive changes."
    ),
    "due": LazyCommand(
        "aragog.cli.freshness",
        "due",
        "Show when and why each URL is fetched again; without URLs, how late refreshes are.",
    ),
    "reextract": LazyCommand(
        "aragog.cli.reextract",
        "reextract",
        "Extract the fields of stored pages again; nothing is fetched.",
    ),
    "show": LazyCommand("aragog.cli.show", "show", "Show the fields and facts of URL."),
    "links": LazyCommand(
        "aragog.cli.show",
        "links",
        "List the links from URL or to it, or the pages with the same content.",
    ),
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
    "robots": LazyCommand(
        "aragog.cli.robots", "robots", "Test URLs against robots.txt, and fetch it again."
    ),
    "identity": LazyCommand(
        "aragog.cli.identity",
        "identity",
        "Create and rotate the keys that sign requests, and write the files to publish.",
    ),
    "domain": LazyCommand(
        "aragog.cli.domain",
        "domain",
        "Show why domains wait, and change their rates.",
    ),
    "limiter": LazyCommand(
        "aragog.cli.limiter",
        "limiter_command",
        "Show and change the nodes of the rate limiter, which share the domains.",
    ),
    "store": LazyCommand(
        "aragog.cli.store", "store", "Create and repair tables, import, export and take down pages."
    ),
    "repair-redis": LazyCommand(
        "aragog.cli.repair_redis",
        "repair_redis",
        "Repair the files of the private Redis, which holds the queued jobs.",
    ),
    "queue": LazyCommand(
        "aragog.cli.queue", "queue", "Inspect, pause and limit queues, and retry failed jobs."
    ),
}


@click.group(
    cls=OneLineErrors,
    lazy_commands=COMMANDS | addons.commands(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="aragog-crawler")
@click.option("-q", "--quiet", is_flag=True, help="Print only results and problems.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Log to standard error, and print a traceback with each error.",
)
def main(*, quiet: bool, verbose: bool) -> None:
    """Fetch, canonicalize, store and serve URLs, politely."""
    if quiet and verbose:
        raise click.UsageError("use either --quiet or --verbose")
    from aragog.cli.terminal import verbosity  # noqa: PLC0415
    from aragog.runtime.open_files import raise_limit  # noqa: PLC0415

    raise_limit()
    verbosity.quiet, verbosity.verbose = quiet, verbose
    if verbose:
        logging.basicConfig(level=logging.INFO, stream=sys.stderr)
        logging.getLogger("aragog").setLevel(logging.DEBUG)
