"""What Celery users rely on, with unmodified workers on `pinlater://`."""

import base64
import json
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from kombu import Consumer, Exchange, Producer, Queue

from pinlater import publish_receipts
from pinlater.claims import stop_claims
from pinlater.models import JobState, NewJob
from pinlater.transport.celery_consumer import EVENTS_EVERY_S
from tests.support.celery_worker import Worker
from tests.support.job_places import on_both, on_both_in_pools
from tests.support.pinlater_app import CLAIM_TIMEOUT_S, make
from tests.support.redis_variants import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"
THREE_HOURS_MS = 3 * 3600 * 1000


def assert_tasks_run_now_later_and_on_retry(app):
    now = app.send_task("add", (1, 2))
    started_at_s = time.monotonic()
    later = app.send_task("add", (3, 4), countdown=0.5)
    again = app.send_task("stubborn")

    assert now.get(timeout=120) == 3
    assert later.get(timeout=120) == 7
    assert time.monotonic() - started_at_s >= 0.5
    assert again.get(timeout=120) == 2


def test_worker_with_threads_runs_immediate_delayed_and_retried_tasks(place, tmp_path):
    with Worker(APP, tmp_path / "log", env=place.env, args=["-P", "threads", "-c2"]):
        assert_tasks_run_now_later_and_on_retry(place.app)


def test_solo_worker_runs_urgent_tasks_first_and_its_own_queue(place, tmp_path):
    for priority in (9, 0, 5, 7):
        place.app.send_task("say", (str(priority),), priority=priority)
    options = {"worker_prefetch_multiplier": 1, "worker_direct": True}
    env = place.env | {"ARAGOG_TEST_CONF": json.dumps(options)}

    with Worker(APP, tmp_path / "log", env=env, args=["-P", "solo", "-n", "me@here"]):
        wait_until(lambda: len(place.notes()) == 4)
        place.app.send_task("say", ("you",), exchange="C.dq2", routing_key="me@here")
        wait_until(lambda: len(place.notes()) == 5)
        assert_tasks_run_now_later_and_on_retry(place.app)

    assert place.notes() == ["0", "5", "7", "9", "you"]


def test_free_thread_gets_a_task_while_most_others_are_busy(place, tmp_path):
    # With three of twenty threads free, nothing was claimed until others had finished.
    env = place.env | {"ARAGOG_TEST_CONF": json.dumps({"worker_prefetch_multiplier": 1})}
    with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c20"]):
        for number in range(17):
            place.app.send_task("gated", (number,))
        wait_until(lambda: len(place.notes()) == 17)
        for text in ("a", "b", "c"):
            place.app.send_task("say", (text,))
        wait_until(lambda: len(place.notes()) == 20)
        later_notes = place.notes()[17:]
        place.client.set("gate is open", 1)

    assert set(later_notes) == {"a", "b", "c"}


def test_worker_without_prefetch_claims_only_what_it_can_start(place, tmp_path):
    env = place.env | {"ARAGOG_TEST_CONF": json.dumps({"worker_disable_prefetch": True})}
    with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]):
        for number in range(8):
            place.app.send_task("gated", (number,))
        wait_until(lambda: len(place.notes()) == 2)
        for _ in range(2):  # it polled again and could have claimed more
            assert place.app.control.ping(timeout=120, limit=1)
        running = place.running()
        place.client.set("gate is open", 1)
        wait_until(lambda: place.shard.sizes("celery").succeeded == 8)

    assert running == 2


@pytest.fixture
def _consumes_here():
    """Stops the consumers that a test started in this process."""
    yield
    stop_claims()


@pytest.mark.usefixtures("_consumes_here")
def test_broadcast_consumer_is_subscribed_when_it_consumes(place):
    """One of ten workers on a busy machine missed its first ping."""
    heard = []
    exchanges = [Exchange(name, type="fanout") for name in ("news", "weather")]
    with place.app.connection() as connection:
        channel = connection.channel()
        for exchange in exchanges:
            queue = Queue(f"of {exchange.name}", exchange, auto_delete=True)
            place.client.client_pause(300)  # the server accepts no subscription in the meantime
            Consumer(channel, [queue], callbacks=[lambda body, _: heard.append(body)]).consume()
            # The server has accepted it: no confirmation is left to read.
            assert not channel.subclient.connection.can_read(timeout=1)
        for exchange in exchanges:
            Producer(connection.channel(), exchange).publish(exchange.name)
        while len(heard) < 2:
            connection.drain_events(timeout=60)

    assert sorted(heard) == ["news", "weather"]


@on_both
@pytest.mark.usefixtures("_consumes_here")
def test_consumer_without_an_event_loop_gets_tasks_when_due(place):
    # As in kombu's own consumers and in workers with gevent or eventlet.
    received = []

    def take(message):
        received.append(message.headers["task"])
        message.ack()

    with place.app.connection() as connection:
        queue = Queue("celery", "celery", routing_key="celery")
        with Consumer(connection.channel(), [queue], on_message=take, prefetch_count=20):
            for name, countdown in (("third", 1.5), ("second", 1.0), ("first", 0.5)):
                place.app.send_task(name, countdown=countdown)
            # A busy machine may send the second a second after the first.
            waiting = place.shard.jobs("celery", JobState.PENDING, limit=3)
            for _ in range(3):
                connection.drain_events(timeout=120)

    assert received == [job.name for job in sorted(waiting, key=lambda job: job.at_ms)]
    assert place.shard.sizes("celery").succeeded == 3


@on_both
def test_tasks_end_in_the_correct_state(staffed):
    staffed.shard.configure("celery", {"retry_step_ms": 50, "max_attempts": 3})
    for name in ("boom", "moody", "later", "suicide", "nobody knows it"):
        staffed.app.send_task(name)
    staffed.app.send_task("refuse", kwargs={"requeue_until": 2})
    staffed.app.send_task("add", (1, 1))
    broken = NewJob(b"no message", name="broken", key="1")
    staffed.shard.enqueue("celery", [broken])

    sizes = wait_for_sizes(staffed, ended=8)
    failed = {job.name: job for job in staffed.shard.jobs("celery", JobState.FAILED, limit=20)}
    notes = staffed.notes()

    assert (sizes.succeeded, sizes.failed) == (2, 6)
    assert failed["boom"].problem == "ValueError: as asked"
    assert (notes.count("boom"), notes.count("moody"), notes.count("suicide")) == (1, 3, 3)
    assert notes.count("attempt 2") == 2
    assert failed["moody"].problem == "ValueError: not in the mood"
    assert failed["suicide"].problem.startswith("WorkerLostError")
    assert failed["refuse"].problem == "rejected: as asked"
    assert failed["refuse"].attempts == 2
    assert failed["nobody knows it"].problem == "refused: the worker does not know this task"
    assert failed["broken"].problem.startswith("malformed: job body")


def wait_for_sizes(place, *, ended):
    def done():
        sizes = place.shard.sizes("celery")
        return sizes.succeeded + sizes.failed == ended

    wait_until(done)
    return place.shard.sizes("celery")


def test_worker_answers_a_ping_while_another_shard_is_down(staffed, caplog):
    lost = {"shards": [f"redis://127.0.0.1:{free_port()}/0"]}
    app = make(staffed.env["ARAGOG_TEST_BROKER"], broker_transport_options=lost)

    replies = app.control.inspect(timeout=120, limit=1).ping()
    app.close()

    assert list(replies.values()) == [{"ok": "pong"}]
    assert "reply" not in caplog.text


@on_both
def test_control_inspect_revoke_events_and_purge_work(staffed):
    seen = []

    with staffed.app.connection() as connection:
        receiver = staffed.app.events.Receiver(connection, handlers={"*": seen.append})
        watch = threading.Thread(target=receiver.capture, kwargs={"wakeup": False})
        watch.start()
        wait_until(lambda: seen)  # a heartbeat
        under_way = staffed.app.send_task("gated", ("long",))
        wait_until(lambda: "long" in staffed.notes())
        revoked = staffed.app.send_task("say", ("revoked",), countdown=3 * 3600)
        assert staffed.app.control.revoke(revoked.id, reply=True, timeout=120, limit=1)
        staffed.pass_ms(THREE_HOURS_MS)
        inspect = staffed.app.control.inspect(timeout=120, limit=1)
        [active] = inspect.active().values()
        wait_until(lambda: staffed.shard.sizes("celery").pending == 0)
        for _ in range(3):
            staffed.app.send_task("say", ("never",), countdown=3600)
        purged = staffed.app.control.purge()
        staffed.client.set("gate is open", 1)
        wait_until(lambda: staffed.running() == 0)
        wait_until(lambda: any(e["type"] == "task-succeeded" for e in seen))
        wait_until(lambda: any(e["type"] == "task-revoked" for e in seen))
        receiver.should_stop = True
        watch.join()

    assert [task["id"] for task in active] == [under_way.id]
    assert purged == 3
    assert staffed.notes() == ["long"]
    assert {"task-received", "task-started", "task-succeeded"} <= {e["type"] for e in seen}


def test_events_of_tasks_are_sent_in_batches(staffed):
    # While Flower watched, a busy worker spent a quarter of its time sending events.
    messages = staffed.client.pubsub()
    messages.psubscribe("*task.multi")
    seen = []
    with staffed.app.connection() as connection:
        receiver = staffed.app.events.Receiver(connection, handlers={"*": seen.append})
        watch = threading.Thread(target=receiver.capture, kwargs={"wakeup": False})
        watch.start()
        wait_until(lambda: seen)  # a heartbeat
        started_s = time.monotonic()
        for number in range(100):
            staffed.app.send_task("say", (str(number),))
        wait_until(lambda: sum(e["type"] == "task-succeeded" for e in seen) == 100)
        passed_s = time.monotonic() - started_s
        receiver.should_stop = True
        watch.join()

    number = 0
    while (message := messages.get_message(timeout=0.1)) is not None:
        number += message["type"] == "pmessage"
    assert sum(e["type"].startswith("task-") for e in seen) >= 300
    assert 1 <= number <= 2 + passed_s / EVENTS_EVERY_S


def test_channel_reuses_one_client_until_its_connections_are_replaced(place):
    with place.app.connection() as connection, connection.channel() as channel:
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        channel._disconnect_pools()
        with channel.conn_or_acquire() as third:
            assert third is not first
            assert third.ping()


@on_both
def test_waiting_tasks_are_shown_as_scheduled_in_celerys_format(staffed):
    eta = datetime.now(UTC) + timedelta(hours=3)
    later = staffed.app.send_task("add", (1,), {"b": 2}, eta=eta + timedelta(hours=1))
    first = staffed.app.send_task("say", ("hi", 0.1), eta=eta, priority=7)
    staffed.app.send_task("nobody knows it", countdown=60)
    staffed.shard.enqueue("celery", [NewJob(b"no message", delay_ms=60_000)])
    staffed.app.send_task("boom")  # fails at once, so it is not scheduled
    wait_until(lambda: staffed.shard.sizes("celery").failed == 1)
    inspect = staffed.app.control.inspect(timeout=120, limit=1)

    [(worker, scheduled)] = inspect.scheduled().items()
    [tasks] = inspect.query_task(later.id, "unknown").values()

    assert [entry["request"]["id"] for entry in scheduled] == [first.id, later.id]
    assert scheduled[0] == {
        "eta": eta.isoformat(),
        "priority": 6,
        "request": {
            "id": first.id,
            "name": "say",
            "args": ["hi", 0.1],
            "kwargs": {},
            "type": "say",
            "hostname": worker,
            "time_start": None,
            "acknowledged": False,
            "delivery_info": {
                "exchange": "",
                "routing_key": "celery",
                "priority": 7,
                "redelivered": False,
            },
            "worker_pid": None,
        },
    }
    assert tasks == {later.id: ["scheduled", scheduled[1]["request"]]}
    assert staffed.running() == 0


def test_task_longer_than_its_claim_runs_once_beside_a_second_worker(staffed, tmp_path):
    conf = {"broker_transport_options": {"claim_timeout_s": CLAIM_TIMEOUT_S}}
    env = staffed.env | {"ARAGOG_TEST_CONF": json.dumps(conf)}
    longer_s = 2.2 * CLAIM_TIMEOUT_S
    with Worker(APP, tmp_path / "log2", env=env, args=["-P", "solo", "-n", "second@here"]):
        staffed.app.send_task("say", ("slow", longer_s))
        staffed.app.send_task("say", ("later",), countdown=longer_s)
        wait_until(lambda: len(staffed.notes()) == 3)

    assert sorted(staffed.notes()) == ["later", "slow", "slow done"]


@on_both
def test_task_with_an_eta_of_three_hours_is_delivered_once(staffed):
    staffed.app.send_task("say", ("in three hours",), countdown=3 * 3600)
    staffed.app.send_task("say", ("now",))
    wait_until(lambda: staffed.notes() == ["now"] and staffed.running() == 0)

    staffed.pass_ms(THREE_HOURS_MS)
    wait_until(lambda: len(staffed.notes()) == 2 and staffed.running() == 0)
    staffed.app.send_task("say", ("after",))
    wait_until(lambda: "after" in staffed.notes())

    assert staffed.notes() == ["now", "in three hours", "after"]


@on_both
def test_duplicate_unique_task_is_reported_as_already_there(staffed):
    with publish_receipts.collect_receipts() as reported:
        for _ in range(2):
            staffed.app.send_task("say", ("once", 0.2), countdown=3 * 3600, unique_key="page 7")
    staffed.pass_ms(THREE_HOURS_MS)
    wait_until(lambda: "once done" in staffed.notes() and staffed.running() == 0)
    with publish_receipts.collect_receipts() as later:
        staffed.app.send_task("say", ("again",), unique_key="page 7")
    wait_until(lambda: "again" in staffed.notes())

    assert [a.already_there for a in reported + later] == [False, True, False]
    assert staffed.notes() == ["once", "once done", "again"]


@on_both
def test_batch_of_tasks_is_published_together_and_each_is_due_at_its_time(staffed):
    with (
        publish_receipts.collect_receipts() as reported,
        staffed.app.producer_pool.acquire(block=True) as producer,
        producer.batch() as batch,
    ):
        for i in range(30):
            staffed.app.send_task("say", (str(i),), producer=producer, countdown=0.5 * (i % 2))
        before = list(reported)
        batch.flush()

    wait_until(lambda: len(staffed.notes()) == 30)
    assert before == []
    assert len({answer.job_id for answer in reported}) == 30
    assert staffed.shard.stats("celery")["enqueued"] == 30


def test_backlog_of_the_stock_transport_is_processed(staffed):
    with make(f"redis+socket://{staffed.server.socket}") as stock:
        for i in range(3):
            stock.send_task("say", (str(i),))

    wait_until(lambda: len(staffed.notes()) >= 3)
    assert sorted(staffed.notes()) == ["0", "1", "2"]


def test_stopped_worker_returns_unstarted_jobs(place, tmp_path):
    conf = {"worker_prefetch_multiplier": 8}
    env = place.env | {"ARAGOG_TEST_CONF": json.dumps(conf)}
    with Worker(APP, tmp_path / "log", env=env, args=["-c1"]):
        for i in range(5):
            place.app.send_task("say", (str(i), 1.0))
        wait_until(lambda: place.running() == 5)
        wait_until(place.notes)

    sizes = place.shard.sizes("celery")
    assert (sizes.running, sizes.due + sizes.succeeded) == (0, 5)
    assert sizes.succeeded < 5
    assert [j.attempts for j in place.shard.jobs("celery", JobState.PENDING, limit=9)] == [
        0
    ] * sizes.due


def changed(job, **parts):
    """The body of a job with a changed message."""
    return json.dumps(json.loads(job.body) | parts).encode()


@on_both_in_pools
def test_undecodable_message_is_kept_as_failed_and_stops_no_worker(place, tmp_path, pool):
    # One message that kombu could not decode stopped every worker that claimed it.
    place.app.send_task("say", ("first",))
    [job] = place.shard.jobs("celery", JobState.PENDING, limit=1)
    headers = json.loads(job.body)["headers"]
    broken = [
        changed(job, body="!!!"),
        changed(job, body=None),
        changed(job, body=base64.b64encode(b"\xff\xfe").decode()),
        changed(job, body=base64.b64encode(b"{}").decode()),
        changed(job, **{"content-type": "application/x-python-serialize"}),
        changed(job, headers=headers | {"expires": "soon"}),
        changed(job, headers=headers | {"compression": "unheard of"}),
        changed(job, headers=headers | {"task": "unheard of"}),
        b"no message",
    ]
    place.shard.enqueue("celery", [NewJob(body) for body in broken])
    place.app.send_task("say", ("last",))

    with Worker(APP, tmp_path / "log", env=place.env, args=["-P", pool, "-c1"]):
        wait_until(lambda: place.notes() == ["first", "last"])
        wait_until(lambda: place.shard.sizes("celery").failed == len(broken))

    failed = place.shard.jobs("celery", JobState.FAILED, limit=50)
    assert {job.attempts for job in failed} == {1}
    assert all(job.problem and job.body for job in failed)
