"""Two hosts on this machine: network namespaces with a cable between them and their own names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from deploy.processes import end

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = {"a": "10.203.0.1", "b": "10.203.0.2"}
NETWORK = "10.203.0.0/24"
WITHIN_S = 600


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def hosts() -> Iterator[None]:
    """Namespaces aragog-a and aragog-b; needs root."""
    made = []
    try:
        for host in ADDRESS:
            _ip("netns", "add", f"aragog-{host}")
            made.append(host)
        _ip("link", "add", "aragog-a0", "type", "veth", "peer", "name", "aragog-b0")
        for host, address in ADDRESS.items():
            name = f"aragog-{host}"
            _ip("link", "set", f"{name}0", "netns", name)
            _ip("-n", name, "address", "add", f"{address}/24", "dev", f"{name}0")
            _ip("-n", name, "link", "set", f"{name}0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for host in made:
            _ip("netns", "delete", f"aragog-{host}")


def command(host: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs another one on a host, with the host's own name."""
    start = f'hostname host-{host} && exec "$@"'
    return [
        "ip",
        "netns",
        "exec",
        f"aragog-{host}",
        "unshare",
        "--uts",
        "sh",
        "-c",
        start,
        "-",
        *argv,
    ]


class Processes:
    """Processes on the hosts; all of them end with the block, the last one first."""

    def __init__(self, logs: Path, environ: Mapping[str, str]) -> None:
        self._logs = logs
        self._environ = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for name in [name for name, _ in reversed(self._running)]:
            self.stop(name)

    def start(self, host: str, name: str, *argv: str) -> None:
        """Run a program on a host, in a folder of the host."""
        folder = self.folder(host)
        with (self._logs / f"{host}-{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command(host, argv), cwd=folder, env=self._of(host), stdout=log, stderr=log
            )
        self._running.append((f"{host}-{name}", process))

    def stop(self, name: str) -> None:
        """SIGTERM; a worker finishes its batch."""
        ((_, process),) = [one for one in self._running if one[0] == name]
        self._running = [one for one in self._running if one[0] != name]
        end(process, within_s=60)

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
                command(host, argv), cwd=self.folder(host), env=self._of(host),
                capture_output=True, text=True, check=False, timeout=WITHIN_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            hangs = f"host {host}: {' '.join(argv)}: does not end within {WITHIN_S} s"
            raise SystemExit(f"{hangs}\n{error.stdout or ''}{error.stderr or ''}") from error

    def folder(self, host: str) -> Path:
        """The host's own disk."""
        folder = self._logs / f"host-{host}"
        folder.mkdir(exist_ok=True)
        return folder

    def _of(self, host: str) -> dict[str, str]:
        return {**self._environ, "ARAGOG_DATA_DIR": str(self.folder(host))}
