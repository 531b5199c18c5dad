"""Messages sent with `fetch.delay` or by hand to a worker started without `-Q`."""

import json
from contextlib import contextmanager, suppress

import amqp
import kombu
import pytest
import redis
from celery import Celery
from click.testing import CliRunner

from aragog.cli import main
from aragog.crawl.pipeline.routing import Destination, Queue
from pinlater.brokers import celery_settings
from pinlater.dead_letters import QUEUE, REASON_HEADER
from pinlater.models import JobState
from pinlater.redis_shard import RedisShard
from tests.support.celery_worker import Worker
from tests.support.documented import blocks
from tests.support.producer import producer_home
from tests.support.spans import span_collector
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


class Place:
    """A worker for all queues, an origin that it may fetch from, and a producer."""

    def __init__(self, home, origin, environ, app):
        self.home, self.origin, self.environ, self.app = home, origin, environ, app
        self.base = f"http://127.0.0.1:{origin.port}"
        self.asked = set()

    def send(self, *args, task=Destination.FETCH.task, **kwargs):
        self.app.send_task(task, args, kwargs, queue=Queue.FETCH.value)

    def fetched(self):
        self.asked |= {path for _, _, path in self.origin.arrivals()}
        return self.asked - {"/robots.txt"}

    def requests_of_rules(self):
        return sum(path == "/robots.txt" for _, _, path in self.origin.arrivals())


@contextmanager
def place(origin, tmp_path, broker_url=None, **more):
    with producer_home() as home:
        environ = home.environ | {
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__ALLOWED_PORTS": str(origin.port),
            "ARAGOG_FETCH__USER_AGENT": "test (+http://test.test/)",
            **more,
        }
        if broker_url == "redis":
            broker_url = f"redis+socket://{home.server.socket}?virtual_host=3"
        if broker_url:
            environ["ARAGOG_BROKER__URL"] = broker_url
        with Celery("producer", set_as_current=False) as app:
            app.conf.update(celery_settings(broker_url or home.settings.resolved().broker.url))
            args = ["-P", "threads", "-c2", "--without-gossip", "--without-mingle"]
            with Worker("workers.app", tmp_path / "log", env=environ, args=args):
                yield Place(home, origin, environ, app)


def unfit(base):
    """A batch with valid entries, unnormalized URLs, non-URLs and invalid jobs."""
    good = {"url": f"{base}/in-batch"}
    return {
        "v": 1,
        "urls": [
            {"url": "no url at all"},
            {"url": f"{base.upper()}/a/../unnormalized#part"},
            {"url": f"{base}/x", "priority": "high"},
            {"nothing": 1},
            good,
        ],
    }


def send_all_kinds(it):
    """By the pipeline's task name and by the module's."""
    it.send(f"{it.base}/one", task="aragog.tasks.fetch")
    it.send([f"{it.base}/two", "::", f"{it.base}/three"], task="aragog.tasks.fetch")
    it.send(unfit(it.base))


KINDS = {"/one", "/two", "/three", "/in-batch", "/unnormalized"}


def test_url_list_or_batch_is_fetched_despite_bad_entries(punctual_origin, tmp_path):
    with place(punctual_origin, tmp_path) as it:
        client = redis.Redis.from_url(f"{it.home.server.url.partition('?')[0]}?db=1")
        shard = RedisShard(client)
        send_all_kinds(it)
        it.send({"v": 0})
        it.send("a", "b", "c")

        wait_until(lambda: it.fetched() == KINDS)
        # Unreadable messages are FAILED at their first attempt, with the reason.
        wait_until(lambda: shard.sizes("fetch").failed == 2)
        failed = shard.jobs("fetch", JobState.FAILED, limit=10)
        client.close()

    assert [job.attempts for job in failed] == [1, 1]
    assert any("version 0" in job.problem for job in failed), failed
    log = (tmp_path / "log").read_text()
    assert "no url at all" in log
    assert "priority is 'high'" in log


def test_messages_of_a_newer_version_wait_without_using_an_attempt(punctual_origin, tmp_path):
    """Old workers claimed the jobs of new ones and failed them."""
    newer = {"v": 99, "urls": [{"url": "http://later.test/"}]}
    with place(punctual_origin, tmp_path) as it:
        client = redis.Redis.from_url(f"{it.home.server.url.partition('?')[0]}?db=1")
        shard = RedisShard(client)
        it.send(newer)
        it.send(newer, task="aragog.unheard_of")
        it.send(f"{it.base}/one")

        def waiting():
            jobs = shard.jobs("fetch", JobState.PENDING, limit=10)
            return [job for job in jobs if job.problem]

        jobs = wait_until(lambda: len(waiting()) == 2 and waiting())
        wait_until(lambda: it.fetched() == {"/one"})
        sizes = shard.sizes("fetch")
        client.close()

    assert [job.attempts for job in jobs] == [0, 0]
    assert sizes.failed == 0
    problems = sorted(job.problem for job in jobs)
    assert "version 99 is not 1" in problems[0]
    assert problems[1] == "refused: the worker does not know this task"


@pytest.mark.parametrize("how", ["task", "command"])
def test_fresh_rules_of_an_origin_can_be_refetched(punctual_origin, tmp_path, how):
    with place(punctual_origin, tmp_path) as it:
        before = it.requests_of_rules()
        it.send(f"{it.base}/one")
        wait_until(lambda: it.requests_of_rules() == before + 1)
        if how == "task":
            it.app.send_task(Destination.ROBOTS.task, (f"{it.base}/",), queue=Queue.ROBOTS.value)
        else:
            (line,) = blocks("docs/politeness.md#robotstxt", "sh")
            words = line.replace("https://site.test/", it.base).split()[1:]
            done = CliRunner().invoke(main, words, env=it.environ)
            assert done.stdout == f"{it.base}/robots.txt will be fetched again\n"

        wait_until(lambda: it.requests_of_rules() == before + 2)


class Evil:
    """When unpickled, it creates a file."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


@pytest.mark.parametrize("broker", [None, "redis"])
def test_message_that_would_run_code_is_not_decoded(punctual_origin, tmp_path, broker):
    proof = tmp_path / "ran"
    with place(punctual_origin, tmp_path, broker) as it:
        it.app.send_task(
            Destination.FETCH.task, (Evil(proof),), queue=Queue.FETCH.value, serializer="pickle"
        )
        it.send(f"{it.base}/one")

        wait_until(lambda: it.fetched() == {"/one"})
        wait_until(lambda: proof.exists() or "pickle" in (tmp_path / "log").read_text())

    assert not proof.exists()


def test_worker_without_named_queues_serves_all_of_them(punctual_origin, tmp_path):
    with place(punctual_origin, tmp_path) as it:
        # A ready worker may not listen for broadcasts yet.
        inspect = it.app.control.inspect(timeout=5, limit=1)
        (queues,) = wait_until(inspect.active_queues).values()

    assert {queue["name"] for queue in queues} == {"celery", *tuple(Queue)}


@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def test_unreadable_message_is_a_dead_letter_on_other_brokers(
    request, punctual_origin, tmp_path, broker
):
    url = "redis" if broker == "redis" else request.getfixturevalue("rabbitmq").url
    with place(punctual_origin, tmp_path, url) as it:
        send_all_kinds(it)
        it.send({"v": 0})
        it.send({"v": 99})
        it.send("what", task="aragog.unheard_of")
        wait_until(lambda: it.fetched() == KINDS)

        messages = []

        def look():
            with it.app.connection_for_read() as connection, suppress(amqp.NotFound):
                channel = connection.default_channel
                message = kombu.Queue(QUEUE, channel=channel).get(no_ack=True)
                if message is not None:
                    messages.append(message)
            return len(messages) == 2

        wait_until(look)
        # It waits for a worker of that version and is not a dead letter.
        wait_until(lambda: "ignored" in (tmp_path / "log").read_text())
        look()

    bodies = {message.headers[REASON_HEADER]: json.loads(message.body)[0] for message in messages}
    assert sorted(map(str, bodies.values())) == ["['what']", "[{'v': 0}]"]
    assert any("version 0" in reason for reason in bodies)
    log = (tmp_path / "log").read_text()
    assert "was stored in the queue dead_letters" in log


def test_message_continues_the_trace_in_its_headers(punctual_origin, tmp_path):
    """As sent by opentelemetry-instrumentation-celery."""
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    with (
        span_collector() as collector,
        place(
            punctual_origin,
            tmp_path,
            ARAGOG_TRACING__ENABLED="true",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
            OTEL_BSP_SCHEDULE_DELAY="50",
        ) as it,
    ):
        headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        args, queue = (f"{it.base}/one",), Queue.FETCH.value
        it.app.send_task("aragog.tasks.fetch", args, queue=queue, headers=headers)
        wait_until(lambda: collector.named("store"))

    (root,) = collector.named("enqueue")
    assert root.parent_id == "00f067aa0ba902b7"
    assert {span.trace_id for span in collector.spans} == {trace_id}
