"""Run processes on the hosts of a network, each with its own log."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deploy.hosts.network import Network

ROOT = Path(__file__).resolve().parents[2]
MAX_RUN_S = 600
MAX_STOP_S = 60.0


@dataclass(frozen=True, slots=True)
class _Started:
    """A process, its command and its environment."""

    host: str
    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes]


class Processes:
    """
    Processes on the hosts. All of them end with the block.

    Args:
        network: the network of the hosts.
        logs: the folder for the logs and for a folder per host.
        environ: variables for every process.
        environ_by_host: variables for the processes of single hosts, by host.
    """

    def __init__(
        self,
        network: Network,
        logs: Path,
        environ: Mapping[str, str],
        environ_by_host: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._network = network
        self._logs = logs
        self._environ = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
        self._environ_by_host = environ_by_host or {}
        self._running: dict[str, _Started] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        # The first processes serve the later ones, so these end before them.
        for name in reversed(list(self._running)):
            self.stop(name)

    def start(self, host: str, name: str, *argv: str, **environ: str) -> None:
        """Start a program on a host, in the host's folder. Restarts append to its log."""
        with self.log(host, name).open("ab") as log:
            process = subprocess.Popen(
                self._network.command(host, argv), cwd=self.folder(host),
                env={**self._environment(host), **environ}, stdout=log, stderr=log,
            )  # fmt: skip
        self._running[f"{host}-{name}"] = _Started(host, name, argv, environ, process)

    def stop(
        self,
        *names: str,
        signal_number: signal.Signals = signal.SIGTERM,
        within_s: float = MAX_STOP_S,
    ) -> list[str]:
        """
        Send a signal to all and wait until they end, because a worker finishes its batch.

        Returns the names of those that did not end in time and were killed.
        """
        processes = {name: self._running.pop(name).process for name in names}
        for process in processes.values():
            process.send_signal(signal_number)
        deadline_s = time.monotonic() + within_s
        killed = []
        for name, process in processes.items():
            try:
                process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed.append(name)
        return killed

    def restart(
        self,
        *names: str,
        signal_number: signal.Signals = signal.SIGTERM,
        within_s: float = MAX_STOP_S,
    ) -> list[str]:
        """Stop processes, and start them again. Returns what `stop` returns."""
        stopped = [self._running[name] for name in names]
        killed = self.stop(*names, signal_number=signal_number, within_s=within_s)
        for started in stopped:
            self.start(started.host, started.name, *started.argv, **started.environ)
        return killed

    def names(self, host: str) -> list[str]:
        """Return the names of the processes on a host, in the order of their last start."""
        return [name for name, started in self._running.items() if started.host == host]

    def unexpected_exits(self) -> list[str]:
        """Return the processes that ended without being stopped, with their exit codes."""
        return [
            f"{name} ended with {started.process.returncode}"
            for name, started in self._running.items()
            if started.process.poll() is not None
        ]

    def run(self, host: str, *argv: str) -> str:
        """Run a program on a host and return its standard output. Exits if it fails."""
        process = self.try_run(host, *argv)
        if process.returncode:
            message = f"host {host}: {' '.join(argv)}: exit {process.returncode}"
            raise SystemExit(f"{message}\n{process.stdout}{process.stderr}")
        return process.stdout

    def try_run(self, host: str, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a program on a host, even if it fails. Exits if it does not end."""
        try:
            return subprocess.run(
                self._network.command(host, argv),
                cwd=self.folder(host), env=self._environment(host),
                capture_output=True, text=True, check=False, timeout=MAX_RUN_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            message = f"host {host}: {' '.join(argv)}: does not end within {MAX_RUN_S} s"
            raise SystemExit(f"{message}\n{error.stdout or ''}{error.stderr or ''}") from error

    def log(self, host: str, name: str) -> Path:
        """Return the log of a process."""
        return self._logs / f"{host}-{name}.log"

    def folder(self, host: str) -> Path:
        """Return the folder of a host, its own disk."""
        folder = self._logs / f"host-{host}"
        folder.mkdir(exist_ok=True)
        return folder

    def _environment(self, host: str) -> dict[str, str]:
        host_environ = self._environ_by_host.get(host, {})
        return {**self._environ, **host_environ, "ARAGOG_DATA_DIR": str(self.folder(host))}
