"""
A private PostgreSQL for tests: one server per test process, one database per test.

The server keeps nothing after a power cut (`fsync=off`), so a transaction costs only CPU. A database
is copied from a template in 40 ms, with everything created there.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from aragog.bootstrap.stores import postgres_tables
from aragog.errors import CONFIG
from aragog.runtime.clock import ManualClock
from aragog.runtime.secret import SecretUrl
from aragog.settings import StoreSettings
from aragog.standalone.postgres_server import TEMPORARY_DATA, PostgresServer
from tests.support.missing_parts import POSTGRES, skip_without
from zengraph.tables import TABLES, Tables
from zengraph.tables.postgres import PostgresTables

OPTIONS = {
    **TEMPORARY_DATA,
    "autovacuum_naptime": "1h",
    "max_wal_senders": "0",
    "wal_level": "minimal",
}
PGBOUNCER_PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
_numbers = itertools.count(1)


def start_postgres(folder: Path, **options: str) -> PostgresServer:
    """Start a server. If PostgreSQL is missing, the test is skipped."""
    try:
        return PostgresServer(folder, options={**OPTIONS, **options}).start()
    except CONFIG as error:
        skip_without(POSTGRES, str(error))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for the whole run. Tests leave it running."""
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        server = start_postgres(Path(folder))
        yield server
        server.stop()


@pytest.fixture
def postgres_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """The DSN of an empty database for this test."""
    name = f"test_{next(_numbers)}"
    yield postgres_server.create_database(name)
    postgres_server.drop_database(name)


def store_settings(dsn: str, **changes: object) -> StoreSettings:
    """Return the settings of a store in that database."""
    return StoreSettings(
        engine="postgres",
        dsn=SecretUrl(dsn),
        **{"postgres_partitions": 2, "postgres_timeout_ms": 60_000, **changes},
    )


@pytest.fixture(scope="session")
def all_postgres_tables(postgres_server: PostgresServer) -> Iterator[tuple[PostgresTables, str]]:
    """The tables of this run, created once, and their DSN. Use `fresh_postgres` instead."""
    dsn = postgres_server.create_database("tables")
    tables = postgres_tables(store_settings(dsn), clock=ManualClock())
    tables.create()
    yield tables, dsn
    tables.close()


@pytest.fixture
def fresh_postgres(all_postgres_tables: tuple[PostgresTables, str]) -> Callable[[], Tables]:
    """Return a function that empties the tables and returns them. Closing them keeps them usable."""
    tables, dsn = all_postgres_tables

    def make() -> Tables:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("; ".join(f"DELETE FROM aragog.{name}" for name in TABLES))
        return tables

    return make


@pytest.fixture(scope="session")
def new_postgres_data() -> Iterator[Path]:
    """The data of a server that was never started. A copy takes a tenth of the time of creating it."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        server = PostgresServer(Path(folder), options=OPTIONS)
        try:
            server.prepare()
        except CONFIG as error:
            skip_without(POSTGRES, str(error))
        yield server.data


@pytest.fixture
def own_postgres(new_postgres_data: Path) -> Iterator[PostgresServer]:
    """This test's own server, which it may kill. Acknowledged data stays."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        subprocess.run(["cp", "-a", str(new_postgres_data), folder], check=True)
        server = start_postgres(Path(folder), synchronous_commit="on")
        yield server
        server.stop()
