"""
PostgreSQL specifics: schema, versions, permissions, poolers, and the doctor's findings about a
server.
"""

import os
import threading

import psycopg
import pytest

from aragog.bootstrap.stores import postgres_tables
from aragog.runtime.clock import SystemClock
from aragog.transfer.copy import copy_tables
from tests.support.postgres_server import store_settings
from tests.support.waiting import wait_until
from zengraph.errors import InvalidArgument, InvalidConfig, StoreUnavailable
from zengraph.tables import FORMAT, TABLES
from zengraph.tables.postgres.schema import UPGRADES, VERSION
from zengraph.tables.sqlite import SqliteTables

pytestmark = pytest.mark.postgres


@pytest.fixture
def tables(postgres_dsn):
    """Created tables in a database for this test alone."""
    engine = postgres_tables(store_settings(postgres_dsn))
    engine.create()
    yield engine
    engine.close()


def execute(dsn, *statements):
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def value(dsn, query):
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchone()[0]


def hash_of(tables):
    """A hash of all rows of all tables, in order."""
    return hash(tuple((name, row, tuple(sorted(cells.items()))) for name in TABLES
                      for row, cells in tables[name].scan(b"", None)))  # fmt: skip


def test_created_tables_are_correct_and_creating_again_changes_nothing(tables):
    name = tables.identity()

    tables.create()

    assert tables.check() == []
    assert tables.identity() == name


def test_several_processes_can_create_the_tables_at_once(postgres_dsn):
    engines = [postgres_tables(store_settings(postgres_dsn)) for _ in range(4)]
    threads = [threading.Thread(target=engine.create) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({engine.identity() for engine in engines}) == 1
    assert engines[0].check() == []
    for engine in engines:
        engine.close()


def test_error_before_table_creation_names_the_command(postgres_dsn):
    engine = postgres_tables(store_settings(postgres_dsn))

    with pytest.raises(StoreUnavailable, match="create-tables"):
        engine["u"].get(b"row")
    with pytest.raises(InvalidConfig, match="create-tables"):
        engine["n"].get(b"row")
    engine.close()


def test_schema_is_upgraded_while_others_write(tables, postgres_dsn):
    tables["e"].put(b"row", {b"p:a": b"1"}, at_ms=5)
    added = {**UPGRADES, VERSION: lambda schema: f"ALTER TABLE {schema}.e ADD COLUMN note text"}
    newer = postgres_tables(store_settings(postgres_dsn), upgrades=added)
    with pytest.raises(InvalidConfig, match="run `aragog store upgrade`"):
        newer["e"].get(b"row")

    steps = []
    assert newer.schema.upgrade(steps.append) == VERSION + 1

    tables["e"].put(b"row", {b"p:a": b"2"}, at_ms=6)  # a process of the previous version
    assert newer["e"].get(b"row")[b"p:a"].value == b"2"
    assert steps == [f"from version {VERSION} to {VERSION + 1}"]
    newer.close()


def test_first_schema_version_stays_usable_with_its_data_format(tables, postgres_dsn):
    assert tables.format() == FORMAT
    execute(
        postgres_dsn,
        "UPDATE aragog.meta SET value = '1' WHERE name = 'version'; "
        "DELETE FROM aragog.meta WHERE name = 'format'",
    )
    old, steps = postgres_tables(store_settings(postgres_dsn)), []

    old["e"].put(b"row", {b"p:a": b"1"}, at_ms=5)
    assert old.format() == 1
    assert old.schema.upgrade(steps.append) == VERSION
    assert steps == ["from version 1 to 2"]
    assert old.format() == 1
    old.close()


def test_schema_keeps_the_data_format_in_which_it_was_created(tables, postgres_dsn):
    assert tables.format() == FORMAT
    execute(postgres_dsn, "UPDATE aragog.meta SET value = '2' WHERE name = 'format'")
    old = postgres_tables(store_settings(postgres_dsn))
    old.create()

    assert old.format() == 2
    old.close()


def test_downgrade_is_refused_in_one_line(tables, postgres_dsn):
    execute(postgres_dsn, "UPDATE aragog.meta SET value = '7' WHERE name = 'version'")
    older = postgres_tables(store_settings(postgres_dsn))

    for call in (older.create, older.schema.upgrade, lambda: older["u"].get(b"row")):
        with pytest.raises(InvalidConfig, match=r"version 7.*you cannot downgrade it") as caught:
            call()
        assert "\n" not in str(caught.value)
    older.close()


def test_pooler_gets_no_prepared_statements_or_session_settings(tables, postgres_dsn):
    pooled = postgres_tables(store_settings(postgres_dsn, postgres_pooler=True))

    pooled["n"].put(b"row", {b"m:a": b"1"}, at_ms=5)
    pooled.write([("n", b"row", {b"m:b": b"2"}, 5), ("e", b"edge", {b"p:a": b"3"}, 5)])
    prepared = pooled._pool.use(lambda c: c.read("SELECT count(*) FROM pg_prepared_statements"))
    plans = pooled._pool.use(lambda c: c.read("SHOW plan_cache_mode"))

    assert tables["n"].get(b"row").keys() == {b"m:a", b"m:b"}
    assert prepared == [(bytes(8),)]
    assert plans == [(b"auto",)]
    pooled.close()


def test_writer_of_too_many_parts_of_a_node_merges_them(tables, postgres_dsn):
    for number in range(20):
        tables["n"].put(b"row", {b"m:%d" % number: b"v", b"m:last": b"%d" % number}, at_ms=number)

    assert len(tables["n"].get(b"row")) == 21
    assert tables["n"].get(b"row")[b"m:last"].value == b"19"
    assert tables["n"].values_many([b"row"], (b"m:3", b"m:last")) == {b"row": (b"v", b"19")}
    assert value(postgres_dsn, "SELECT max(parts) FROM aragog.n") < 4


def test_write_to_several_tables_is_one_transaction(tables):
    with pytest.raises(InvalidArgument):
        tables.write(
            [
                ("n", b"row", {b"m:a": b"1"}, 5),
                ("e", b"k" * 9000 + os.urandom(9000), {b"p:a": b"2"}, 5),
            ]
        )

    assert tables["n"].get(b"row") == {}


def test_counters_and_checks_of_many_threads_lose_nothing(tables):
    won = []

    def work(number):
        for step in range(20):
            for name, column in (("n", b"c:count"), ("e", b"p:count")):
                tables[name].incr(b"row", column, 1)
            tables["n"].put(b"row", {b"m:%d" % number: b"%d" % step}, at_ms=step)
            if tables["n"].check_and_put(b"row", b"s:owner%d" % step, None, b"%d" % number):
                won.append(step)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    row = tables["n"].get(b"row")
    assert int.from_bytes(row[b"c:count"].value) == 80
    assert int.from_bytes(tables["e"].get(b"row")[b"p:count"].value) == 80
    assert sorted(won) == list(range(20))
    assert [row[b"m:%d" % number].value for number in range(4)] == [b"19"] * 4


def test_batches_with_the_same_rows_do_not_deadlock(tables):
    keys = [bytes([number]) * 4 for number in range(0, 256, 8)]

    def work(order):
        for step in range(10):
            tables["e"].put_many([(key, {b"p:a": b"%d" % step}, step) for key in order])
            tables["n"].put_many([(key, {b"m:a": b"%d" % step}, step) for key in order])
            tables["n"].delete_many([(key, [b"m:none"], step) for key in reversed(order)])

    threads = [threading.Thread(target=work, args=(order,)) for order in (keys, keys[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {cells[b"m:a"].value for _, cells in tables["n"].scan(b"", None)} == {b"9"}


def test_store_is_copied_from_sqlite_and_back(tables, tmp_path):
    source = SqliteTables(tmp_path / "source", shards=2, clock=SystemClock())
    source.create()
    for number in range(300):
        key = os.urandom(16)
        source["n"].put(key, {b"m:a": os.urandom(50), b"s:b": b""}, at_ms=1000 + number)
        source["n"].put(key, {b"m:a": os.urandom(50)}, at_ms=900)
        for name, families in TABLES.items():
            column = families[0].encode() + b":x"
            source[name].put(os.urandom(3) + key, {column: os.urandom(number)}, at_ms=number)
    back = SqliteTables(tmp_path / "back", shards=4)
    back.create()

    copy_tables(source, tables)
    copy_tables(tables, back)

    assert hash_of(source) == hash_of(tables) == hash_of(back)
    copy_tables(back, tables)
    assert hash_of(source) == hash_of(tables)
    source.close()
    back.close()


def test_doctor_reports_a_missing_table_and_a_wrong_encoding(tables, postgres_server, postgres_dsn):
    execute(postgres_dsn, "DROP TABLE aragog.f")
    assert tables.check() == ["the table f is missing: run `aragog store create-tables`"]

    execute(postgres_server.dsn, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    latin = postgres_tables(store_settings(postgres_server.dsn_of("latin")))
    latin.create()
    (problem,) = latin.check()
    latin.close()
    postgres_server.drop_database("latin")
    assert "has the encoding LATIN1, not UTF8" in problem


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("track_counts = off", "autovacuum is off: tables grow without bounds"),
        ("default_transaction_read_only = on", "transactions are read-only by default"),
    ],
)
def test_doctor_reports_a_bad_database_setting(tables, postgres_dsn, setting, problem):
    name = value(postgres_dsn, "SELECT current_database()")
    execute(postgres_dsn, f"ALTER DATABASE {name} SET {setting}")
    engine = postgres_tables(store_settings(postgres_dsn))

    (found,) = engine.check()
    engine.close()

    assert problem in found


def test_doctor_reports_disabled_autovacuum(tables, postgres_server):
    with psycopg.connect(postgres_server.dsn, autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("SELECT pg_reload_conf()")
        try:
            assert "autovacuum is off" in wait_until(tables.check)[0]
        finally:
            admin.execute("ALTER SYSTEM RESET autovacuum")
            admin.execute("SELECT pg_reload_conf()")
    wait_until(lambda: not tables.check())


def test_doctor_reports_missing_permissions(tables, postgres_server, postgres_dsn):
    execute(
        postgres_dsn,
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA aragog TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA aragog TO reader",
    )
    reader = postgres_tables(store_settings(postgres_dsn.replace("//aragog@", "//reader@")))

    problems = reader.check()
    with pytest.raises(StoreUnavailable, match="lacks a right"):
        reader["e"].put(b"row", {b"p:a": b"1"}, at_ms=5)
    reader.close()
    execute(postgres_dsn, "DROP OWNED BY reader", "DROP ROLE reader")

    assert problems
    assert all("GRANT SELECT, INSERT, UPDATE, DELETE" in problem for problem in problems)
