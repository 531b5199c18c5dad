"""
PostgreSQL killed, disconnected, full or locked: nothing acknowledged is lost, and no call hangs.
"""

import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from aragog.bootstrap.stores import postgres_tables
from aragog.errors import StoreUnavailable
from aragog.standalone import unprivileged
from aragog.standalone.postgres_server import PostgresServer
from tests.support.missing_parts import PGBOUNCER, ROOT, skip_without
from tests.support.postgres_server import OPTIONS, PGBOUNCER_PROGRAM, store_settings
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

BATCH = 20


class Writer(threading.Thread):
    """Puts numbered batches of nodes and cells, and increments counters, until stopped."""

    def __init__(self, tables):
        super().__init__()
        self._tables = tables
        self._ended = threading.Event()
        self.acknowledged = []
        self.failed = 0

    def run(self):
        number = 0
        while not self._ended.is_set():
            number += 1
            rows = [b"%06d-%d" % (number, each) for each in range(BATCH)]
            try:
                self._tables.write(
                    [("n", row, {b"m:a": row}, number) for row in rows]
                    + [("e", row, {b"p:a": row}, number) for row in rows]
                )
                self.acknowledged += rows
            except StoreUnavailable:
                self.failed += 1
                self._ended.wait(0.02)

    def end(self):
        self._ended.set()
        self.join()

    def wait_for_more(self):
        goal = len(self.acknowledged) + 5 * BATCH
        wait_until(lambda: len(self.acknowledged) >= goal or not self.is_alive())


@pytest.fixture
def writer(request):
    """Starts writers and ends them after the test."""
    writers = []

    def start(tables):
        writers.append(Writer(tables))
        writers[-1].start()
        return writers[-1]

    yield start
    for each in writers:
        each.end()


def opened(dsn, **changes):
    tables = postgres_tables(store_settings(dsn, **changes))
    tables.create()
    return tables


def lost(tables, writer):
    """Acknowledged batches that are missing, and batches stored in part."""
    nodes = dict(tables["n"].scan(b"", None))
    cells = dict(tables["e"].scan(b"", None))
    sizes = Counter(row.partition(b"-")[0] for row in nodes)
    partial = {number for number, size in sizes.items() if size != BATCH}
    return [row for row in writer.acknowledged if row not in nodes or row not in cells], partial


def test_killed_server_loses_no_batch_and_stores_none_in_part(own_postgres, writer):
    tables = opened(own_postgres.dsn)
    writing = writer(tables)
    writing.wait_for_more()

    own_postgres.kill()
    own_postgres.start()
    writing.wait_for_more()
    writing.end()

    assert lost(tables, writing) == ([], set())
    tables.close()


def test_terminated_connections_are_replaced_without_an_error(postgres_dsn, writer):
    tables = opened(postgres_dsn)
    writing = writer(tables)
    writing.wait_for_more()

    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        for _ in range(5):
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            writing.wait_for_more()
    writing.end()

    assert writing.failed == 0
    assert lost(tables, writing) == ([], set())
    tables.close()


def test_check_with_a_lost_response_is_not_repeated(postgres_dsn):
    tables = opened(postgres_dsn, postgres_timeout_ms=2000)
    tables["u"].check_and_put(b"row", b"i:id", None, b"0")
    with psycopg.connect(postgres_dsn) as other:
        other.execute("LOCK TABLE aragog.u")

        # Server and client have the same time limit: either may end first.
        with pytest.raises(StoreUnavailable, match=r"took longer|no response within"):
            tables["u"].check_and_put(b"row", b"i:id", b"0", b"1")
        with psycopg.connect(postgres_dsn, autocommit=True) as admin:
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            wait_until(lambda: admin.execute(waiting).fetchone() == (0,))

    assert tables["u"].get(b"row")[b"i:id"].value == b"0"
    assert tables["u"].check_and_put(b"row", b"i:id", b"0", b"1")
    tables.close()


def is_empty(tables):
    """False also while the server still counts a closed connection."""
    try:
        return tables["u"].get(b"row") == {}
    except StoreUnavailable:
        return False


def test_exhausted_server_connections_are_reported(postgres_server, postgres_dsn):
    tables = opened(postgres_dsn)
    with psycopg.connect(postgres_server.dsn, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE few LOGIN CONNECTION LIMIT 1 IN ROLE {admin.info.user}")
    few = postgres_tables(store_settings(postgres_dsn.replace("//aragog@", "//few@")))
    with (
        psycopg.connect(postgres_dsn.replace("//aragog@", "//few@")),
        pytest.raises(StoreUnavailable, match="no free connection"),
    ):
        few["u"].get(b"row")
    assert wait_until(lambda: is_empty(few))
    few.close()
    tables.close()
    with psycopg.connect(postgres_server.dsn, autocommit=True) as admin:
        admin.execute("DROP ROLE few")


def test_two_hundred_idle_connections_do_not_stop_the_store(own_postgres):
    tables = opened(own_postgres.dsn)
    idle = [psycopg.connect(own_postgres.dsn) for _ in range(200)]

    tables["n"].put(b"row", {b"m:a": b"1"}, at_ms=1)

    assert tables["n"].get(b"row")[b"m:a"].value == b"1"
    for connection in idle:
        connection.close()
    tables.close()


def test_full_disk_refuses_writes_and_keeps_acknowledged_ones(tmp_path):
    folder = Path(tempfile.mkdtemp(prefix="ar"))
    mounted = ["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", str(folder)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        skip_without(ROOT, "to mount a tmpfs")
    try:
        options = {**OPTIONS, "max_wal_size": "32MB", "min_wal_size": "32MB", "wal_init_zero": "on"}
        with PostgresServer(folder, options=options) as server:
            tables = opened(server.dsn)
            tables["n"].put(b"first", {b"m:a": b"1"}, at_ms=1)
            ballast = folder / "ballast"
            with ballast.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(65536))
                except OSError:
                    pass
            failed = []

            def refused():
                number = len(failed) + 1
                try:
                    tables["e"].put_many(
                        [(b"%d-%d" % (number, k), {b"p:a": bytes(2000)}, 1) for k in range(500)]
                    )
                except StoreUnavailable as error:
                    return str(error)
                failed.append(number)
                return None

            reason = wait_until(refused)
            ballast.unlink()
            wait_until(lambda: _works(tables))

            assert "full" in reason or "does not" in reason or "PostgreSQL" in reason
            assert tables["n"].get(b"first")[b"m:a"].value == b"1"
            tables.close()
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def _works(tables):
    try:
        tables["n"].put(b"again", {b"m:a": b"2"}, at_ms=2)
    except StoreUnavailable:
        return False
    return True


def test_nothing_is_lost_behind_pgbouncer_in_transaction_mode(
    postgres_server, postgres_dsn, writer
):
    if not PGBOUNCER_PROGRAM:
        skip_without(PGBOUNCER)
    opened(postgres_dsn).close()
    name = conninfo_to_dict(postgres_dsn)["dbname"]
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        port = free_port()
        config = Path(folder) / "pgbouncer.ini"
        (Path(folder) / "users").write_text('"aragog" ""\n')
        config.write_text(
            f"[databases]\n{name} = host={postgres_server.socket_folder} user=aragog\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder}/users\n"
            "pool_mode = transaction\ndefault_pool_size = 2\n"
        )
        launcher = [sys.executable, "-I", "-S", unprivileged.__file__, folder]
        pooler = subprocess.Popen(
            [*launcher, PGBOUNCER_PROGRAM, "-q", str(config)], stderr=subprocess.DEVNULL
        )
        tables = postgres_tables(
            store_settings(f"postgresql://aragog@127.0.0.1:{port}/{name}", postgres_pooler=True)
        )
        try:
            wait_until(lambda: _works(tables))
            writers = [writer(tables) for _ in range(3)]
            for each in writers:
                each.wait_for_more()
            for each in writers:
                each.end()
            counts = [tables["n"].incr(b"count", b"c:x", 1) for _ in range(5)]
            present = tables["e"].get_many(writers[0].acknowledged)
        finally:
            tables.close()
            pooler.kill()
            pooler.wait()

    assert [each.failed for each in writers] == [0, 0, 0]
    assert set(present) == set(writers[0].acknowledged)
    assert counts == [1, 2, 3, 4, 5]
