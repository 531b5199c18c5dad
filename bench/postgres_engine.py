"""
PostgreSQL for bench.urlstore: a private server, plain psycopg, and targets relative to SQLite.

The server is the one that `aragog up` starts, with its durable settings: each commit waits for the
disk.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg

from aragog.bootstrap.stores import postgres_tables
from aragog.runtime.secret import SecretUrl
from aragog.settings import StoreSettings
from aragog.standalone.postgres_server import PostgresServer
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.record_reader import record_columns
from aragog.urlstore.store import UrlStore
from bench import figures
from zengraph.tables import Tables
from zengraph.tables.postgres.connection import Call, PostgresConnection, Rows
from zengraph.tables.sqlite import SqliteTables

BATCH = 25
Open = Callable[[], Tables]


class BarePostgres:
    """A plain psycopg connection and a table whose rows have as many cells as a real record."""

    def __init__(self, dsn: str, fields: list[str]) -> None:
        self.db = psycopg.connect(dsn, autocommit=True, prepare_threshold=1)
        self.db.execute(
            "CREATE TABLE bare (row bytea, col bytea, value bytea, PRIMARY KEY (row, col))"
        )
        self.columns = list(record_columns(fields, info=False))

    def fill(self, keys: list[bytes]) -> None:
        names = [*self.columns, *(b"m:og.%d" % i for i in range(11)), b"s:own", b"s:provenance"]
        names = list(dict.fromkeys(names))
        with self.db.cursor().copy("COPY bare FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["bytea", "bytea", "bytea"])
            for key in dict.fromkeys(keys):
                for name in names:
                    copy.write_row((key, name, os.urandom(40)))

    def get(self, key: bytes) -> dict[bytes, bytes]:
        return dict(
            self.db.execute(
                "SELECT col, value FROM bare WHERE row = %s AND col = ANY (%s)",
                (key, self.columns),
                binary=True,
            )
        )

    def get_many(self, keys: list[bytes]) -> list[tuple[bytes, ...]]:
        return self.db.execute(
            "SELECT row, col, value FROM bare WHERE row = ANY (%s) AND col = ANY (%s)",
            (keys, self.columns),
            binary=True,
        ).fetchall()

    def row(self, key: bytes) -> dict[bytes, bytes]:
        sql = "SELECT col, value FROM bare WHERE row = %s"
        return dict(self.db.execute(sql, (key,), binary=True))

    def put_many(self, rows: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> None:
        with self.db.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO bare VALUES (%s, %s, %s) ON CONFLICT (row, col) "
                "DO UPDATE SET value = excluded.value",
                [(key, column, value) for key, cells in rows for column, value in cells.items()],
            )

    def put(self, key: bytes, cells: dict[bytes, bytes]) -> None:
        """Do the least that storing fields requires: read what is there, then write."""
        self.get(key)
        self.put_many([(key, cells)])


@contextmanager
def postgres_engine(fields: list[str]) -> Iterator[tuple[Tables, BarePostgres]]:
    """Yield empty tables, and the bare engine in the same database."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder, PostgresServer(Path(folder)) as server:
        tables = open_postgres(server.dsn)
        tables.create()
        bare = BarePostgres(server.dsn, fields)
        yield tables, bare
        bare.db.close()
        tables.close()


def open_postgres(dsn: str) -> Tables:
    """Open the tables in the database at `dsn`."""
    return postgres_tables(StoreSettings(engine="postgres", dsn=SecretUrl(dsn)))


def targets(make_pages: Callable[..., list[Any]], fields: list[str], count: int) -> None:
    """Run both engines in turn on the same pages, and print the results with the targets."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder, PostgresServer(Path(folder)) as server:
        engines: dict[str, Open] = {
            "sqlite": lambda: SqliteTables(Path(folder) / "tables"),
            "postgres": lambda: open_postgres(server.dsn),
        }
        costs: dict[str, list[float]] = {name: [] for name in engines}
        for open_tables in engines.values():
            tables = open_tables()
            tables.create()
            tables.close()
        for round_ in range(3):
            pages = make_pages(count, seed=round_, first=round_ * count)
            for name, open_tables in engines.items():
                costs[name].append(store_stage(open_tables(), pages))
        cpu = {name: statistics.median(rounds_us) for name, rounds_us in costs.items()}
        print(
            f"\nstore stage, this process's CPU per page: SQLite {cpu['sqlite']:.0f} us, PostgreSQL "
            f"{cpu['postgres']:.0f} us: {cpu['postgres'] / cpu['sqlite']:.2f}x (target: 1.6x)"
        )
        urls = [page.url for page in make_pages(count, seed=0, first=0)]
        for name, open_tables in engines.items():
            for result in latencies(open_tables(), urls, fields, server):
                print(f"{name}: {result}", flush=True)
                if (name, result.name) == ("postgres", "get"):
                    figures.report(postgres_read=result.server)
        print("PostgreSQL targets: get below 0.6 ms, get_many of 100 below 5 ms")
        for name, open_tables in engines.items():
            one_writer, two_writers = (
                writers(open_tables, make_pages, count, number) for number in (1, 2)
            )
            print(
                f"{name}: 1 writer {one_writer:.0f} pages/s, 2 writers {two_writers:.0f}: "
                f"{two_writers / one_writer:.2f}x"
                + (" (target: 1.8x)" if name == "postgres" else ""),
                flush=True,
            )


def store_stage(tables: Tables, pages: list[Any]) -> float:
    """Return the microseconds of this process's CPU per page."""
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    started = time.process_time()
    for start in range(0, len(pages), BATCH):
        store.write_pages(pages[start : start + BATCH])
    spent = time.process_time() - started
    store.close()
    return spent / len(pages) * 1e6


class ReadCost(NamedTuple):
    """How long a read takes, in milliseconds."""

    name: str
    p50: float
    """Elapsed time, like `p10`."""
    p10: float
    """How long a read takes in moments when nothing else uses the cores."""
    own: float
    """CPU time of this process."""
    server: float
    """CPU time of PostgreSQL."""

    def __str__(self) -> str:
        return (
            f"{self.name} p50 {self.p50:.2f} ms, p10 {self.p10:.2f} ms, CPU {self.own:.2f} ms "
            f"here and {self.server:.2f} ms in the server"
        )


def latencies(
    tables: Tables, urls: list[str], fields: list[str], server: PostgresServer
) -> Iterator[ReadCost]:
    """Measure reads of single URLs, and reads of 100 URLs."""
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    for name, read, arguments in (
        ("get", store.get, (urls * 10)[:1000]),
        (
            "get_many of 100",
            store.get_many,
            [(urls * 100)[start : start + 100] for start in range(0, 10_000, 100)],
        ),
    ):
        read(arguments[0], fields)
        took_s, own_s, server_s = [], time.process_time(), server_cpu_s(server)
        for argument in arguments:
            started_s = time.perf_counter()
            read(argument, fields)
            took_s.append(time.perf_counter() - started_s)
        ms_per_read = 1e3 / len(arguments)
        took_s.sort()
        yield ReadCost(
            name,
            took_s[len(took_s) // 2] * 1e3,
            took_s[len(took_s) // 10] * 1e3,
            (time.process_time() - own_s) * ms_per_read,
            (server_cpu_s(server) - server_s) * ms_per_read,
        )
    store.close()


def writers(
    open_tables: Open, make_pages: Callable[..., list[Any]], count: int, writer_count: int
) -> float:
    """Return the pages per second that several processes store, each with its own pages."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(writer_count + 1)
    processes = [
        context.Process(
            target=_writer,
            args=(open_tables, make_pages, count, 1_000_000 * writer_count + 100_000 * i, barrier),
        )
        for i in range(writer_count)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    started = time.perf_counter()
    for process in processes:
        process.join()
    return writer_count * count / (time.perf_counter() - started)


def _writer(
    open_tables: Open, make_pages: Callable[..., list[Any]], count: int, first: int, barrier: Any
) -> None:
    pages = make_pages(count, seed=first, first=first)
    tables = open_tables()
    tables["n"].get(b"x" * 16)
    barrier.wait()
    store_stage(tables, pages)


class Traffic:
    """This process's round trips to PostgreSQL, and the bytes of their parameters and rows."""

    def __init__(self) -> None:
        self.calls = self.sent_bytes = self.received_bytes = 0

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count while the block runs."""
        run = PostgresConnection.run

        def run_and_count(connection: PostgresConnection, calls: Sequence[Call]) -> list[Rows]:
            results = run(connection, calls)
            self.calls += 1
            self.sent_bytes += sum(len(value or b"") for _, values in calls for value in values)
            self.received_bytes += sum(
                len(value or b"") for rows in results for row in rows for value in row
            )
            return results

        PostgresConnection.run = run_and_count  # type: ignore[method-assign]
        try:
            yield
        finally:
            PostgresConnection.run = run  # type: ignore[method-assign]


def server_cpu_s(server: PostgresServer) -> float:
    """Return the CPU seconds of all server processes so far, including those that have ended."""
    assert server.process is not None
    postmaster = psutil.Process(server.process.pid)
    spent_s = sum(postmaster.cpu_times()[:4])  # user, system, and those of ended children
    for child in postmaster.children():
        with suppress(psutil.NoSuchProcess):
            spent_s += sum(child.cpu_times()[:2])
    return spent_s


_WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_SIZE = (
    "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
    "WHERE relnamespace = 'aragog'::regnamespace AND relkind = 'r'"
)
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'aragog'"


def server_costs(make_pages: Callable[..., list[Any]], count: int) -> None:
    """
    Print what a page costs in PostgreSQL: the figures that `aragog plan --store postgres` uses.

    Pages are looked up and written in batches of 25, and their links are compacted. All pages are
    written twice: first as new pages, then as refreshes that found a different title.
    """
    with tempfile.TemporaryDirectory(prefix="ar") as folder, PostgresServer(Path(folder)) as server:
        tables = open_postgres(server.dsn)
        tables.create()
        store = UrlStore(tables, MemoryContent(), StoreSettings())
        with closing(store), psycopg.connect(server.dsn, autocommit=True) as admin:
            empty = _value(admin, _SIZE)
            pages = make_pages(count, seed=0, first=0)
            new = _write(store, server, admin, pages)
            figures.report(
                postgres_server=new.cpu_s / count * 1e3,
                postgres_round_trips=new.traffic.calls / count,
                postgres_traffic=(new.traffic.sent_bytes + new.traffic.received_bytes) / count,
                postgres_wal=new.wal_bytes / count,
            )
            _print_costs("new", new, count, _value(admin, _SIZE) - empty)
            refreshed = _write(store, server, admin, [_refresh(page) for page in pages])
            size = _value(admin, _SIZE) - empty
            figures.report(postgres_bytes=size / count)
            _print_costs("refreshed", refreshed, count, size)
            print(f"connections per process that stores pages: {_value(admin, _CONNECTIONS)}")


class _Costs(NamedTuple):
    """What it cost to write some pages."""

    traffic: Traffic
    cpu_s: float
    """CPU seconds of the server."""
    own_s: float
    """CPU seconds of this process."""
    wal_bytes: int


def _value(admin: psycopg.Connection, query: str) -> int:
    row = admin.execute(query).fetchone()  # type: ignore[call-overload]
    assert row is not None
    return int(row[0])


def _refresh(page: Any) -> Any:
    """Return the page as it is a day later, with a different title."""
    return replace(
        page,
        fetched_at_ms=page.fetched_at_ms + 86_400_000,
        fields={**page.fields, "title": b"another title"},
    )


def _write(
    store: UrlStore, server: PostgresServer, admin: psycopg.Connection, pages: Sequence[Any]
) -> _Costs:
    """Look the pages up, write them, and compact their links."""
    traffic, cpu_s, wal = Traffic(), server_cpu_s(server), _value(admin, _WAL)
    own_s = time.process_time()
    with traffic.count():
        for start in range(0, len(pages), BATCH):
            batch = pages[start : start + BATCH]
            store.get_many([page.url for page in batch], fields=[])
            store.write_pages(batch)
        while (report := store.maintenance.compact_links(1000)).left:
            if not report.journal_rows:
                break
    own_s = time.process_time() - own_s
    costs = _Costs(traffic, server_cpu_s(server) - cpu_s, own_s, _value(admin, _WAL) - wal)
    admin.execute("VACUUM")
    return costs


def _print_costs(name: str, costs: _Costs, count: int, size: int) -> None:
    traffic = costs.traffic
    print(
        f"PostgreSQL, per {name} page: {traffic.calls / count:.2f} round trips, "
        f"{costs.cpu_s / count * 1e3:.2f} ms of the server's CPU and {costs.own_s / count * 1e3:.2f} ms of "
        f"this process's, {traffic.sent_bytes / count:,.0f} bytes sent, "
        f"{traffic.received_bytes / count:,.0f} received, {costs.wal_bytes / count:,.0f} of WAL, "
        f"{size / count:,.0f} on disk",
        flush=True,
    )
