"""Empty cell tables of every engine, for tests that must hold on all of them.

PostgreSQL is started if the system or a wheel provides it. HBase must already be running: the
variable ZENGRAPH_TEST_HBASE lists its Thrift gateways, `host:port`, separated by commas.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from support.absent import absent
from support.key_spaces import KeySpaces
from support.postgres_server import PostgresServer

from zengraph.clock import ManualClock
from zengraph.tables import TABLES, Tables
from zengraph.tables.hbase import HBaseTables
from zengraph.tables.memory import MemoryTables
from zengraph.tables.postgres import PostgresTables
from zengraph.tables.sqlite import SqliteTables

_numbers = itertools.count(1)

ENGINES = [
    "memory",
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("hbase", marks=pytest.mark.hbase),
]


@pytest.fixture(scope="session")
def hbase_gateways() -> tuple[str, ...]:
    """The gateways of the HBase provided for these tests."""
    named = os.environ.get("ZENGRAPH_TEST_HBASE", "")
    if not named:
        absent("ZENGRAPH_TEST_HBASE names no Thrift gateway of an HBase")
    return tuple(named.split(","))


@pytest.fixture(scope="session")
def all_hbase_tables(hbase_gateways: tuple[str, ...]) -> Iterator[HBaseTables]:
    """The tables of this process, created once and shared by all tests; use `fresh_hbase` instead."""
    tables = HBaseTables(hbase_gateways, prefix=f"run{os.getpid()}_", timeout_s=20)
    tables.create()
    yield tables
    tables.close()


@pytest.fixture
def fresh_hbase(all_hbase_tables: HBaseTables) -> Callable[[], Tables]:
    """Returns empty tables at almost no cost."""
    return lambda: KeySpaces(all_hbase_tables, next(_numbers).to_bytes(4))


@pytest.fixture(scope="session")
def all_postgres_tables(postgres_server: PostgresServer) -> Iterator[tuple[PostgresTables, str]]:
    """The tables of this run, created once, and their DSN; use `fresh_postgres` instead."""
    dsn = postgres_server.create_database("tables")
    tables = PostgresTables(dsn, partitions=2, timeout_s=60, clock=ManualClock())
    tables.create()
    yield tables, dsn
    tables.close()


@pytest.fixture
def fresh_postgres(all_postgres_tables: tuple[PostgresTables, str]) -> Callable[[], Tables]:
    """Empties the tables and returns them."""
    tables, dsn = all_postgres_tables

    def make() -> Tables:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("; ".join(f"DELETE FROM zengraph.{name}" for name in TABLES))
        return tables

    return make


@pytest.fixture(params=ENGINES)
def quick_tables(request: pytest.FixtureRequest) -> Iterator[Callable[[], Tables]]:
    """Returns empty tables, for tests that need hundreds of them; one file on SQLite."""
    if request.param in {"postgres", "hbase"}:
        yield request.getfixturevalue(f"fresh_{request.param}")
        return
    folder: Path = request.getfixturevalue("tmp_path")
    opened: list[Tables] = []

    def make() -> Tables:
        if (
            request.param == "memory"
        ):  # as strict as HBase: a delete hides later puts with an older timestamp
            return MemoryTables(ManualClock(), masking=True)
        for old in opened:
            old.close()
        opened.clear()
        shutil.rmtree(folder / "quick", ignore_errors=True)
        opened.append(SqliteTables(folder / "quick", shards=1, clock=ManualClock()))
        return opened[0]

    yield make
    for tables in opened:
        tables.close()


@pytest.fixture(params=ENGINES)
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    """Empty tables, once per engine; several files on SQLite."""
    if request.param in {"postgres", "hbase"}:
        yield request.getfixturevalue(f"fresh_{request.param}")()
        return
    engine: Tables = MemoryTables(ManualClock(), masking=True)
    if request.param == "sqlite":
        folder = request.getfixturevalue("tmp_path") / "tables"
        engine = SqliteTables(folder, shards=4, clock=ManualClock())
    yield engine
    engine.close()
