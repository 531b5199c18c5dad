"""`aragog run`: crawl a list of URLs on the standalone system and show the progress."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from aragog.cli.arguments import NOT_NEGATIVE
from aragog.cli.producing import LineReader, Where, told, with_contact
from aragog.cli.running import Stopped, addresses, report_deaths, running
from aragog.client import Aragog
from aragog.errors import ConfigError, SlowDown
from aragog.pipeline.stages.enqueue import CHUNK, EnqueueStatus
from aragog.settings import Settings, load_settings
from aragog.standalone.demo import settings as demo
from aragog.standalone.demo.sites import seeds
from aragog.standalone.progress import watch
from aragog.standalone.supervisor import running_pid
from aragog.terminal import SafeConsole

MOST_INVALID_SHOWN = 10


@click.command()
@click.argument("file", required=False, type=click.Path())
@click.option(
    "--depth",
    type=NOT_NEGATIVE,
    default=0,
    show_default=True,
    help="Link hops to follow from each URL.",
)
@click.option("--refresh", is_flag=True, help="Fetch again what is stored already.")
@click.option("--keep/--stop", default=None, help="Keep running afterwards (default: a terminal).")
def run(file: str | None, depth: int, *, refresh: bool, keep: bool | None) -> None:
    """
    Start the system, fetch the URLs of FILE (one a line), show progress and a summary.

    Without a FILE: a small demo web that aragog serves on this machine, so that it works without a
    network. Uses the running system, if there is one. Stopped before the end, what waits stays, and
    the exit code is 130 (ctrl-C) or 143.
    """
    console = SafeConsole()
    if file is None:
        if running_pid(load_settings().data_dir.absolute() / "run"):
            raise ConfigError(
                "data_dir: aragog runs there already, and knows nothing of the demo web; "
                "give a FILE of URLs, or stop it with `aragog down` first"
            )
        with demo.web() as extra:
            os.environ.update(extra)
            nowhere = repeat(Where("demo", 0))
            _run(seeds(), nowhere, depth or 1, refresh=True, keep=bool(keep), console=console)
        return
    lines = LineReader([file], Progress(disable=True))
    keep = console.is_terminal if keep is None else keep
    _run(lines, lines.places(), depth, refresh=refresh, keep=keep, console=console)


def _run(
    urls: Iterable[str],
    places: Iterable[Where],
    depth: int,
    *,
    refresh: bool,
    keep: bool,
    console: Console,
) -> None:
    """
    Crawl on the running system, or on one that is started for it.

    Raises:
        SystemExit: stopped by a signal while URLs waited: 128 and its number, as shells have it.
    """
    settings = load_settings()
    stopped = Stopped()
    wanted = partial(
        _crawl,
        settings,
        with_contact(urls, settings),
        places,
        depth,
        refresh=refresh,
        console=console,
    )
    if running_pid(settings.data_dir.absolute() / "run"):
        finished = wanted(lambda: not stopped)
    else:
        with running(settings, console) as supervisor:

            def tick() -> bool:
                report_deaths(supervisor, console)
                return not stopped

            finished = wanted(tick)
            if keep and not stopped:
                console.print("still running; ctrl-C stops it")
                while tick():
                    time.sleep(0.5)
    if not finished:
        raise SystemExit(128 + stopped.by)


def _crawl(
    settings: Settings,
    urls: Iterable[str],
    places: Iterable[Where],
    depth: int,
    tick: Callable[[], bool],
    *,
    refresh: bool,
    console: Console,
) -> bool:
    """Enqueue, watch, sum up; False when it was stopped before the end."""
    fates: Counter[EnqueueStatus] = Counter()
    first, cut = "", False
    with Aragog(settings) as client:
        before = client.counters()
        results = client.enqueue_all(
            urls, depth=depth, refresh=refresh, on_wait=partial(_wait_for_room, tick, console)
        )
        for number, (result, where) in enumerate(zip(results, places, strict=False), 1):
            fates[result.status] += 1
            first = first or result.url or ""
            if result.reason and fates[result.status] <= MOST_INVALID_SHOWN:
                console.print(told(result, where), markup=False, highlight=False, soft_wrap=True)
            if number % CHUNK == 0 and not tick():
                cut = True
                console.print(f"stopped after {number} URLs of the list; the rest is not enqueued")
                break
        console.print(
            ", ".join(f"{fates[status]} {status.value}" for status in EnqueueStatus),
            highlight=False,
        )
        snapshot = watch(client, before, console, tick)
    console.print(snapshot.line(), highlight=False, soft_wrap=True)
    if snapshot.in_flight:
        console.print(
            f"{snapshot.in_flight} URLs still wait; they stay, `{_program()} up` goes on with them"
        )
    console.print(addresses(settings), markup=False, highlight=False)
    shown = f"look:    {_program()} show '{first or 'URL'}'"
    console.print(shown, highlight=False, markup=False, soft_wrap=True)
    return not (cut or snapshot.in_flight)


def _wait_for_room(tick: Callable[[], bool], console: Console, refusal: SlowDown) -> None:
    """Before each wait. Raises the refusal once the run is stopped."""
    if not tick():
        raise refusal
    console.print(f"waiting: {refusal}", markup=False, highlight=False, soft_wrap=True)


def _program() -> str:
    """What to type for this program: its name where the shell finds it, else its path from here."""
    if shutil.which("aragog"):
        return "aragog"
    script = Path(sys.argv[0])
    return os.path.relpath(script) if script.name == "aragog" else "python -m aragog.cli"
