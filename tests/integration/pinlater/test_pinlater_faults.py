"""Killed workers, a broker that goes away, lost shards: nothing is lost, little runs twice."""

import json
import signal
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

from aragog.errors import BrokerUnavailable
from aragog.pinlater.brokers import of_socket
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.pinlater.models import ClaimRequest, NewJob
from aragog.pinlater.redis_shard import RedisShard
from aragog.pinlater.transport.channel import HeartbeatNotSent
from aragog.standalone.redis_server import RedisServer
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import CLAIM_TIMEOUT_S, make
from tests.support.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"


def with_conf(place, **conf):
    conf.setdefault("broker_transport_options", {"claim_timeout_s": CLAIM_TIMEOUT_S})
    return place.env | {"ARAGOG_TEST_CONF": json.dumps(conf)}


def test_all_but_what_a_killed_worker_held_runs_exactly_once(place, tmp_path):
    in_flight, waiting = 500, 2500
    env = with_conf(place, worker_prefetch_multiplier=10)
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


def kill_while_it_runs(place, worker, *, acknowledged_early=False):
    place.app.send_task("gated", (1,))
    wait_until(lambda: place.notes() == ["1"])
    # An early acknowledgment is sent by another thread than the task's.
    wait_until(lambda: place.shard.sizes("celery").succeeded == int(acknowledged_early))
    assert place.shard.sizes("celery").pending == 0
    worker.kill()
    place.client.set("gate is open", 1)


def test_with_celerys_defaults_the_jobs_of_a_killed_worker_are_lost_and_it_warned(place, tmp_path):
    env = with_conf(place, **CELERYS_DEFAULTS) | {"ARAGOG_TEST_PLAIN_CELERY": "1"}
    worker = Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c1"]).start()
    wait_until(lambda: place.client.ping() and "at_least_once(app)" in worker.log.read_text())
    wait_until(lambda: worker.log.read_text().count("at_least_once(app)") == 2)
    log = worker.log.read_text()
    kill_while_it_runs(place, worker, acknowledged_early=True)

    assert "a killed worker's jobs do not run again: tasks are acknowledged before they run" in log
    assert "the job of a task that raises counts as succeeded (add, boom, dogged" in log
    assert place.shard.sizes("celery").succeeded == 1


def test_after_one_call_the_jobs_of_a_killed_worker_run_again_and_it_warns_of_nothing(
    place, tmp_path
):
    env = with_conf(place, **CELERYS_DEFAULTS) | {"ARAGOG_TEST_AT_LEAST_ONCE": "1"}
    args = ["-P", "threads", "-c1"]
    kill_while_it_runs(place, Worker(APP, tmp_path / "log", env=env, args=args).start())
    place.expire_claims()
    with Worker(APP, tmp_path / "log", env=env, args=args) as worker:
        place.app.send_task("boom")
        wait_until(lambda: place.shard.sizes("celery").succeeded == 1)
        wait_until(lambda: place.shard.sizes("celery").failed == 1)
        assert "at_least_once" not in worker.log.read_text()

    assert Counter(place.notes()) == {"1": 2, "boom": 1}


def test_a_killed_worker_of_several_queues_loses_none_of_their_jobs(place, tmp_path):
    # Each queue's first job has the same id, and its first claim the same token.
    queues = [f"queue{number}" for number in range(5)]
    args = ["-P", "threads", "-c10", "-Q", ",".join(queues)]
    worker = Worker(APP, tmp_path / "log", env=with_conf(place), args=args).start()
    for queue in queues:
        place.app.send_task("gated", (queue,), queue=queue)
    wait_until(lambda: sorted(place.notes()) == queues)
    place.app.send_task("say", ("quick",), queue=queues[0])
    wait_until(lambda: place.shard.sizes(queues[0]).succeeded == 1)
    assert [place.running(queue) for queue in queues] == [1] * 5
    worker.kill()
    place.expire_claims(*queues)
    place.client.set("gate is open", 1)

    with Worker(APP, tmp_path / "log2", env=with_conf(place), args=args):
        wait_until(
            lambda: sum(place.shard.sizes(queue).succeeded for queue in queues) == 1 + len(queues)
        )

    assert Counter(place.notes()) == {"quick": 1} | dict.fromkeys(queues, 2)


def test_a_broker_that_restarts_costs_no_job_and_doubles_what_ran_at_most(own_place, tmp_path):
    env = with_conf(own_place)
    # What the tasks note must be kept elsewhere.
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as other:
        env["ARAGOG_TEST_NOTES"] = other.url
        with Worker(APP, tmp_path / "log", env=env, args=["-c2"]) as worker:
            for i in range(4):
                own_place.app.send_task("say", (f"slow{i}", 2.0))
            own_place.app.send_task("say", ("eta",), countdown=3)
            wait_until(lambda: own_place.running() == 4)
            with redis.Redis.from_url(other.url) as notes_of:
                wait_until(lambda: notes_of.llen("notes") >= 2)  # two run, two wait in the worker
            own_place.server.stop()
            wait_until(lambda: "Cannot connect" in worker.log.read_text())
            own_place.server.start()
            wait_until(lambda: own_place.shard.sizes("celery").succeeded == 5)

            assert worker.process.poll() is None
        with make("memory://", other.url.replace("unix", "redis+socket")) as app:
            notes = [n.decode() for n in app.backend.client.lrange("notes", 0, -1)]

    # What ran while the server restarted may have sent messages that were lost: it runs again.
    assert {"eta", *(f"slow{i} done" for i in range(4))} <= set(notes)
    assert max(Counter(notes).values()) <= 2


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_what_waits_in_a_worker_whose_connection_breaks_runs_once(
    own_place, redis_url, tmp_path, pool
):
    """A thread pool ran it once more for each connection that was lost."""
    conf = {"worker_prefetch_multiplier": 4, "broker_transport_options": {"claim_timeout_s": 60}}
    # The tasks' own connections must not be cut: a task that meets that fails.
    env = with_conf(own_place, **conf) | {"ARAGOG_TEST_NOTES": redis_url}
    with (
        redis.Redis.from_url(redis_url) as notes,
        Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]),
    ):
        for number in range(12):
            own_place.app.send_task("gated", (number,))
        wait_until(lambda: own_place.running() == 8 and notes.llen("notes") == 2)
        for _ in range(2):
            claimed = own_place.shard.stats("celery")["claimed"]
            # A full worker reads from this connection alone; others are replaced without a word.
            wait_until(partial(own_place.client.client_list, _type="pubsub"))
            for kind in ("normal", "pubsub"):
                own_place.client.client_kill_filter(_type=kind, skipme=True)
            wait_until(partial(claims_again, own_place, claimed))
        notes.set("gate is open", 1)
        wait_until(lambda: own_place.shard.sizes("celery").succeeded == 12)
        ran = notes.lrange("notes", 0, -1)

    assert Counter(map(int, ran)) == dict.fromkeys(range(12), 1)


def claims_again(place, claimed):
    """Its worker has given back what it had claimed, and claimed after that."""
    return place.shard.stats("celery")["claimed"] > claimed


def test_a_task_that_is_published_into_an_outage_keeps_its_eta(own_place):
    own_place.app.send_task("say", ("connects",), countdown=3600)
    own_place.server.stop()
    publish = threading.Thread(
        target=own_place.app.send_task, args=("say", ("late",)), kwargs={"countdown": 3600}
    )
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind(str(own_place.server.socket))
        nobody.listen()
        nobody.settimeout(WITHIN_S)
        publish.start()
        nobody.accept()[0].close()
    own_place.server.socket.unlink()
    own_place.server.start()
    publish.join()

    sizes = own_place.shard.sizes("celery")
    assert (sizes.due, sizes.later) == (0, 2)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_whose_broker_died_logs_no_attribute_error(own_place, tmp_path, pool):
    # Closing what is left of the connection must raise nothing that Celery does not expect.
    with Worker(
        APP, tmp_path / "log", env=with_conf(own_place), args=["-P", pool, "-c2"]
    ) as worker:
        own_place.server.kill()
        wait_until(lambda: "Cannot connect" in worker.log.read_text())
        own_place.server.start()
        wait_until(lambda: worker.log.read_text().count("Connected to") == 2)
        done = own_place.app.send_task("add", (1, 2)).get(timeout=120)

    assert done == 3
    assert "Traceback" not in worker.log.read_text()


def test_a_worker_goes_on_after_its_broker_hung(own_place, tmp_path):
    with Worker(
        APP, tmp_path / "log", env=with_conf(own_place), args=["-P", "threads", "-c2"]
    ) as worker:
        own_place.app.send_task("add", (1, 1)).get(timeout=120)
        own_place.server.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: "Connection to broker lost" in worker.log.read_text())
        own_place.server.process.send_signal(signal.SIGCONT)

        for _ in range(3):
            assert own_place.app.send_task("add", (1, 2)).get(timeout=120) == 3
        assert own_place.app.send_task("add", (1, 3), countdown=0.5).get(timeout=120) == 4


def test_a_heartbeat_for_a_broker_that_hangs_is_given_up(own_place):
    # What was seen: a heartbeat that was sent while the server hung waited for its reply, or was
    # repeated, without end, so the worker neither noticed nor ended when it was asked to.
    with own_place.app.connection() as connection:
        dispatcher = own_place.app.events.Dispatcher(connection, buffer_while_offline=False)
        dispatcher.send("worker-heartbeat")
        own_place.server.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(HeartbeatNotSent):
                dispatcher.send("worker-heartbeat", retry=True)  # as Celery's workers do
        finally:
            own_place.server.process.send_signal(signal.SIGCONT)


def writes_refused(client):
    """How many writes a replica has refused."""
    return client.info("errorstats").get("errorstat_READONLY", {}).get("count", 0)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_goes_on_after_its_broker_was_a_replica_for_a_while(own_place, tmp_path, pool):
    # What a failover looks like to who is connected already: nothing may be written.
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as other:
        # No claim expires meanwhile, however busy the machine is.
        conf = with_conf(own_place, broker_transport_options={"claim_timeout_s": 30})
        env = conf | {"ARAGOG_TEST_NOTES": other.url, "ARAGOG_TEST_RESULTS": ""}
        with Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]) as worker:
            for i in range(2):
                own_place.app.send_task("say", (f"running {i}", 3.0))
            for i in range(10):
                own_place.app.send_task("say", (f"waiting {i}",), countdown=1)
            with redis.Redis.from_url(other.url) as client:
                wait_until(lambda: client.llen("notes") == 2)  # both have begun
            own_place.client.replicaof("127.0.0.1", 1)
            with pytest.raises(OperationalError):
                own_place.app.send_task("say", ("refused",), retry=False)
            refused = writes_refused(own_place.client)
            with redis.Redis.from_url(other.url) as client:
                wait_until(lambda: client.llen("notes") >= 4)  # and ended
            wait_until(lambda: writes_refused(own_place.client) > refused)
            own_place.client.replicaof("no", "one")
            wait_until(lambda: own_place.shard.sizes("celery").succeeded == 12)

            assert worker.process.poll() is None
        with redis.Redis.from_url(other.url) as client:
            notes = Counter(note.decode() for note in client.lrange("notes", 0, -1))

    assert notes == {
        **{f"waiting {i}": 1 for i in range(10)},
        **{f"running {i}{done}": 1 for i in range(2) for done in ("", " done")},
    }


@pytest.fixture
def two(own_redis):
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        second = RedisServer(Path(folder), persistent=True).start()
        yield own_redis, second
        second.stop()


def is_spread(cluster):
    """Add jobs; whether no shard has less than a fifth. A slow one is left out for a while."""
    cluster.enqueue("q", [NewJob(b"x")] * 100)
    with suppress(BrokerUnavailable):
        sizes = [shard.sizes("q").pending for shard in cluster.shards]
        return min(sizes) > sum(sizes) / 5


def test_jobs_spread_over_the_shards_and_go_round_one_that_is_lost(two):
    first, second = two
    cluster = Cluster(connect_shards([first.url, second.url]))
    wait_until(lambda: is_spread(cluster))
    second.kill()

    taken = cluster.enqueue("q", [NewJob(b"x")] * 100)

    assert {answer.job_id[0] for answer in taken} == {"0"}
    assert not cluster.breakers["1"].healthy
    with pytest.raises(BrokerUnavailable):
        cluster.shards[1].sizes("q")


def test_a_worker_reads_all_shards_and_a_lost_one_keeps_its_jobs(two, tmp_path):
    first, second = two
    options = {"claim_timeout_s": CLAIM_TIMEOUT_S, "shards": [second.url]}
    conf = {"broker_transport_options": options}
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as other:
        env = {
            "ARAGOG_TEST_BROKER": of_socket(first.socket),
            "ARAGOG_TEST_NOTES": other.url,
            "ARAGOG_TEST_CONF": json.dumps(conf),
        }
        shards = connect_shards([first.url, second.url])
        with make(env["ARAGOG_TEST_BROKER"], **conf) as app:
            sent = sent_to_both(app, shards)
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


def test_a_shard_that_hangs_is_left_out_and_keeps_its_jobs(two, tmp_path):
    first, second = two
    shards = connect_shards([first.url, second.url])
    options = {"claim_timeout_s": CLAIM_TIMEOUT_S, "shards": [second.url]}
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
        later = sent_to_both(app, shards, "later ", countdown=5)
        waiting = shards[1].sizes("celery").pending
        second.process.send_signal(signal.SIGSTOP)
        for i in range(40):
            app.send_task("say", (str(i),))
        wait_until(lambda: client.llen("notes") >= later + 40 - waiting)
        second.process.send_signal(signal.SIGCONT)
        # Not by the count of jobs that succeeded: the server may have taken one before it hung that
        # the producer, who got no receipt, gave to the other.
        everything = {f"later {i}".encode() for i in range(later)}
        everything |= {str(i).encode() for i in range(40)}
        assert wait_until(lambda: everything <= set(client.lrange("notes", 0, -1)))


def sent_to_both(app, shards, text="", **options):
    """Send tasks until each shard has some, which one that was slow gets late; how many."""
    numbers = count()

    def both_have_some():
        for number in islice(numbers, 20):
            app.send_task("say", (f"{text}{number}",), **options)
        return min(shard.sizes("celery").pending for shard in shards) > 5

    wait_until(both_have_some)
    return next(numbers)


def appended(server):
    """The append-only file that a server writes to now."""
    files = [path for path in server.folder.rglob("*.aof*") if "manifest" not in path.name]
    # The base file may be finished after the first write to the increment beside it.
    return max(files, key=lambda path: ("incr" in path.name, path.stat().st_mtime_ns))


def test_a_job_whose_follow_up_was_lost_with_the_servers_tail_runs_again(own_redis):
    # What was seen: its ack was taken after the restart, and its URLs were gone for two days.
    client = redis.Redis.from_url(own_redis.url)
    shard = RedisShard(client)
    shard.enqueue("q", [NewJob(b"first")])
    [job] = shard.claim("q", ClaimRequest(limit=1, timeout_ms=600_000, worker="w")).claims
    file = appended(own_redis)
    shard.enqueue("next", [NewJob(b"x" * 1500)])
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
