"""The command `aragog run`."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from itertools import repeat

import click
from rich.console import Console
from rich.progress import Progress

from aragog.cli.arguments import FieldNames, enqueue_options
from aragog.cli.chosen_extractors import extractor_option, use_extractors
from aragog.cli.data_folder import command_settings
from aragog.cli.enqueue import LineReader, LineSource
from aragog.cli.exit_status import SIGNALED
from aragog.cli.run_crawl import Crawl, RunResult, program
from aragog.cli.run_options import RunOptions, changes_path, crawl_name, open_output
from aragog.cli.terminal import SafeConsole, warn
from aragog.cli.up import Stopped, open_log, report_restarts, running, with_demo_sites
from aragog.crawl.pipeline.crawl_records import check_name
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.errors import ConfigError
from aragog.settings import load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone import demo, system
from aragog.standalone.demo_sites import seeds
from aragog.transfer.rows import EXTENSIONS

SERVER_START_DELAY_S = 10.0
"""
A run that stops the crawler at its end starts Flower and the API only if it takes longer than this.
Starting them takes a second of CPU time, which would delay the first pages.
"""


@click.command()
@click.argument("file", required=False, type=click.Path())
@enqueue_options("priority", "depth", "refresh", "include", "exclude")
@extractor_option
@click.option(
    "-O",
    "--output",
    help="Write a record of each page to this file or s3://BUCKET/KEY; the suffix is one of "
    f"{EXTENSIONS}. It is replaced once it is complete.",
)
@click.option(
    "-o",
    "--append",
    help="Append a record of each page to this file: .jsonl, .csv or .sqlite.",
)
@click.option(
    "--fields",
    type=FieldNames(),
    help="Fields to write, separated by commas: `price` is the field of a rule "
    "or extractor, else of the page. Default: the fields of rules and extractors, else all.",
)
@click.option(
    "--items",
    type=FieldNames(),
    help="Write a record of each item of these kinds instead, separated by commas. Default: all "
    "kinds of `extract`, if it has no other rules.",
)
@click.option(
    "--changes",
    help="With --refresh: write each page that is new, changed or gone to this file (JSON Lines).",
)
@click.option("--crawl", help="The crawl's name (default: derived from the other arguments).")
@click.option("--keep/--stop", default=None, help="Keep running afterward (default on a terminal).")
def run(
    file: str | None,
    priority: int,
    depth: int,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    extractor: tuple[str, ...],
    output: str | None,
    append: str | None,
    fields: tuple[str, ...] | None,
    items: tuple[str, ...] | None,
    changes: str | None,
    crawl: str | None,
    *,
    refresh: bool,
    keep: bool | None,
) -> None:
    """
    Start the system, fetch the URLs of FILE (one per line), show progress and a summary.

    Without FILE, it crawls a few small demo sites that aragog serves on this machine, which need no
    network. If the system is already running, the command uses it. It waits only for its own URLs.
    The exit status is 0 if every URL has an outcome, 2 if there were no URLs, 3 if some are still
    waiting, and 4 if some lines were not URLs. If it is stopped early, it is 130 (Ctrl-C) or 143,
    and waiting URLs stay queued. A run is a crawl (`aragog crawl`); repeat the command to continue
    it.
    """
    UrlFilter(include, exclude)  # rejects an invalid pattern before anything starts
    use_extractors(extractor)
    run_output = open_output(output, append, fields, items)
    name = crawl or crawl_name(file, depth, include, exclude)
    check_name(name)
    changes_file = changes_path(changes, refresh=refresh)
    options = RunOptions(
        depth, include, exclude, refresh, priority, run_output, name, refresh, changes_file
    )
    console = SafeConsole(summary=True)
    keep = console.is_terminal if keep is None else keep
    if file is None:
        _run_demo(replace(options, depth=depth or 1, refresh=True), keep=keep, console=console)
        return
    lines = LineReader([file], Progress(disable=True))
    with with_demo_sites(command_settings(), console) as settings:
        running_crawl = Crawl(
            settings=settings,
            urls=lines,
            line_sources=lines.line_sources(),
            options=options,
            console=console,
        )
        result = _run_on_system(running_crawl, keep=keep)
    raise SystemExit(result.status)


def _run_demo(options: RunOptions, *, keep: bool, console: Console) -> None:
    """
    Crawl the demo sites with separate settings, and with free ports if necessary.

    Some of the demo's URLs are refused or fail on purpose.

    Raises:
        ConfigError: aragog is already running in the data folder.
    """
    data_dir = load_settings().data_dir.absolute()
    if pid := running_pid(data_dir / "run"):
        raise ConfigError(
            f"data_dir: aragog is already running in {data_dir} (process {pid}), so the demo "
            "cannot start there; pass a FILE of URLs, or run `aragog down` first"
        )
    urls = seeds()
    console.print(f"the demo sites: {len(urls)} URLs, served by this machine", highlight=False)
    with open_log(data_dir / "logs" / "demo.log", data_dir) as log, demo.web(log) as variables:
        demo.mark(data_dir)
        os.environ.update(variables)
        os.environ.update(system.free_ports(load_settings()))
        crawl = Crawl(
            settings=load_settings(),
            urls=urls,
            line_sources=repeat(LineSource("demo", 0)),
            options=options,
            console=console,
        )
        _run_on_system(crawl, keep=keep)


def _run_on_system(crawl: Crawl, *, keep: bool) -> RunResult:
    """
    Crawl with the running aragog, or start one. With `keep`, it keeps running afterward.

    Raises:
        SystemExit: a signal stopped the run. The status is 128 plus the signal's number, as in
            shells.
    """
    settings, console, stopped = crawl.settings, crawl.console, Stopped()
    if running_pid(settings.data_dir.absolute() / "run"):
        result = crawl.run(lambda: not stopped)
    else:
        if not keep:
            system.check(settings, ports=False)
        frontends = system.FRONTENDS if keep else ("beat",)
        with running(settings, console, frontends=frontends) as supervisor:
            start_servers_at_s = math.inf if keep else time.monotonic() + SERVER_START_DELAY_S

            def tick() -> bool:
                nonlocal start_servers_at_s
                report_restarts(supervisor, console)
                if time.monotonic() > start_servers_at_s:
                    start_servers_at_s = math.inf
                    for problem in system.start_frontends_with_free_ports(supervisor, settings):
                        warn(console, problem)
                return not stopped

            result = crawl.run(tick)
            if keep and not stopped:
                console.print("still running; press Ctrl-C to stop")
                while tick():
                    time.sleep(0.5)
            console.print(f"stopping; `{program()} up` starts it again", highlight=False)
    if stopped and not result.finished:
        raise SystemExit(SIGNALED + stopped.signal_number)
    return result
