"""The commands `aragog up` and `aragog down`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import click
from rich.console import Console

from aragog.cli.terminal import SafeConsole, echo, note, warn
from aragog.crawl.fetcher.user_agent import has_contact
from aragog.dashboard.buttons_key import create_key, link, read_key
from aragog.errors import ConfigError
from aragog.runtime.extras import has, install_command
from aragog.runtime.secret import without_password
from aragog.settings import Settings, load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone import demo, system
from aragog.standalone.running_system import is_ready, stop_running
from aragog.standalone.supervisor import Supervisor

STARTUP_TIMEOUT_S = 60.0
FLOWER_MISSING = f"not installed: {install_command('flower')}"


class Stopped:
    """True after SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self.signal_number = 0
        """The received signal's number; 0 if none."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.signal_number = number

    def __bool__(self) -> bool:
        return bool(self.signal_number)


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Run in the background.")
def up(*, detach: bool) -> None:
    """
    Start the standalone system; it continues where it left off.

    Ctrl-C or `aragog down` stops it.
    """
    settings = load_settings()
    if detach:
        _detach(settings)
        return
    console = SafeConsole(summary=True)
    stopped = Stopped()
    with with_demo_sites(settings, console) as settings, running(settings, console) as supervisor:
        _wait_until_listening(supervisor, settings, console, stopped)
        supervisor.ready()
        console.print(addresses(settings), markup=False, highlight=False, soft_wrap=True)
        _warn_without_contact(settings)
        console.print("running; press Ctrl-C or run `aragog down` to stop")
        while not stopped:
            report_restarts(supervisor, console)
            time.sleep(0.5)
        console.print("stopping: running tasks are completed, queued URLs are kept")


def _warn_without_contact(settings: Settings) -> None:
    fetch = settings.fetch
    if fetch.user_agent and not has_contact(fetch) and not demo.is_demo(settings):
        reason = "has no contact, so only loopback addresses are fetched"
        echo(f"aragog: fetch.user_agent: {fetch.user_agent!r} {reason}", err=True)


def _wait_until_listening(
    supervisor: Supervisor, settings: Settings, console: Console, stopped: Stopped
) -> None:
    """Wait until the printed addresses respond, for at most a minute."""
    until_s = time.monotonic() + STARTUP_TIMEOUT_S
    while not_listening := system.not_listening(settings):
        report_restarts(supervisor, console)
        if stopped or time.monotonic() > until_s:
            break
        time.sleep(0.1)
    for problem in not_listening:
        warn(console, problem)


def _detach(settings: Settings) -> None:
    """Start `aragog up` as a daemon, and wait until it has started everything."""
    data_dir = settings.data_dir.absolute()
    run_dir, log = data_dir / "run", data_dir / "logs" / "up.log"
    if pid := running_pid(run_dir):
        raise ConfigError(
            f"data_dir: aragog is already running in {data_dir} (process {pid}); stop it with "
            "`aragog down`"
        )
    system.check_disk_space(data_dir)
    system.check(settings)
    out = open_log(log, data_dir)
    start = out.tell()
    argv = [sys.executable, "-P", "-m", "aragog.cli", "up"]
    daemon = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
    )
    while daemon.poll() is None:
        if is_ready(run_dir):
            note(f"running in the background, process {daemon.pid}; log: {log}")
            note(addresses(settings))
            _warn_without_contact(settings)
            if not_listening := system.not_listening(settings):
                raise ConfigError(
                    *(f"{address}; see the logs next to {log}" for address in not_listening)
                )
            return
        time.sleep(0.05)
    lines = log.read_bytes()[start:].decode(errors="replace").splitlines()
    no_output = f"aragog ended with status {daemon.returncode} and wrote nothing to {log}"
    raise ConfigError(*[line.removeprefix("aragog: ") for line in lines[-5:]] or [no_output])


def open_log(log: Path, data_dir: Path) -> IO[bytes]:
    """
    Open a log for appending, readable only by its owner.

    Raises:
        ConfigError: the folder is not writable.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.parent.mkdir(mode=0o700, exist_ok=True)
        log.touch(mode=0o600)
        return log.open("ab")
    except OSError as error:
        raise ConfigError(
            f"data_dir: cannot write to {data_dir} ({error.strerror}); "
            "set ARAGOG_DATA_DIR to a writable folder"
        ) from error


@click.command()
def down() -> None:
    """Stop the standalone system of this data folder; queued URLs wait for the next `up`."""
    settings = load_settings()
    if not stop_running(settings.data_dir.absolute() / "run"):
        raise ConfigError(f"data_dir: no system is running in {settings.data_dir.absolute()}")
    note("stopped")


@contextmanager
def with_demo_sites(settings: Settings, console: Console) -> Iterator[Settings]:
    """
    Serve the demo sites if this data folder contains their URLs, and yield the settings.

    Child processes inherit the changed settings through the environment.
    """
    data_dir = settings.data_dir.absolute()
    if running_pid(data_dir / "run") or not demo.is_marked(data_dir):
        yield settings
        return
    with (
        open_log(data_dir / "logs" / "demo.log", data_dir) as log,
        demo.web_for(settings.fetch.host_map, log) as variables,
    ):
        text = (
            "also serving the demo sites, because this data folder contains their URLs; "
            f"{data_dir / demo.MARK_FILE} explains why"
        )
        console.print(text, highlight=False, markup=False, soft_wrap=True)
        os.environ.update(variables)
        yield load_settings()


@contextmanager
def running(
    settings: Settings, console: Console, *, frontends: Sequence[str] = system.FRONTENDS
) -> Iterator[Supervisor]:
    """Run all processes, with these `frontends` (`system.start`), until the block ends."""
    environ = system.environment(settings)
    create_key(settings.data_dir.absolute() / "run", os.environ)
    supervisor = Supervisor(settings.data_dir.absolute(), environ, system.PRELOAD, settings.logs)
    supervisor.acquire()
    try:
        with console.status("starting") if console.is_terminal else _no_status():
            system.start(supervisor, settings, frontends=frontends)
        yield supervisor
    finally:
        supervisor.stop()


@contextmanager
def _no_status() -> Iterator[None]:
    yield


def report_restarts(supervisor: Supervisor, console: Console) -> None:
    """Restart dead processes, and report each restart."""
    for child in supervisor.check():
        with suppress(OSError):  # standard output may be a log file on a full disk
            warn(console, f"{child.name} exited and was restarted; log: {child.log}")


def _flower_link(settings: Settings, flower: str) -> str:
    """Return a line with the link that enables Flower's buttons; "" without Flower or a key."""
    key = read_key(settings.data_dir.absolute() / "run")
    return f"buttons: {link(flower, key, os.environ)}\n" if key and has("flower") else ""


def addresses(settings: Settings) -> str:
    """Return the addresses of Flower and the API, and the broker's URL for Celery producers."""
    serving = settings.serving
    flower = f"http://{serving.flower_host}:{serving.flower_port}"
    return (
        f"flower:  {flower if has('flower') else FLOWER_MISSING}\n"
        f"{_flower_link(settings, flower)}"
        f"API:     http://{serving.host}:{serving.http_port}/v1/urls?url=…\n"
        f"broker:  {without_password(settings.resolved().broker.url)}"
    )
