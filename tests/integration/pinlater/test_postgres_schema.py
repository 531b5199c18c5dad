"""
The schema of jobs in PostgreSQL: created, replaced by newer programs, upgraded, never downgraded.
"""

import json
import select
import threading
from types import SimpleNamespace

import psycopg
import pytest
from click.testing import CliRunner

from pinlater.cli import queue
from pinlater.errors import BrokerUnavailable
from pinlater.models import ClaimRequest, NewJob
from pinlater.postgres.link import SqlCall, SqlRefused, call
from pinlater.postgres.schema import CODE, LAYOUT, UPGRADES, QueueSchema
from pinlater.postgres.shard import PostgresShard
from pinlater.postgres.wire import text
from tests.support.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.postgres

# What version 1 had instead of `listener`.
FIRST_LAYOUT = """
DROP TABLE pinlater.listener;
CREATE UNLOGGED TABLE pinlater.waiter (
  queue int NOT NULL, channel text NOT NULL, at bigint NOT NULL, PRIMARY KEY (queue, channel));
CREATE FUNCTION pinlater.wake(qid int) RETURNS void LANGUAGE sql AS 'DELETE FROM pinlater.waiter';
CREATE OR REPLACE FUNCTION pinlater.wake_one(q_name text) RETURNS void LANGUAGE sql
AS 'SELECT pinlater.wake(1)';
UPDATE pinlater.meta SET layout = 1, code = 1
"""
ONE = ClaimRequest(limit=1, timeout_ms=60_000, worker="w")


@pytest.fixture
def opened(postgres_dsn):
    """Opens shards of one database and closes them after the test."""
    shards = []

    def make(**options):
        shards.append(PostgresShard(postgres_dsn, timeout_s=60, **options))
        return shards[-1]

    yield make
    for shard in shards:
        shard.links.close()


@pytest.fixture
def admin(postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection


def versions(admin):
    return admin.execute("SELECT layout, code FROM pinlater.meta").fetchone()


def readable(poller):
    wait = select.poll()
    wait.register(poller.fileno, select.POLLIN)
    assert wait.poll(WITHIN_S * 1000)


def test_worker_is_notified_of_the_first_job_of_a_new_queue(opened):
    # It could register only for existing queues, and noticed the job a second later.
    shard, worker = opened(), opened()
    poller = worker.poller()
    poller.send(["new", "other"], now_s=0.0)
    while poller._replies_due:
        readable(poller)
        assert poller.read() == ()
    assert shard.queues() == set()

    shard.enqueue("new", [NewJob(b"first")])

    readable(poller)
    assert poller.read() == ("new",)
    shard.drop("new")
    poller.send(["new"], now_s=1.0)
    wait_until(lambda: poller.read() == () and not poller._replies_due)
    shard.enqueue("new", [NewJob(b"first of a queue that was deleted")])
    readable(poller)
    assert poller.read() == ("new",)
    poller.drop()


class RevokedSchema(QueueSchema):
    """A schema that the role may not use on connections made after `is_revoked` is set."""

    is_revoked = False

    def check(self, link):
        if self.is_revoked:
            raise SqlRefused("42501", "permission denied for schema pinlater")
        super().check(link)


def test_refused_connection_of_a_poller_is_an_error_that_its_callers_catch(opened):
    # It ended the thread that wakes the waiting callers of an API process.
    schema = RevokedSchema()
    shard = opened(schema=schema)
    shard.ping()
    schema.is_revoked = True

    with pytest.raises(OSError, match="permission denied"):
        shard.poller().send(["q"], now_s=0.0)


def test_newer_program_replaces_functions_and_an_older_one_uses_them(opened, admin):
    # A program whose functions had changed called the ones that it found.
    opened().ping()
    admin.execute(
        "UPDATE pinlater.meta SET code = 0; CREATE OR REPLACE FUNCTION pinlater.now_ms() "
        "RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'"
    )
    older = opened(schema=QueueSchema(code=0))
    assert older.time_and_uptime_ms()[0] == 7

    newer = opened()

    assert newer.time_and_uptime_ms()[0] > 7
    assert (versions(admin), older.time_and_uptime_ms()[0] > 7) == ((LAYOUT, CODE), True)
    older.links.close()
    older.enqueue("q", [NewJob(b"x")])
    assert versions(admin) == (LAYOUT, CODE)
    assert len(newer.claim("q", ONE).claims) == 1


def test_programs_that_start_together_create_the_schema_once(opened):
    shards = [opened() for _ in range(6)]
    threads = [
        threading.Thread(target=shard.enqueue, args=("q", [NewJob(b"x")])) for shard in shards
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert shards[0].sizes("q").pending == len(shards)


def test_upgrade_runs_beside_workers_of_the_previous_version(opened, admin, postgres_dsn):
    before = opened()
    before.enqueue("q", [NewJob(b"before")])
    admin.execute(FIRST_LAYOUT)
    waiting = opened()
    with pytest.raises(BrokerUnavailable, match="has version 1, and this program needs 2: run"):
        waiting.enqueue("q", [NewJob(b"refused")])

    ran = CliRunner().invoke(queue, ["upgrade", "--json"], obj=where(postgres_dsn))

    assert json.loads(ran.stdout) == {"versions": {"0": LAYOUT}}
    assert "from version 1 to 2" in ran.stderr
    # How a program of version 1 checks that it may write, and wakes workers.
    before.run_all(
        [
            SqlCall("DELETE FROM pinlater.waiter WHERE queue < 0"),
            call("wake_one", text("q")),
        ]
    )
    waiting.enqueue("q", [NewJob(b"after")])
    assert len(before.claim("q", ClaimRequest(limit=9, timeout_ms=1, worker="w")).claims) == 2
    assert versions(admin) == (LAYOUT, CODE)


def where(dsn):
    return SimpleNamespace(broker_url=f"pinlater+{dsn}", shards=(), queues=())


def test_program_older_than_the_tables_refuses_with_one_line_and_changes_nothing(
    opened, admin, postgres_dsn
):
    running = opened()
    running.enqueue("q", [NewJob(b"x")])
    admin.execute(f"UPDATE pinlater.meta SET layout = {LAYOUT + 1}, code = {CODE + 5}")
    reason = f"has version {LAYOUT + 1}, and this program knows versions up to {LAYOUT}: install"

    for refused in (lambda s: s.ping(), lambda s: s.upgrade(print), lambda s: s.claim("q", ONE)):
        with pytest.raises(BrokerUnavailable, match=reason) as caught:
            refused(opened())
        assert "\n" not in str(caught.value)

    assert versions(admin) == (LAYOUT + 1, CODE + 5)
    # A program that was already connected continues; the newer version supports it.
    assert len(running.claim("q", ONE).claims) == 1
    with pytest.raises(BrokerUnavailable, match=reason):
        CliRunner().invoke(queue, ["upgrade"], obj=where(postgres_dsn), catch_exceptions=False)


def test_failed_upgrade_leaves_the_previous_version(opened, admin):
    opened().enqueue("q", [NewJob(b"x")])
    steps = {**UPGRADES, LAYOUT: "CREATE TABLE pinlater.half (); SELECT 1 / 0;"}
    next_release = opened(schema=QueueSchema(LAYOUT + 1, CODE + 1, steps))

    with pytest.raises(BrokerUnavailable, match="division by zero"):
        next_release.upgrade(lambda _: None)

    assert versions(admin) == (LAYOUT, CODE)
    assert admin.execute("SELECT to_regclass('pinlater.half')").fetchone() == (None,)
    assert opened().sizes("q").pending == 1


def test_role_without_permission_is_told_what_to_grant(postgres_dsn, admin):
    admin.execute("CREATE ROLE guest LOGIN")
    guest = PostgresShard(postgres_dsn.replace("//aragog@", "//guest@"), timeout_s=60)
    try:
        with pytest.raises(BrokerUnavailable, match="GRANT CREATE ON DATABASE"):
            guest.ping()
    finally:
        guest.links.close()
        admin.execute("DROP ROLE guest")
