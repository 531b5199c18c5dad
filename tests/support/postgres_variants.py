"""PostgreSQL as in production: behind a pooler, with a replica, on a full disk."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from aragog.standalone import unprivileged
from aragog.standalone.postgres_server import TEMPORARY_DATA, PostgresServer
from tests.support.missing_parts import PGBOUNCER, ROOT, skip_without
from tests.support.postgres_server import OPTIONS, PGBOUNCER_PROGRAM, start_postgres
from tests.support.small_disk import SmallDisk
from tests.support.standalone import free_port
from tests.support.waiting import wait_until


class Pooler:
    """A pgbouncer in transaction mode, with two connections to one database of a server."""

    def __init__(self, folder: Path, server: PostgresServer, dsn: str) -> None:
        if not PGBOUNCER_PROGRAM:
            skip_without(PGBOUNCER)
        name, port = conninfo_to_dict(dsn)["dbname"], free_port()
        self.dsn = f"postgresql://aragog@127.0.0.1:{port}/{name}"
        self._folder = folder
        (folder / "users").write_text('"aragog" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n{name} = host={server.socket_folder} user=aragog\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder}/users\n"
            "pool_mode = transaction\ndefault_pool_size = 2\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        launcher = [sys.executable, "-I", "-S", unprivileged.__file__, str(self._folder)]
        config = str(self._folder / "pgbouncer.ini")
        self._process = subprocess.Popen(
            [*launcher, str(PGBOUNCER_PROGRAM), "-q", config], stderr=subprocess.DEVNULL
        )
        wait_until(lambda: can_connect(self.dsn))

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def can_connect(dsn: str) -> bool:
    """Return True if a server accepts connections."""
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@contextlib.contextmanager
def pooler_before(server: PostgresServer, dsn: str) -> Iterator[Pooler]:
    """Run a pooler in front of a database."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        pooler = Pooler(Path(folder), server, dsn)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()


@contextlib.contextmanager
def primary_and_replica() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """Run two servers: the second reads the first one's log, and the first does not wait for it."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as one,
        tempfile.TemporaryDirectory(prefix="ar") as two,
    ):
        primary = start_postgres(Path(one), max_wal_senders="4", wal_level="replica")
        replica = PostgresServer(Path(two), options=TEMPORARY_DATA)
        subprocess.run(
            primary._unprivileged_command(
                "pg_basebackup", "-h", str(primary.socket_folder), "-U", "aragog",
                "-D", str(replica.data), "-R", "-c", "fast",
            ),
            check=True, capture_output=True,
        )  # fmt: skip
        replica.start()
        try:
            yield primary, replica
        finally:
            replica.stop()
            primary.stop()


@contextlib.contextmanager
def server_on_a_small_disk() -> Iterator[tuple[PostgresServer, SmallDisk]]:
    """Run a server on its own disk, which a test fills and frees."""
    folder = Path(tempfile.mkdtemp(prefix="ar"))
    mounted = ["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", str(folder)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        skip_without(ROOT, "to mount a tmpfs")
    try:
        options = {**OPTIONS, "max_wal_size": "32MB", "min_wal_size": "32MB"}
        with PostgresServer(folder, options=options) as server:
            yield server, SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
