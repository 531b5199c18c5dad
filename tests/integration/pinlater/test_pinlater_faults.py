"""Killed workers, broker outages, lost shards: nothing is lost, and little runs twice."""

import json
import socket
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest
import redis
from kombu.exceptions import OperationalError

from aragog.standalone.redis_server import RedisServer
from pinlater.brokers import of_socket
from pinlater.cluster import Cluster, connect_shards
from pinlater.errors import BrokerUnavailable
from pinlater.models import ClaimRequest, NewJob
from pinlater.redis_shard import RedisShard
from pinlater.transport.channel import HeartbeatNotSent
from tests.support.celery_worker import Worker
from tests.support.job_places import RedisPlace, freeze, on_both, on_both_in_pools, thaw
from tests.support.pinlater_app import CLAIM_TIMEOUT_S, make
from tests.support.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"


@on_both
def test_only_jobs_held_by_a_killed_worker_run_twice(place, tmp_path):
    in_flight, waiting = 500, 2500 if isinstance(place, RedisPlace) else 500
    env = place.with_conf(worker_prefetch_multiplier=10)
    worker = Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c50"]).start()
    with place.app.producer_pool.acquire(block=True) as producer, producer.batch():
        for number in range(in_flight + waiting):
            place.app.send_task("gated", (number,), producer=producer)
    wait_until(lambda: place.running() == in_flight and len(place.notes()) == 50)
    worker.kill()
    claims = {
        json.loads(job.body)["headers"]["argsrepr"].strip("(,)")
        for job in place.shard.jobs("celery", "RUNNING", limit=in_flight)
    }
    place.expire_claims()
    place.client.set("gate is open", 1)

    with Worker(APP, tmp_path / "log2", env=env, args=["-P", "threads", "-c10"]):
        wait_until(lambda: place.shard.sizes("celery").succeeded == in_flight + waiting)

    ran = Counter(place.notes())
    assert len(claims) == in_flight
    assert set(ran) == set(map(str, range(in_flight + waiting)))
    assert {number for number, times in ran.items() if times > 1} <= claims


CELERYS_DEFAULTS = {"task_acks_late": False, "task_reject_on_worker_lost": None}


def kill_while_running(place, worker, *, acknowledged_early=False):
    place.app.send_task("gated", (1,))
    wait_until(lambda: place.notes() == ["1"])
    # An early acknowledgment is sent by a different thread from the task's.
    wait_until(lambda: place.shard.sizes("celery").succeeded == int(acknowledged_early))
    assert place.shard.sizes("celery").pending == 0
    worker.kill()
    place.client.set("gate is open", 1)


def test_celery_defaults_lose_the_jobs_of_a_killed_worker_and_it_warns(place, tmp_path):
    env = place.with_conf(**CELERYS_DEFAULTS) | {"ARAGOG_TEST_PLAIN_CELERY": "1"}
    worker = Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c1"]).start()
    wait_until(lambda: place.client.ping() and "at_least_once(app)" in worker.log.read_text())
    wait_until(lambda: worker.log.read_text().count("at_least_once(app)") == 2)
    log = worker.log.read_text()
    kill_while_running(place, worker, acknowledged_early=True)

    assert "a killed worker's jobs do not run again: tasks are acknowledged before they run" in log
    assert "the job of a task that raises counts as succeeded (add, boom, dogged" in log
    assert place.shard.sizes("celery").succeeded == 1


def test_at_least_once_reruns_the_jobs_of_a_killed_worker_without_warnings(place, tmp_path):
    env = place.with_conf(**CELERYS_DEFAULTS) | {"ARAGOG_TEST_AT_LEAST_ONCE": "1"}
    args = ["-P", "threads", "-c1"]
    kill_while_running(place, Worker(APP, tmp_path / "log", env=env, args=args).start())
    place.expire_claims()
    with Worker(APP, tmp_path / "log", env=env, args=args) as worker:
        place.app.send_task("boom")
        wait_until(lambda: place.shard.sizes("celery").succeeded == 1)
        wait_until(lambda: place.shard.sizes("celery").failed == 1)
        assert "at_least_once" not in worker.log.read_text()

    assert Counter(place.notes()) == {"1": 2, "boom": 1}


@on_both
def test_killed_worker_of_several_queues_loses_no_jobs(place, tmp_path):
    # The first job of every queue has the same ID, and its first claim the same token.
    queues = [f"queue{number}" for number in range(5)]
    args = ["-P", "threads", "-c10", "-Q", ",".join(queues)]
    worker = Worker(APP, tmp_path / "log", env=place.with_conf(), args=args).start()
    for queue in queues:
        place.app.send_task("gated", (queue,), queue=queue)
    wait_until(lambda: sorted(place.notes()) == queues)
    place.app.send_task("say", ("quick",), queue=queues[0])
    wait_until(lambda: place.shard.sizes(queues[0]).succeeded == 1)
    assert [place.running(queue) for queue in queues] == [1] * 5
    worker.kill()
    place.expire_claims(*queues)
    place.client.set("gate is open", 1)

    with Worker(APP, tmp_path / "log2", env=place.with_conf(), args=args):
        wait_until(
            lambda: sum(place.shard.sizes(queue).succeeded for queue in queues) == 1 + len(queues)
        )

    assert Counter(place.notes()) == {"quick": 1} | dict.fromkeys(queues, 2)


@on_both
def test_broker_restart_loses_no_job_and_repeats_running_ones_at_most(own_place, tmp_path):
    env = own_place.with_conf()
    with Worker(APP, tmp_path / "log", env=env, args=["-c2"]) as worker:
        for i in range(4):
            own_place.app.send_task("say", (f"slow{i}", 2.0))
        own_place.app.send_task("say", ("eta",), countdown=3)
        wait_until(lambda: own_place.running() == 4)
        wait_until(lambda: len(own_place.notes()) >= 2)  # two run, and two wait in the worker
        own_place.server.stop()
        wait_until(lambda: own_place.lost in worker.log.read_text())
        own_place.server.start()
        wait_until(lambda: own_place.shard.sizes("celery").succeeded == 5)

        assert worker.process.poll() is None

    # Messages from tasks that ran during the restart may be lost, so these tasks run again.
    notes = own_place.notes()
    most = 2 if isinstance(own_place, RedisPlace) else 1
    assert {"eta", *(f"slow{i} done" for i in range(4))} <= set(notes)
    assert max(Counter(notes).values()) <= most


@on_both_in_pools
def test_prefetched_jobs_run_once_after_a_broken_connection(own_place, tmp_path, pool):
    """With a thread pool, they ran once more for each lost connection."""
    conf = {"worker_prefetch_multiplier": 4, "broker_transport_options": {"claim_timeout_s": 60}}
    env = own_place.with_conf(**conf)
    with Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]):
        for number in range(12):
            own_place.app.send_task("gated", (number,))
        wait_until(lambda: own_place.running() == 8 and len(own_place.notes()) == 2)
        for _ in range(2):
            claimed = own_place.shard.stats("celery")["claimed"]
            own_place.cut_connections()
            wait_until(partial(has_claimed_again, own_place, claimed))
        own_place.noted.set("gate is open", 1)
        wait_until(lambda: own_place.shard.sizes("celery").succeeded == 12)
        ran = own_place.notes()

    assert Counter(map(int, ran)) == dict.fromkeys(range(12), 1)


def has_claimed_again(place, claimed):
    """Its worker has returned its claims and claimed again since."""
    return place.shard.stats("celery")["claimed"] > claimed


@on_both
def test_task_published_during_an_outage_keeps_its_eta(own_place):
    own_place.app.send_task("say", ("connects",), countdown=3600)
    own_place.server.stop()
    # PostgreSQL takes longer to start than Celery retries a message by default.
    patient = {"max_retries": 1000, "interval_start": 0.1, "interval_step": 0.1}
    publish = threading.Thread(
        target=own_place.app.send_task,
        args=("say", ("late",)),
        kwargs={"countdown": 3600, "retry_policy": patient},
    )
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind(str(own_place.socket))
        nobody.listen()
        nobody.settimeout(WITHIN_S)
        publish.start()
        nobody.accept()[0].close()
    own_place.socket.unlink()
    own_place.server.start()
    publish.join()

    sizes = own_place.shard.sizes("celery")
    assert (sizes.due, sizes.later) == (0, 2)


@on_both_in_pools
def test_worker_with_a_dead_broker_logs_no_attribute_error(own_place, tmp_path, pool):
    # Closing the rest of the connection must not raise anything that Celery does not expect.
    env = own_place.with_conf()
    with Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]) as worker:
        own_place.server.kill()
        wait_until(lambda: own_place.lost in worker.log.read_text())
        own_place.server.start()
        wait_until(lambda: own_place.has_returned(worker.log.read_text()))
        done = own_place.app.send_task("add", (1, 2)).get(timeout=120)

    assert done == 3
    assert "Traceback" not in worker.log.read_text()


@on_both
def test_worker_continues_after_its_broker_hung(own_place, tmp_path):
    lost = "Connection to broker lost" if isinstance(own_place, RedisPlace) else own_place.lost
    env = own_place.with_conf()
    with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]) as worker:
        own_place.app.send_task("add", (1, 1)).get(timeout=120)
        freeze(own_place.server)
        wait_until(lambda: lost in worker.log.read_text())
        thaw(own_place.server)

        def send(second, **options):
            # On a busy machine, the server may take a while to answer again.
            with suppress(OperationalError):
                return own_place.app.send_task("add", (1, second), **options)

        for _ in range(3):
            assert wait_until(lambda: send(2)).get(timeout=120) == 3
        assert wait_until(lambda: send(3, countdown=0.5)).get(timeout=120) == 4


def test_heartbeat_to_a_hung_broker_is_given_up(own_place):
    # A heartbeat sent while the server hung waited for its reply, or was repeated, without end; the
    # worker neither noticed nor stopped when asked to.
    with own_place.app.connection() as connection:
        dispatcher = own_place.app.events.Dispatcher(connection, buffer_while_offline=False)
        dispatcher.send("worker-heartbeat")
        freeze(own_place.server)
        try:
            with pytest.raises(HeartbeatNotSent):
                dispatcher.send("worker-heartbeat", retry=True)  # as Celery's workers do
        finally:
            thaw(own_place.server)


@on_both_in_pools
def test_worker_continues_after_its_broker_was_a_replica(own_place, tmp_path, pool):
    # What existing connections see during a failover: writes are refused. No claim expires in the
    # meantime, however busy the machine is.
    env = own_place.with_conf(broker_transport_options={"claim_timeout_s": 30})
    env["ARAGOG_TEST_RESULTS"] = ""
    with Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]) as worker:
        for i in range(2):
            own_place.app.send_task("say", (f"running {i}", 3.0))
        for i in range(10):
            own_place.app.send_task("say", (f"waiting {i}",), countdown=1)
        wait_until(lambda: len(own_place.notes()) == 2)  # both have started
        log = worker.log.read_text()  # on PostgreSQL, it names only the first refusal
        own_place.refuse_writes()
        with pytest.raises(OperationalError):
            own_place.app.send_task("say", ("refused",), retry=False)
        refused = own_place.refused(log)
        wait_until(lambda: len(own_place.notes()) >= 4)  # and finished
        wait_until(lambda: own_place.refused(worker.log.read_text()) > refused)
        own_place.accept_writes()
        wait_until(lambda: own_place.shard.sizes("celery").succeeded == 12)

        assert worker.process.poll() is None

    assert Counter(own_place.notes()) == {
        **{f"waiting {i}": 1 for i in range(10)},
        **{f"running {i}{done}": 1 for i in range(2) for done in ("", " done")},
    }


@pytest.fixture
def two(jobs_in, request, own_redis):
    """A Redis and another server that the test breaks."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        if jobs_in == "postgres":
            yield own_redis, request.getfixturevalue("own_postgres")
            return
        second = RedisServer(Path(folder), persistent=True).start()
        yield own_redis, second
        second.stop()


def url_of(server):
    return server.url if isinstance(server, RedisServer) else server.dsn


def shards_of(two):
    return connect_shards([url_of(server) for server in two])


def is_gone(shard):
    try:
        shard.ping()
    except BrokerUnavailable:
        return True
    return False


def is_spread(cluster):
    """
    Add jobs; returns whether each shard has at least a fifth. A slow shard is left out for a while.
    """
    cluster.enqueue("q", [NewJob(b"x")] * 100)
    with suppress(BrokerUnavailable):
        sizes = [shard.sizes("q").pending for shard in cluster.shards]
        return min(sizes) > sum(sizes) / 5


@on_both
def test_jobs_are_spread_over_the_shards_and_avoid_a_lost_one(two):
    second = two[1]
    cluster = Cluster(shards_of(two))
    wait_until(lambda: is_spread(cluster))
    second.kill()
    # The PostgreSQL process of a connection ends a moment later and may still take a job.
    wait_until(lambda: is_gone(cluster.shards[1]))

    taken = cluster.enqueue("q", [NewJob(b"x")] * 100)

    assert {answer.job_id[0] for answer in taken} == {"0"}
    assert not cluster.breakers["1"].is_healthy
    with pytest.raises(BrokerUnavailable):
        cluster.shards[1].sizes("q")


@on_both
def test_worker_reads_all_shards_and_a_lost_one_keeps_its_jobs(two, tmp_path):
    first, second = two
    options = {"claim_timeout_s": CLAIM_TIMEOUT_S, "shards": [url_of(second)]}
    conf = {"broker_transport_options": options}
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as other:
        env = {
            "ARAGOG_TEST_BROKER": of_socket(first.socket),
            "ARAGOG_TEST_NOTES": other.url,
            "ARAGOG_TEST_CONF": json.dumps(conf),
        }
        shards = shards_of(two)
        with make(env["ARAGOG_TEST_BROKER"], **conf) as app:
            sent = send_to_both(app, shards)
            waiting = shards[1].sizes("celery").pending
            second.stop()
            with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]):
                wait_until(lambda: shards[0].sizes("celery").succeeded == sent - waiting)
                for i in range(5):
                    app.send_task("say", (f"after {i}",))
                wait_until(lambda: shards[0].sizes("celery").succeeded == sent + 5 - waiting)
                second.start()
                wait_until(lambda: shards[1].sizes("celery").pending == 0)
                wait_until(lambda: shards[1].sizes("celery").running == 0)

    assert [shard.sizes("celery").succeeded for shard in shards] == [sent + 5 - waiting, waiting]


@on_both
def test_hung_shard_is_left_out_and_keeps_its_jobs(two, tmp_path):
    first, second = two
    shards = shards_of(two)
    options = {"claim_timeout_s": CLAIM_TIMEOUT_S, "shards": [url_of(second)]}
    conf = {"broker_transport_options": options}
    env = {
        "ARAGOG_TEST_BROKER": of_socket(first.socket),
        "ARAGOG_TEST_NOTES": first.url,
        "ARAGOG_TEST_CONF": json.dumps(conf),
    }
    with (
        make(env["ARAGOG_TEST_BROKER"], **conf) as app,
        Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]),
        redis.Redis.from_url(first.url) as client,
    ):
        later = send_to_both(app, shards, "later ", countdown=5)
        waiting = shards[1].sizes("celery").pending
        freeze(second)
        for i in range(40):
            app.send_task("say", (str(i),))
        wait_until(lambda: client.llen("notes") >= later + 40 - waiting)
        thaw(second)
        # Not by the number of succeeded jobs: before it hung, the server may have accepted one that
        # the producer, without a receipt, gave to the other.
        everything = {f"later {i}".encode() for i in range(later)}
        everything |= {str(i).encode() for i in range(40)}
        assert wait_until(lambda: everything <= set(client.lrange("notes", 0, -1)))


def send_to_both(app, shards, text="", **options):
    """Send tasks until each shard has some (a slow one gets them late); returns how many."""
    numbers = count()

    def both_have_some():
        for number in islice(numbers, 20):
            app.send_task("say", (f"{text}{number}",), **options)
        return min(shard.sizes("celery").pending for shard in shards) > 5

    wait_until(both_have_some)
    return next(numbers)


def appended(server):
    """The append-only file that a server is writing to."""
    files = [path for path in server.folder.rglob("*.aof*") if "manifest" not in path.name]
    # The base file may be completed after the first write to the incremental file beside it.
    return max(files, key=lambda path: ("incr" in path.name, path.stat().st_mtime_ns))


def test_job_whose_follow_up_was_lost_in_a_restart_runs_again(own_redis):
    # Its ack was accepted after the restart, and its URLs were missing for two days.
    client = redis.Redis.from_url(own_redis.url)
    shard = RedisShard(client)
    shard.enqueue("q", [NewJob(b"first")])
    [job] = shard.claim("q", ClaimRequest(limit=1, timeout_ms=600_000, worker="w")).claims
    # The server may still be writing its first file and continue in another one.
    wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
    shard.enqueue("next", [NewJob(b"x" * 1500)])
    file = appended(own_redis)
    wait_until(lambda: file.stat().st_size > 1500)  # a busy disk delays the write
    own_redis.kill()
    with file.open("r+b") as tail:
        tail.truncate(file.stat().st_size - 1500)
    own_redis.start()
    assert shard.sizes("next").pending == 0

    assert shard.ack("q", [(job.job_id, job.token)]) == [False]

    [again] = shard.claim("q", ClaimRequest(limit=1, timeout_ms=600_000, worker="w")).claims
    assert (again.job_id, again.attempt) == (job.job_id, 1)
    assert again.token > job.token + 1000
    assert shard.ack("q", [(again.job_id, again.token)]) == [True]
    [following] = shard.enqueue("q", [NewJob(b"second")])
    assert int(following.job_id, 16) > again.token
    client.close()
