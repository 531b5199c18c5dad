"""Processes on the hosts of a network, each with a log of its own."""

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
WITHIN_S = 600
END_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class _Started:
    """A process, and what it was started with."""

    host: str
    name: str
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes]


class Processes:
    """
    Processes on the hosts; all of them end with the block.

    Args:
        network: where the hosts are.
        logs: a folder for logs, and for a folder of each host.
        environ: added to the environment of every process.
        of_host: added to that of the processes of single hosts.
    """

    def __init__(
        self,
        network: Network,
        logs: Path,
        environ: Mapping[str, str],
        of_host: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._network = network
        self._logs = logs
        self._environ = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
        self._of_host = of_host or {}
        self._running: dict[str, _Started] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        # Those that were started first serve the others, which end before them.
        for name in reversed(list(self._running)):
            self.stop(name)

    def start(self, host: str, name: str, *argv: str, **environ: str) -> None:
        """Run a program on a host, in a folder of the host; its log grows over restarts."""
        with self.log(host, name).open("ab") as log:
            process = subprocess.Popen(
                self._network.command(host, argv), cwd=self.folder(host),
                env={**self._of(host), **environ}, stdout=log, stderr=log,
            )  # fmt: skip
        self._running[f"{host}-{name}"] = _Started(host, name, argv, environ, process)

    def stop(
        self, *names: str, number: signal.Signals = signal.SIGTERM, within_s: float = END_WITHIN_S
    ) -> list[str]:
        """
        Send all a signal and wait until they end; a worker finishes its batch.

        Returns those that had not ended after that time and were killed.
        """
        processes = {name: self._running.pop(name).process for name in names}
        for process in processes.values():
            process.send_signal(number)
        until_s = time.monotonic() + within_s
        killed = []
        for name, process in processes.items():
            try:
                process.wait(max(0.0, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed.append(name)
        return killed

    def restart(
        self, *names: str, number: signal.Signals = signal.SIGTERM, within_s: float = END_WITHIN_S
    ) -> list[str]:
        """Stop processes, and start them as they were; returns what `stop` does."""
        before = [self._running[name] for name in names]
        killed = self.stop(*names, number=number, within_s=within_s)
        for one in before:
            self.start(one.host, one.name, *one.argv, **one.environ)
        return killed

    def names(self, host: str) -> list[str]:
        """The names of the processes on a host, in the order of their last start."""
        return [name for name, one in self._running.items() if one.host == host]

    def ended(self) -> list[str]:
        """The processes that ended without being asked, with their exit codes."""
        return [
            f"{name} ended with {one.process.returncode}"
            for name, one in self._running.items()
            if one.process.poll() is not None
        ]

    def run(self, host: str, *argv: str) -> str:
        """Run a program on a host to its end, and return its standard output; exits if it fails."""
        done = self.tried(host, *argv)
        if done.returncode:
            failed = f"host {host}: {' '.join(argv)}: exit {done.returncode}"
            raise SystemExit(f"{failed}\n{done.stdout}{done.stderr}")
        return done.stdout

    def tried(self, host: str, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a program on a host to its end, whatever comes of it; exits if it does not end."""
        try:
            return subprocess.run(
                self._network.command(host, argv), cwd=self.folder(host), env=self._of(host),
                capture_output=True, text=True, check=False, timeout=WITHIN_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            hangs = f"host {host}: {' '.join(argv)}: does not end within {WITHIN_S} s"
            raise SystemExit(f"{hangs}\n{error.stdout or ''}{error.stderr or ''}") from error

    def log(self, host: str, name: str) -> Path:
        """The log of a process."""
        return self._logs / f"{host}-{name}.log"

    def folder(self, host: str) -> Path:
        """The host's own disk."""
        folder = self._logs / f"host-{host}"
        folder.mkdir(exist_ok=True)
        return folder

    def _of(self, host: str) -> dict[str, str]:
        own = self._of_host.get(host, {})
        return {**self._environ, **own, "ARAGOG_DATA_DIR": str(self.folder(host))}
