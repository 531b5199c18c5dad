"""
PostgreSQL as a job server, in situations that Redis does not have: crashes, failovers, full disks,
poolers.
"""

import random
import secrets
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import kombu.exceptions
import psycopg
import pytest

from pinlater.cluster import Cluster, connect_shards
from pinlater.errors import BrokerUnavailable
from pinlater.models import ClaimRequest, JobState, NewJob
from pinlater.postgres.link import SqlCall
from pinlater.postgres.shard import PostgresShard
from tests.support.celery_worker import Worker
from tests.support.job_places import PostgresPlace, freeze, thaw
from tests.support.postgres_variants import (
    pooler_before,
    primary_and_replica,
    server_on_a_small_disk,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.postgres]

APP = "tests.support.pinlater_app"
ANY = ClaimRequest(limit=100, timeout_ms=600_000, worker="w")


def deadlocks(dsn):
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT pg_stat_clear_snapshot()")
        query = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        return admin.execute(query).fetchone()[0]


def test_producers_of_the_same_unique_keys_do_not_deadlock(
    postgres_dsn,
):
    keys = [f"key-{number}" for number in range(400)]
    orders = [keys, keys[::-1], random.Random(1).sample(keys, len(keys))]
    start = threading.Barrier(len(orders))

    def produce(order):
        shard = PostgresShard(postgres_dsn, timeout_s=60)
        for round_number in range(8):
            start.wait(60)
            shard.enqueue("q", [NewJob(b"", unique_key=f"{round_number} {key}") for key in order])

    with ThreadPoolExecutor(len(orders)) as threads:
        for future in [threads.submit(produce, order) for order in orders]:
            future.result(120)

    assert PostgresShard(postgres_dsn, timeout_s=60).sizes("q").pending == 8 * len(keys)
    assert deadlocks(postgres_dsn) == 0


def test_jobs_of_a_batch_keep_their_order(postgres_dsn):
    shard = PostgresShard(postgres_dsn, timeout_s=60)
    names = ["c", "a", "d", "b"]
    shard.enqueue("q", [NewJob(name.encode(), unique_key=name) for name in names])

    assert [job.body for job in shard.jobs("q", JobState.PENDING, limit=9)] == [
        name.encode() for name in names
    ]


@pytest.mark.parametrize("jobs_in", ["postgres"], indirect=True)
def test_server_crash_loses_and_duplicates_no_job(own_place, tmp_path):
    env = own_place.with_conf(broker_transport_options={"claim_timeout_s": 30})
    with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]) as worker:
        for number in range(4):
            own_place.app.send_task("gated", (number,))
        wait_until(lambda: own_place.running() == 4 and len(own_place.notes()) == 2)
        # Data committed without waiting for the disk is written together with data that waits for
        # it.
        own_place.shard.enqueue("other", [NewJob(b"sure")])
        own_place.server.kill()
        wait_until(lambda: not pings(own_place.shard))
        own_place.server.start()
        own_place.app.send_task("say", ("eta",), countdown=1)
        own_place.noted.set("gate is open", 1)
        wait_until(lambda: own_place.shard.sizes("celery").succeeded == 5)
        assert worker.process.poll() is None

    assert own_place.shard.sizes("other").pending == 1
    assert Counter(own_place.notes()) == {"eta": 1} | {str(number): 1 for number in range(4)}


def test_failover_loses_the_last_moment_and_reruns_jobs_it_may_have_undone():
    with primary_and_replica() as (primary, replica):
        hosts = f"{primary.socket_folder},{replica.socket_folder}"
        dsn = f"postgresql://aragog@/postgres?host={hosts}&target_session_attrs=read-write"
        shard = PostgresShard(dsn, timeout_s=60)
        shard.enqueue("q", [NewJob(b"runs"), NewJob(b"done in time"), NewJob(b"done too late")])
        runs, in_time, too_late = shard.claim("q", ANY).claims
        assert shard.ack("q", [(in_time.job_id, in_time.token)]) == [True]
        shard.enqueue("q", [NewJob(b"waits")])
        # The replica receives nothing from now on.
        wait_until(lambda: has_all_of(primary, replica))
        run_on(replica, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        no_sender = "SELECT count(*) = 0 FROM pg_stat_replication"
        wait_until(lambda: run_on(primary, no_sender) == (True,))
        assert shard.ack("q", [(too_late.job_id, too_late.token)]) == [True]
        shard.enqueue("q", [NewJob(b"accepted and lost")])
        [claimed_last, lost] = shard.claim("q", ANY).claims
        primary.kill()
        run_on(replica, "SELECT pg_promote()")
        wait_until(lambda: pings(shard))

        # Lost: the jobs of the last moment. Run again: jobs acknowledged in it, and running jobs.
        old = [(job.job_id, job.token) for job in (runs, too_late, claimed_last, lost)]
        assert shard.ack("q", old) == [False] * 4
        again = shard.claim("q", ANY).claims
        bodies = [job.record.rpartition(b"|")[2] for job in again]
        assert sorted(bodies) == [b"done too late", b"runs", b"waits"]
        assert {job.attempt for job in again} == {1}
        assert min(job.token for job in again) > max(token for _, token in old) + 1000
        assert all(shard.ack("q", [(job.job_id, job.token) for job in again]))
        assert shard.sizes("q").succeeded == 4
        shard.links.close()


def run_on(server, *statements):
    """The first row of the last of these statements."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchone()


def has_all_of(primary, replica):
    """Whether the replica has everything that the primary has written."""
    (written,) = run_on(primary, "SELECT pg_current_wal_insert_lsn()::text")
    (has,) = run_on(replica, f"SELECT pg_last_wal_replay_lsn() >= '{written}'")
    return has


def test_full_disk_refuses_jobs_stops_no_worker_and_loses_nothing(
    redis_server, redis_url, tmp_path
):
    with server_on_a_small_disk() as (server, disk):
        place = PostgresPlace(server.dsn, redis_server, server=server)
        env = place.with_conf()
        with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]) as worker:
            place.app.send_task("gated", ("began before",))
            wait_until(lambda: place.notes() == ["began before"])
            disk.fill()
            accepted, reason = until_refused(place.app)
            assert worker.process.poll() is None
            disk.free()

            def works():
                # A server that cannot even write its log ends.
                if server.process.poll() is not None:
                    server.start()
                return pings(place.shard)

            wait_until(works)
            place.client.set("gate is open", 1)
            wait_until(lambda: {"began before", *accepted} <= set(place.notes()))
            place.app.send_task("say", ("after",))
            wait_until(lambda: "after" in place.notes())
            assert worker.process.poll() is None
        place.close()

    assert "disk is full" in reason or "shard 0" in reason


def until_refused(app):
    """Send large tasks until one is refused; returns the accepted ones and the reason."""
    accepted = []
    while True:
        text = secrets.token_hex(100_000)
        try:
            app.send_task("say", (text,), retry=False)
        except kombu.exceptions.OperationalError as error:
            return accepted, str(error)
        accepted.append(text)


def test_jobs_run_and_no_lock_stays_behind_a_pooler_in_transaction_mode(
    postgres_server, postgres_dsn, redis_server, redis_url, tmp_path
):
    with pooler_before(postgres_server, postgres_dsn) as pooler:
        place = PostgresPlace(pooler.dsn, redis_server)
        poller = place.shard.poller()
        poller.send(["celery"], now_s=0.0)
        env = place.with_conf()
        with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]) as worker:
            numbers = list(map(str, range(20)))
            for number in numbers:
                place.app.send_task("say", (number,), countdown=0.3 * (int(number) % 2))
            wait_until(lambda: place.shard.sizes("celery").succeeded == len(numbers))
            pooler.kill()
            wait_until(lambda: place.lost in worker.log.read_text())
            pooler.start()
            wait_until(lambda: pings(place.shard))
            place.app.send_task("say", ("after",))
            wait_until(lambda: place.shard.sizes("celery").succeeded == len(numbers) + 1)
        with psycopg.connect(postgres_dsn) as connection:
            locks = connection.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            ).fetchone()
        ran = Counter(place.notes())
        place.close()

    # Notifications do not get through, so the worker polls instead of listening on a connection.
    assert (poller.connection, poller.check_every_s) == (None, 0.2)
    assert locks == (0,)
    assert ran == dict.fromkeys([*numbers, "after"], 1)


def test_hung_server_is_detected_and_used_again(own_postgres):
    hasty = PostgresShard(own_postgres.dsn, timeout_s=0.5)
    wait_until(lambda: pings(hasty))
    freeze(own_postgres)
    try:
        with pytest.raises(BrokerUnavailable, match="no reply within"):
            hasty.ping()
    finally:
        thaw(own_postgres)

    wait_until(lambda: pings(hasty))
    hasty.links.close()


def pings(shard):
    try:
        shard.ping()
    except BrokerUnavailable:
        return False
    return True


def test_concurrent_claims_take_each_job_once(postgres_dsn):
    shards = [PostgresShard(postgres_dsn, timeout_s=60) for _ in range(8)]
    shards[0].enqueue("q", [NewJob(b"%d" % number) for number in range(1000)])
    taken = [[] for _ in shards]

    def work(shard, mine):
        request = ClaimRequest(limit=7, timeout_ms=60_000, worker="w")
        while claims := shard.claim("q", request).claims:
            accepted = shard.ack("q", [(claim.job_id, claim.token) for claim in claims])
            mine += [claim.job_id for claim, sure in zip(claims, accepted, strict=True) if sure]

    threads = [threading.Thread(target=work, args=pair) for pair in zip(shards, taken, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sizes = shards[0].sizes("q")
    for shard in shards:
        shard.links.close()

    assert len({job_id for mine in taken for job_id in mine}) == sum(map(len, taken)) == 1000
    assert (sizes.pending, sizes.running, sizes.succeeded) == (0, 0, 1000)


def test_claim_from_before_a_promotion_is_void_and_its_job_runs_again(postgres_dsn):
    # Its replica may lack the last second, and the worker's writes are lost with it.
    shard = PostgresShard(postgres_dsn, timeout_s=60)
    shard.enqueue("q", [NewJob(b"first")])
    request = ClaimRequest(limit=1, timeout_ms=600_000, worker="w")
    [job] = shard.claim("q", request).claims
    shard.run_all(
        [SqlCall("UPDATE pinlater.meta SET started = started - interval '1 day', timeline = '0'")]
    )

    assert shard.ack("q", [(job.job_id, job.token)]) == [False]

    [again] = shard.claim("q", request).claims
    assert (again.job_id, again.attempt) == (job.job_id, 1)
    assert again.token > job.token + 1000
    assert shard.ack("q", [(again.job_id, again.token)]) == [True]
    shard.links.close()


def test_job_due_in_a_century_waits(postgres_dsn):
    shard, century_ms = PostgresShard(postgres_dsn, timeout_s=60), 100 * 365 * 86_400_000
    shard.enqueue("q", [NewJob(b"x", delay_ms=century_ms)])

    [job] = shard.delayed_jobs("q", limit=1)

    assert job.at_ms - shard.time_and_uptime_ms()[0] > century_ms - 86_400_000
    assert shard.claim("q", ClaimRequest(limit=1, timeout_ms=1, worker="w")).claims == ()
    shard.links.close()


def test_cluster_with_only_postgresql_accepts_jobs(postgres_dsn):
    cluster = Cluster(connect_shards([postgres_dsn]))

    assert cluster.first_shard is None
    assert not cluster.enqueue("q", [NewJob(b"x")])[0].already_there
    cluster.shards[0].links.close()
