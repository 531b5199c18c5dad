"""`aragog run`: crawl a list of URLs on the standalone system and show the progress."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from aragog.bootstrap.redis_services import lines_of
from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import enqueue_options
from aragog.cli.data_folder import command_settings
from aragog.cli.processes.card import LOOKED_AT, best_of, card
from aragog.cli.processes.running import (
    Stopped,
    addresses,
    opened_log,
    report_deaths,
    running,
    with_demo_web,
)
from aragog.cli.producing import LineReader, Where, result_line, summary, with_contact
from aragog.client import Aragog
from aragog.errors import ConfigError, SlowDown
from aragog.pinlater.admin import Admin
from aragog.pinlater.brokers import kind_of
from aragog.pipeline.stages.enqueue import CHUNK, EnqueueStatus
from aragog.settings import Settings, load_settings
from aragog.standalone import system
from aragog.standalone.demo import settings as demo
from aragog.standalone.demo.sites import seeds
from aragog.standalone.progress import watch
from aragog.standalone.running_system import running_pid
from aragog.standalone.waiting import waiting_for
from aragog.terminal import SafeConsole, warn
from aragog.urls.url_filter import UrlFilter

MOST_INVALID_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the URLs of a run are enqueued."""

    depth: int
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    refresh: bool


@click.command()
@click.argument("file", required=False, type=click.Path())
@enqueue_options("depth", "refresh", "include", "exclude")
@click.option(
    "--keep/--stop", default=None, help="Keep running afterward (default: on a terminal)."
)
def run(
    file: str | None,
    depth: int,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    *,
    refresh: bool,
    keep: bool | None,
) -> None:
    """
    Start the system, fetch the URLs of FILE (one a line), show progress and a summary.

    Without a FILE it crawls a small demo web that aragog serves on this machine, which needs no
    network. It uses the running system if there is one. If it is stopped early, waiting URLs stay,
    and the exit code is 130 (ctrl-C) or 143.
    """
    UrlFilter(include, exclude)  # refuses a pattern before anything starts
    options = RunOptions(depth, include, exclude, refresh)
    console = SafeConsole(summary=True)
    keep = console.is_terminal if keep is None else keep
    if file is None:
        _run_demo(replace(options, depth=depth or 1, refresh=True), keep=keep, console=console)
        return
    lines = LineReader([file], Progress(disable=True))
    with with_demo_web(command_settings(), console) as settings:
        _run(settings, lines, lines.places(), options, keep=keep, console=console)


def _run_demo(options: RunOptions, *, keep: bool, console: Console) -> None:
    """
    Crawl the demo web with settings of its own, and with free ports if the usual ones are in use.

    Raises:
        ConfigError: a system runs in the data folder.
    """
    data_dir = load_settings().data_dir.absolute()
    if pid := running_pid(data_dir / "run"):
        raise ConfigError(
            f"data_dir: aragog runs in {data_dir} already (process {pid}), so the demo "
            "cannot start there; give a FILE of URLs, or run `aragog down` first"
        )
    urls = seeds()
    console.print(f"the demo web: {len(urls)} URLs, served by this machine", highlight=False)
    with opened_log(data_dir / "logs" / "demo.log", data_dir) as log, demo.web(log) as variables:
        demo.mark(data_dir)
        os.environ.update(variables)
        os.environ.update(system.free_ports(load_settings()))
        places = repeat(Where("demo", 0))
        _run(load_settings(), urls, places, options, keep=keep, console=console)


def _run(
    settings: Settings,
    urls: Iterable[str],
    places: Iterable[Where],
    options: RunOptions,
    *,
    keep: bool,
    console: Console,
) -> None:
    """
    Crawl on the running system, or on one that is started for it.

    Raises:
        SystemExit: stopped by a signal while URLs waited: 128 plus its number, as in shells.
    """
    stopped = Stopped()
    crawl = partial(
        _crawl,
        settings,
        with_contact(urls, settings),
        places,
        options,
        console=console,
    )
    if running_pid(settings.data_dir.absolute() / "run"):
        finished = crawl(lambda: not stopped)
    else:
        with running(settings, console) as supervisor:

            def tick() -> bool:
                report_deaths(supervisor, console)
                return not stopped

            finished = crawl(tick)
            if keep and not stopped:
                console.print("still running; ctrl-C stops it")
                while tick():
                    time.sleep(0.5)
            console.print(f"stopping; `{_program()} up` starts it again", highlight=False)
    if not finished:
        raise SystemExit(128 + stopped.by)


def _crawl(
    settings: Settings,
    urls: Iterable[str],
    places: Iterable[Where],
    options: RunOptions,
    tick: Callable[[], bool],
    *,
    console: Console,
) -> bool:
    """Enqueue, watch, sum up; False when it was stopped before the end."""
    by_status: Counter[EnqueueStatus] = Counter()
    first: list[str] = []
    cut = False
    with Aragog(settings) as client:
        before = client.counters()
        results = client.enqueue_all(
            urls,
            depth=options.depth,
            refresh=options.refresh,
            include=options.include,
            exclude=options.exclude,
            on_wait=partial(_wait_for_room, tick, console),
        )
        for number, (result, where) in enumerate(zip(results, places, strict=False), 1):
            by_status[result.status] += 1
            if result.url and len(first) < LOOKED_AT:
                first.append(result.url)
            if result.reason and by_status[result.status] <= MOST_INVALID_SHOWN:
                warn(console, result_line(result, where))
            if number % CHUNK == 0 and not tick():
                cut = True
                warn(console, f"stopped after {number} URLs of the list; the rest is not enqueued")
                break
        console.print(summary(by_status), highlight=False)
        snapshot = watch(client, before, console, tick, _causes(settings))
    if not console.is_interactive:
        console.print(snapshot.line(), highlight=False, soft_wrap=True)
    if snapshot.in_flight:
        waits = f"{snapshot.in_flight} URLs still wait; `{_program()} up` continues with them"
        warn(console, waits)
    example_url = _show_best(settings, first, console) or next(iter(first), "URL")
    console.print(addresses(settings), markup=False, highlight=False)
    look = f"look:    {_program()} show '{example_url}'"
    console.print(look, highlight=False, markup=False, soft_wrap=True)
    return not (cut or snapshot.in_flight)


def _causes(settings: Settings) -> Callable[[], Counter[str]]:
    """A function that counts what URLs wait for; without pinlater it counts nothing."""
    broker = settings.resolved().broker
    if kind_of(broker.url) != "pinlater":
        return Counter
    return partial(waiting_for, Admin.connect(broker.url, broker.shards), lines_of(settings))


def _show_best(settings: Settings, urls: Sequence[str], console: Console) -> str | None:
    """On a terminal, one of the pages as a card; returns its URL, None where none is shown."""
    if not console.is_terminal or console.quiet:
        return None
    store = url_store(settings)
    try:
        record = best_of(store, urls)
        if record is None:
            return None
        console.print(card(store, record))
        return record.canonical_url
    finally:
        store.close()


def _wait_for_room(tick: Callable[[], bool], console: Console, refusal: SlowDown) -> None:
    """Before each wait. Raises the refusal once the run is stopped."""
    if not tick():
        raise refusal
    warn(console, f"waiting: {refusal}")


def _program() -> str:
    """The command of this program: its name if the shell finds it, else its relative path."""
    if shutil.which("aragog"):
        return "aragog"
    script = Path(sys.argv[0])
    return os.path.relpath(script) if script.name == "aragog" else "python -m aragog.cli"
