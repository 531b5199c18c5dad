"""`aragog up`, `down`, `run`: control the standalone system."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import repeat
from pathlib import Path
from types import FrameType
from typing import IO

import click
from rich.console import Console
from rich.progress import Progress

from aragog.cli.arguments import NOT_NEGATIVE
from aragog.cli.producing import LineReader, Where, told, with_contact
from aragog.client import Aragog
from aragog.errors import ConfigError, SlowDown
from aragog.extras import has
from aragog.pipeline.stages.enqueue import CHUNK, EnqueueStatus
from aragog.settings import Settings, load_settings
from aragog.standalone import system
from aragog.standalone.demo import settings as demo
from aragog.standalone.demo.sites import seeds
from aragog.standalone.progress import watch
from aragog.standalone.supervisor import Supervisor, is_ready, running_pid, stop_running
from aragog.terminal import SafeConsole, echo

MOST_INVALID_SHOWN = 10
FRONT_WITHIN_S = 60.0
NO_FLOWER = "not installed: pip install 'aragog[flower]'"


class Stopped:
    """True once SIGINT or SIGTERM came."""

    def __init__(self) -> None:
        self.by = 0
        """The signal's number; 0: none came."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.by = number

    def __bool__(self) -> bool:
        return bool(self.by)


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """Start the standalone system; goes on where it stopped. Ctrl-C or `aragog down` stops it."""
    settings = load_settings()
    if detach:
        _detach(settings)
        return
    console = SafeConsole()
    stopped = Stopped()
    with _running(settings, console) as supervisor:
        _wait_until_served(supervisor, settings, console, stopped)
        supervisor.ready()
        console.print(_addresses(settings), markup=False, highlight=False)
        console.print("running; ctrl-C or `aragog down` stops it")
        while not stopped:
            _tell_deaths(supervisor, console)
            time.sleep(0.5)
        console.print("stopping: tasks at hand are finished, what waits stays")


def _wait_until_served(
    supervisor: Supervisor, settings: Settings, console: Console, stopped: Stopped
) -> None:
    """Until the addresses that are shown answer; one that does not in a minute holds up nothing."""
    until_s = time.monotonic() + FRONT_WITHIN_S
    while silent := system.silent(settings):
        _tell_deaths(supervisor, console)
        if stopped or time.monotonic() > until_s:
            break
        time.sleep(0.1)
    for problem in silent:
        console.print(problem, highlight=False, markup=False, soft_wrap=True)


def _detach(settings: Settings) -> None:
    """Start `aragog up` as a daemon and wait until it has started everything."""
    data_dir = settings.data_dir.absolute()
    run_dir, log = data_dir / "run", data_dir / "logs" / "up.log"
    if pid := running_pid(run_dir):
        raise ConfigError(
            f"data_dir: aragog runs in {data_dir} already (process {pid}); `aragog down` stops it"
        )
    system.check(settings)
    out = _opened(log, data_dir)
    at = out.tell()
    argv = [sys.executable, "-P", "-m", "aragog.cli", "up"]
    daemon = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
    )
    while daemon.poll() is None:
        if is_ready(run_dir):
            echo(f"running in the background, process {daemon.pid}; log: {log}")
            echo(_addresses(settings))
            for problem in system.silent(settings):
                echo(f"{problem}; see the logs beside {log}", err=True)
            return
        time.sleep(0.05)
    lines = log.read_bytes()[at:].decode(errors="replace").splitlines()
    raise ConfigError(*[line.removeprefix("aragog: ") for line in lines[-5:]])


def _opened(log: Path, data_dir: Path) -> IO[bytes]:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.parent.mkdir(mode=0o700, exist_ok=True)
        log.touch(mode=0o600)
        return log.open("ab")
    except OSError as error:
        raise ConfigError(
            f"data_dir: {data_dir} cannot be written ({error.strerror}); "
            "set ARAGOG_DATA_DIR to a folder that can"
        ) from error


@click.command()
def down() -> None:
    """Stop the standalone system of this data folder; what waits stays for the next `up`."""
    settings = load_settings()
    if not stop_running(settings.data_dir.absolute() / "run"):
        raise ConfigError(f"data_dir: nothing runs in {settings.data_dir.absolute()}")
    echo("stopped")


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
        with _running(settings, console) as supervisor:

            def tick() -> bool:
                _tell_deaths(supervisor, console)
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
    console.print(_addresses(settings), markup=False, highlight=False)
    shown = f"look:    {_program()} show '{first or 'URL'}'"
    console.print(shown, highlight=False, markup=False, soft_wrap=True)
    return not (cut or snapshot.in_flight)


def _wait_for_room(tick: Callable[[], bool], console: Console, refusal: SlowDown) -> None:
    """Before each wait. Raises the refusal once the run is stopped."""
    if not tick():
        raise refusal
    console.print(f"waiting: {refusal}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _running(settings: Settings, console: Console) -> Iterator[Supervisor]:
    """The system, started; stopped when the block ends."""
    supervisor = Supervisor(settings.data_dir.absolute(), system.environment(settings))
    supervisor.acquire()
    try:
        with console.status("starting") if console.is_terminal else _nothing():
            system.start(supervisor, settings)
        yield supervisor
    finally:
        supervisor.stop()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _tell_deaths(supervisor: Supervisor, console: Console) -> None:
    for child in supervisor.check():
        with suppress(OSError):  # standard output is a log file on a disk that may be full
            console.print(f"{child.name} ended and is started again; its log: {child.log}")


def _addresses(settings: Settings) -> str:
    serving = settings.serving
    flower = f"http://{serving.flower_host}:{serving.flower_port}"
    return (
        f"flower:  {flower if has('flower') else NO_FLOWER}\n"
        f"reading: http://{serving.host}:{serving.http_port}/v1/urls?url=…"
    )


def _program() -> str:
    """What to type for this program: its name where the shell finds it, else its path from here."""
    if shutil.which("aragog"):
        return "aragog"
    script = Path(sys.argv[0])
    return os.path.relpath(script) if script.name == "aragog" else "python -m aragog.cli"
