"""The private PostgreSQL: the user that runs it, its version, and the persistence of its data."""

import os
import subprocess
import tempfile
from pathlib import Path

import psycopg
import psycopg.sql
import pytest

from aragog.errors import ConfigError
from aragog.standalone.postgres_server import (
    PostgresServer,
    find_postgres,
    system_postgres,
)
from tests.support.missing_parts import ROOT, skip_without
from tests.support.ports import free_port
from tests.support.postgres_server import OPTIONS


@pytest.fixture
def folder():
    # Not tmp_path: the path of a socket must be shorter than 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        yield Path(name)


def value(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchone()[0]


def test_database_of_a_test_is_empty(postgres_dsn):
    assert value(postgres_dsn, "SELECT count(*) FROM pg_stat_user_tables") == 0


def test_data_survives_a_kill_and_restart(own_postgres):
    with psycopg.connect(own_postgres.dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    own_postgres.run(psycopg.sql.SQL("CHECKPOINT"))

    own_postgres.kill()
    own_postgres.start()

    assert value(own_postgres.dsn, "SELECT number FROM kept") == 7


def test_stop_does_not_wait_for_clients(own_postgres):
    with psycopg.connect(own_postgres.dsn) as connection:
        connection.execute("SELECT 1")

        own_postgres.stop()

        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_others_cannot_reach_its_socket(postgres_server):
    assert postgres_server.socket_folder.stat().st_mode & 0o077 == 0


def test_server_in_another_users_folder_runs_as_that_user(folder):
    if os.getuid():
        skip_without(ROOT, "to become another user")
    os.chown(folder, 65534, 65534)
    with PostgresServer(folder, options=OPTIONS) as server:
        assert Path(f"/proc/{server.process.pid}").stat().st_uid == 65534
        assert value(server.dsn, "SELECT 1") == 1


class InChroot(PostgresServer):
    """A server whose programs run below another root, where no namespace can be created."""

    root: Path

    def _unprivileged_command(self, program, *arguments):
        script = 'mount --rbind / "$0" && exec chroot "$0" "$@"'
        command = super()._unprivileged_command(program, *arguments)
        return ["unshare", "--mount", "sh", "-c", script, str(self.root), *command]


@pytest.fixture
def chroot(tmp_path):
    """A folder that can be the root of programs, on a machine that allows this."""
    root = tmp_path / "root"
    root.mkdir()
    mounted = ["unshare", "--mount", "mount", "--rbind", "/", str(root)]
    if os.getuid() or subprocess.run(mounted, capture_output=True, check=False).returncode:
        skip_without(ROOT, "to change the root of a program")
    return root


def test_server_runs_as_nobody_if_root_cannot_create_a_user_namespace(folder, chroot):
    (data_dir := folder / "var").mkdir(mode=0o700)
    server = InChroot(data_dir / "postgres", options=OPTIONS)
    server.root = chroot
    folder.chmod(0o755)
    with server:
        made = value(server.dsn, "SELECT 1"), Path(f"/proc/{server.process.pid}").stat().st_uid
    with server:  # from now on, the folder belongs to nobody
        again = value(server.dsn, "SELECT 1"), Path(f"/proc/{server.process.pid}").stat().st_uid

    assert made == again == (1, 65534)
    assert (data_dir / "postgres").stat().st_uid == 65534
    assert (data_dir.stat().st_uid, data_dir.stat().st_mode & 0o777) == (0, 0o710)


def test_folder_that_nobody_cannot_reach_is_reported(folder, chroot):
    hidden = folder / "hidden"
    hidden.mkdir(mode=0o700)
    server = InChroot(hidden / "var" / "postgres", options=OPTIONS)
    server.root = chroot

    with pytest.raises(ConfigError, match="runs as user 65534, who cannot reach") as caught:
        server.start()

    assert "choose a data_dir that all users can reach" in str(caught.value)


def test_folder_is_served_by_the_version_that_created_it(folder):
    systems = system_postgres()
    if not systems:
        pytest.skip("this system has no PostgreSQL of its own")
    with PostgresServer(folder, programs=systems[0], options=OPTIONS) as server:
        made = server.programs.version[0]

    assert PostgresServer(folder).programs.version[0] == made


def test_data_of_a_missing_version_is_refused(folder):
    (folder / "data").mkdir()
    (folder / "data" / "PG_VERSION").write_text("9\n")

    with pytest.raises(ConfigError, match="created by PostgreSQL 9, which is not installed"):
        PostgresServer(folder).start()


def test_server_that_cannot_start_reports_the_end_of_its_log(folder):
    with pytest.raises(ConfigError, match="unrecognized configuration parameter"):
        PostgresServer(folder, options={"no_such_setting": "1"}).start()


def test_server_with_its_own_port_answers_there_and_on_its_socket(folder):
    server = PostgresServer(folder, port=free_port(), options=OPTIONS).start()
    try:
        assert value(server.dsn, "SELECT 1") == value(server.tcp_dsn(), "SELECT 1") == 1
    finally:
        server.stop()


def test_newest_version_is_found():
    newest = find_postgres()

    assert newest.version[0] >= 15
    assert newest == max([newest, *system_postgres()], key=lambda one: one.version)
