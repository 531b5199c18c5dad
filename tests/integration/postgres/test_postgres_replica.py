"""
A replica: reads that respect its lag, failover to it, and the doctor's finding if it is configured
as primary.
"""

import dataclasses
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from aragog.api.server.http.services import Services
from aragog.bootstrap.api import hedged_reads
from aragog.bootstrap.stores import postgres_tables
from aragog.errors import CONFIG, ConfigError, StoreUnavailable
from aragog.runtime.secret import SecretUrl
from aragog.settings import ServingSettings, Settings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support import api_server
from tests.support.job_places import freeze, thaw
from tests.support.postgres_server import store_settings
from tests.support.postgres_variants import primary_and_replica
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

URL = "http://hedged.example/"


@pytest.fixture(scope="module")
def pair():
    """A primary and its streaming replica."""
    with primary_and_replica() as servers:
        yield servers


def shown(dsn, query):
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query).fetchone()[0]


def test_reads_use_a_replica_only_while_it_keeps_up(pair, tmp_path):
    primary, replica = pair
    store = store_settings(primary.dsn)
    tables = postgres_tables(store)
    tables.create()
    written = UrlStore(tables, MemoryContent(), store)
    written.put(URL, {"title": b"one"})
    standby = postgres_tables(dataclasses.replace(store, dsn=SecretUrl(replica.dsn)), max_lag_s=1.0)
    settings = Settings(
        data_dir=tmp_path, store=store,
        serving=ServingSettings(standby_dsn=SecretUrl(replica.dsn), standby_max_lag_s=1.0),
    )  # fmt: skip

    gone = postgres_tables(store_settings(f"postgresql://aragog@/postgres?host={tmp_path}"))
    hedged = hedged_reads(settings, UrlStore(gone, MemoryContent(), store))
    wait_until(lambda: _has_rows(standby))
    found = wait_until(lambda: _from_standby(hedged))
    assert (found.value.fields, found.from_standby) == ({"title": b"one"}, True)

    shown(replica.dsn, "SELECT pg_wal_replay_pause()")
    written.put(URL, {"title": b"two"})
    wait_until(lambda: _behind(standby))
    with pytest.raises(StoreUnavailable, match=r"s behind \(serving.standby_max_lag_s: 1\)"):
        standby["n"].get(b"row")
    shown(replica.dsn, "SELECT pg_wal_replay_resume()")
    wait_until(lambda: not _behind(standby))
    hedged.close()
    standby.close()
    written.close()


def test_no_read_fails_while_the_primary_hangs(pair, tmp_path):
    # 10 of 29 reads over HTTP ended with DeadlineExceeded.
    primary, replica = pair
    store = store_settings(primary.dsn)
    tables = postgres_tables(store)
    tables.create()
    written = UrlStore(tables, MemoryContent(), store)
    written.put(URL, {"title": b"one"})
    settings = Settings(
        data_dir=tmp_path, store=store, serving=ServingSettings(standby_dsn=SecretUrl(replica.dsn))
    )
    hedged = hedged_reads(settings, written)
    standby = postgres_tables(dataclasses.replace(store, dsn=SecretUrl(replica.dsn)))
    wait_until(lambda: _has_rows(standby))
    answers = Counter()
    over = threading.Event()

    def client(api):
        while not over.is_set():
            reply = api.get_fast(f"/v1/urls?url={URL}&fields=title&include=")
            answers[reply.status, reply.json.get("from_standby", False)] += 1

    with api_server.running(written, Services(read=hedged.read)) as api:
        with ThreadPoolExecutor(10) as clients:
            reading = [clients.submit(client, api) for _ in range(10)]
            wait_until(lambda: answers[200, False] > 500)
            freeze(primary)
            try:
                wait_until(lambda: answers[200, True] > 300)
            finally:
                over.set()
                thaw(primary)
        for each in reading:
            each.result()
    hedged.close()
    standby.close()
    written.close()

    assert {status for status, _ in answers} == {200}, answers


def _from_standby(hedged):
    try:
        found = hedged.read(lambda store: store.get(URL))
    except StoreUnavailable:  # the replica is temporarily behind
        return None
    return found if found.value else None


def _has_rows(tables):
    """False also while the replica has not received the tables."""
    try:
        return bool(list(tables["n"].scan(b"", None)))
    except (StoreUnavailable, *CONFIG):
        return False


def _behind(tables):
    try:
        tables["n"].get(b"row")
    except StoreUnavailable as error:
        return "behind" in str(error)
    return False


def test_doctor_reports_a_replica_configured_as_primary(pair):
    _, replica = pair
    tables = postgres_tables(store_settings(replica.dsn))

    problems = tables.check()
    with pytest.raises(StoreUnavailable, match="is a replica"):
        tables["e"].put(b"row", {b"p:a": b"1"}, at_ms=1)

    assert problems == ["the server is a replica: name the primary in store.dsn"]
    tables.close()


def test_standby_dsn_requires_postgres(tmp_path):
    serving = ServingSettings(standby_dsn=SecretUrl("postgresql://replica/"))

    with pytest.raises(ConfigError, match="set store"):
        hedged_reads(Settings(data_dir=tmp_path, store=StoreSettings(), serving=serving), None)


def test_writes_go_to_the_other_server_after_a_failover(pair):
    """Must be the last test of the module: the replica becomes a primary."""
    primary, replica = pair
    both = f"{primary.socket_folder},{replica.socket_folder}"
    dsn = f"postgresql://aragog@/postgres?host={both}&target_session_attrs=read-write"
    tables = postgres_tables(store_settings(dsn))
    tables.create()
    tables["n"].put(b"failover", {b"m:a": b"1"}, at_ms=1)
    tables["e"].put(b"row", {b"p:a": b"1"}, at_ms=1)
    standby = postgres_tables(store_settings(replica.dsn))
    wait_until(lambda: _has_rows(standby))
    standby.close()

    primary.kill()
    shown(replica.dsn, "SELECT pg_promote()")

    assert wait_until(lambda: _written(tables))
    assert tables["e"].get(b"row")[b"p:a"].value == b"2"
    assert tables.check() == []
    tables.close()


def _written(tables):
    try:
        tables["e"].put(b"row", {b"p:a": b"2"}, at_ms=2)
    except StoreUnavailable:
        return False
    return True
