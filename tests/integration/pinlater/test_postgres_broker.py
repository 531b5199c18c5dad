"""Celery on PostgreSQL shards: killed workers, servers and connections lose no job."""

import json
import signal
import threading
from collections import Counter
from contextlib import closing, contextmanager

import pytest
import redis

from aragog.errors import BrokerUnavailable
from aragog.pinlater.brokers import of_socket
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.pinlater.models import ClaimRequest, NewJob
from aragog.pinlater.postgres.link import SqlCall
from aragog.pinlater.postgres.shard import PostgresShard
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import make
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"


class Place:
    """A broker on PostgreSQL, with the Redis of other messages, and what ran there."""

    def __init__(self, dsn, redis_server, **options):
        self.broker = f"pinlater+{dsn}"
        self.client = redis.Redis.from_url(redis_server.url)
        self.shard = PostgresShard(dsn, timeout_s=60)
        options = {"claim_timeout_s": 1.5, "control": redis_server.url} | options
        self.conf = {"broker_transport_options": options}
        self.env = {
            "ARAGOG_TEST_BROKER": self.broker,
            "ARAGOG_TEST_NOTES": redis_server.url,
            "ARAGOG_TEST_RESULTS": f"redis+socket://{redis_server.socket}",
            "ARAGOG_TEST_CONF": json.dumps(self.conf),
        }
        self.app = make(self.broker, self.env["ARAGOG_TEST_RESULTS"], **self.conf)

    def notes(self):
        return [note.decode() for note in self.client.lrange("notes", 0, -1)]

    def sizes(self):
        return self.shard.sizes("celery")

    def cut_connections(self):
        """End every connection of workers and producers to the server."""
        mine = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
        with closing(PostgresShard(self.broker.removeprefix("pinlater+")).links.open()) as link:
            link.run(SqlCall(f"{mine} AND application_name = 'pinlater'"))

    def close(self):
        self.app.close()
        self.shard.links.close()
        self.client.close()


@pytest.fixture
def place(postgres_dsn, redis_server, redis_url):
    a_place = Place(postgres_dsn, redis_server)
    yield a_place
    a_place.close()


@pytest.fixture
def own_place(own_postgres, redis_server, redis_url):
    a_place = Place(own_postgres.dsn, redis_server, claim_timeout_s=4)
    yield a_place
    a_place.close()


@contextmanager
def worker_of(place, tmp_path, *args):
    with Worker(APP, tmp_path / "log", env=place.env, args=["-P", "threads", *args]) as worker:
        yield worker


def test_a_killed_worker_loses_no_job_and_doubles_only_what_it_held(place, tmp_path):
    in_flight, waiting = 50, 250
    args = ["-P", "threads", "-c5", "--prefetch-multiplier", "10"]
    worker = Worker(APP, tmp_path / "log", env=place.env, args=args).start()
    with place.app.producer_pool.acquire(block=True) as producer, producer.batch():
        for number in range(in_flight + waiting):
            place.app.send_task("gated", (number,), producer=producer)
    wait_until(lambda: place.sizes().running == in_flight and len(place.notes()) == 5)
    worker.kill()
    claims = {
        json.loads(job.body)["headers"]["argsrepr"].strip("(,)")
        for job in place.shard.jobs("celery", "RUNNING", limit=in_flight)
    }
    place.client.set("gate is open", 1)

    with worker_of(place, tmp_path, "-c10"):
        wait_until(lambda: place.sizes().succeeded == in_flight + waiting)

    ran = Counter(place.notes())
    assert len(claims) == in_flight
    assert set(ran) == set(map(str, range(in_flight + waiting)))
    assert {number for number, times in ran.items() if times > 1} <= claims


def test_a_worker_runs_retries_and_gives_up_jobs_and_goes_on_after_lost_connections(
    place, tmp_path
):
    with worker_of(place, tmp_path, "-c2") as worker:
        assert place.app.send_task("add", (1, 2)).get(timeout=120) == 3
        assert place.app.send_task("add", (1, 3), countdown=0.5).get(timeout=120) == 4
        assert place.app.send_task("stubborn").get(timeout=120) == 2
        place.app.send_task("boom")
        wait_until(lambda: place.sizes().failed == 1)
        for number in range(3):
            place.cut_connections()
            assert place.app.send_task("add", (1, number)).get(timeout=120) == 1 + number
        assert worker.process.poll() is None

    assert place.notes() == ["boom"]


def test_a_server_that_crashes_costs_no_job_and_doubles_none(own_place, own_postgres, tmp_path):
    with worker_of(own_place, tmp_path, "-c2") as worker:
        for number in range(4):
            own_place.app.send_task("gated", (number,))
        wait_until(lambda: own_place.sizes().running == 4 and len(own_place.notes()) == 2)
        # What was committed without waiting for the disk is written within a second.
        sure = own_place.shard.enqueue("other", [NewJob(b"sure")])
        own_postgres.kill()
        with pytest.raises(BrokerUnavailable):
            own_place.shard.ping()
        own_postgres.start()
        own_place.app.send_task("say", ("eta",), countdown=1)
        own_place.client.set("gate is open", 1)
        wait_until(lambda: own_place.sizes().succeeded == 5)
        assert worker.process.poll() is None

    assert sure
    assert Counter(own_place.notes()) == {"eta": 1} | {str(number): 1 for number in range(4)}


def test_a_server_that_hangs_is_noticed_and_used_again(own_place, own_postgres):
    own_place.shard.enqueue("q", [NewJob(b"x")])
    hasty = PostgresShard(own_postgres.dsn, timeout_s=0.5)
    wait_until(lambda: pings(hasty))
    backends = processes_of(own_postgres)
    for pid in backends:
        pid.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(BrokerUnavailable, match="no reply within"):
            hasty.ping()
    finally:
        for pid in backends:
            pid.send_signal(signal.SIGCONT)

    wait_until(lambda: pings(hasty))
    assert hasty.sizes("q").pending == 1
    hasty.links.close()


def processes_of(server):
    import psutil

    parent = psutil.Process(server.process.pid)
    return [parent, *parent.children(recursive=True)]


def pings(shard):
    try:
        shard.ping()
    except BrokerUnavailable:
        return False
    return True


def test_redis_and_postgresql_share_the_jobs_of_a_queue(
    postgres_dsn, redis_server, redis_url, tmp_path
):
    conf = {"broker_transport_options": {"claim_timeout_s": 3, "shards": [postgres_dsn]}}
    env = {
        "ARAGOG_TEST_BROKER": of_socket(redis_server.socket),
        "ARAGOG_TEST_NOTES": redis_server.url,
        "ARAGOG_TEST_CONF": json.dumps(conf),
    }
    shards = connect_shards([redis_url, postgres_dsn])
    numbers = []
    with make(env["ARAGOG_TEST_BROKER"], **conf) as app:

        def both_have_some():
            """A shard that was slow to answer is left out for a while."""
            numbers.append(str(len(numbers)))
            app.send_task("say", (numbers[-1],))
            return min(shard.sizes("celery").pending for shard in shards) > 5

        wait_until(both_have_some)
        with (
            Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]),
            redis.Redis.from_url(redis_url) as client,
        ):
            wait_until(lambda: sum(s.sizes("celery").succeeded for s in shards) >= len(numbers))
            notes = [note.decode() for note in client.lrange("notes", 0, -1)]
    shards[1].links.close()

    assert set(notes) == set(numbers)


def test_claims_from_many_connections_at_once_take_each_job_once(postgres_dsn):
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


def test_a_claim_from_before_a_promotion_is_void_and_its_job_runs_again(postgres_dsn):
    # Its replica may lack the last second: what the worker wrote in it is lost with that second.
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


def test_a_job_due_in_a_century_waits(postgres_dsn):
    shard, century_ms = PostgresShard(postgres_dsn, timeout_s=60), 100 * 365 * 86_400_000
    shard.enqueue("q", [NewJob(b"x", delay_ms=century_ms)])

    [job] = shard.later("q", limit=1)

    assert job.at_ms - shard.age_ms()[0] > century_ms - 86_400_000
    assert shard.claim("q", ClaimRequest(limit=1, timeout_ms=1, worker="w")).claims == ()
    shard.links.close()


def test_a_cluster_of_postgresql_alone_raises_for_no_shard_that_it_can_leave_out(postgres_dsn):
    cluster = Cluster(connect_shards([postgres_dsn]))

    assert cluster.first is None
    assert not cluster.enqueue("q", [NewJob(b"x")])[0].already_there
    cluster.shards[0].links.close()
