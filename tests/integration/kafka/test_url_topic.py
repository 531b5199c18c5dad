"""URLs from a topic are enqueued; offsets are committed only for acknowledged jobs."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace

import pytest
import redis
from click.testing import CliRunner

from aragog.addons.kafka.topic_address import TopicAddress
from aragog.addons.kafka.url_topic import UrlTopic
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.bootstrap.crawls import crawl_control
from aragog.cli import main
from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.settings import load_settings
from aragog.standalone.redis_server import RedisServer
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.redis]

SOON = "session.timeout.ms=3000\nheartbeat.interval.ms=500\n"


@pytest.fixture
def server(tmp_path_factory, monkeypatch):
    """A Redis for this test, with the settings of every process in it."""
    folder = tmp_path_factory.mktemp("ar")
    with RedisServer(folder / "redis") as running:
        for name, value in {
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_REDIS__URL": running.url,
            "ARAGOG_BROKER__URL": f"pinlater+socket://{running.socket}?virtual_host=1",
            "ARAGOG_FETCH__USER_AGENT": "testbot/1.0 (+https://example.com/bot)",
        }.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def client(server):
    with Aragog(load_settings()) as client:
        yield client


def urls(numbers):
    return [f"http://host-{number % 50}.example/{number}" for number in numbers]


def enqueue(topic, *options):
    arguments = ["kafka", "enqueue", topic.address, "--until-end", *options]
    reported = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert reported.exit_code == 0, reported.output
    return reported.output


def process_of(topic):
    return subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", "kafka", "enqueue", topic.address],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ.copy(),
    )  # fmt: skip


class Running:
    """A topic reader in a thread."""

    def __init__(self, topic, client, **options):
        self.reports = []
        address = replace(TopicAddress.parse(topic.address), name="aragog")
        self.source = UrlTopic(
            address, client, EnqueueArguments(), self.reports.append, **options
        )  # fmt: skip
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        with closing(self.source):
            self.source.run(self._stopped.is_set)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join(60)


def test_urls_and_objects_are_enqueued_and_committed(make_topic, client):
    topic = make_topic(partitions=2)
    topic.put(
        [
            "http://a.example/1",
            b'{"url": "http://a.example/2", "priority": 0, "depth": 2}',
            "HTTP://A.example:80/1",
            "no url",
            b'{"url": "http://a.example/3", "prority": 0}',
            b"\xff\xfe",
            None,
        ]
    )
    output = enqueue(topic)

    assert "2 accepted, 1 already waiting, 4 invalid" in output
    assert "prority: is not an enqueue option" in output
    assert "is not UTF-8" in output
    assert ": relative URL without a base: 'no url'" in output
    assert client.in_flight() == 2
    assert topic.committed("aragog") == 7
    assert "0 accepted" in enqueue(topic)


def test_refused_urls_are_reported_with_their_offsets(make_topic, client):
    topic = make_topic()
    hosts = [f"host:host-{number}.example" for number in range(4)]
    crawl_control(load_settings()).start("few", {"scope": hosts, "max_urls": 2})
    topic.put([*urls(range(4)), "http://b.example/"])

    output = enqueue(topic, "--crawl", "few")

    assert f"{topic.name}:0:2: the crawl has reached max_urls" in output
    assert f"{topic.name}:0:3" not in output
    assert f"{topic.name}:0:4: out of scope" in output


def test_unknown_crawl_commits_nothing(make_topic, client):
    topic = make_topic()
    topic.put(urls(range(10)))

    reported = CliRunner().invoke(main, ["kafka", "enqueue", topic.address, "--crawl", "nosuch"])

    assert reported.exit_code == 2
    assert "nosuch" in reported.output
    assert topic.committed("aragog") == 0


def test_offsets_wait_for_free_space_and_the_member_stays_in_its_group(make_topic, client, server):
    topic = make_topic(partitions=2)
    topic.config.write_text(SOON + "max.poll.interval.ms=6000\n")
    topic.put(urls(range(500)))
    with redis.Redis.from_url(server.url) as admin:
        admin.config_set("maxmemory", int(admin.info("memory")["used_memory"] / 0.9))
        with Running(topic, client) as running:
            wait_until(lambda: any("waiting" in text for text in running.reports))
            assert topic.committed("aragog") == 0
            assert client.in_flight() == 0
            # Longer than a member may be silent.
            assert not threading.Event().wait(8)
            admin.config_set("maxmemory", 0)
            wait_until(lambda: topic.committed("aragog") == 500)

    assert client.in_flight() == 500
    assert running.source.counts[EnqueueStatus.ACCEPTED] == 500
    assert len(running.reports) == 1


def test_limit_of_urls_in_flight_pauses_the_topic(make_topic, client, server):
    topic = make_topic()
    topic.put(urls(range(1500)))
    with Running(topic, client, max_in_flight=100) as running:
        wait_until(lambda: any("in flight" in text for text in running.reports))

        first = topic.committed("aragog")
        assert 0 < first < 1500
        assert client.in_flight() == first
        with redis.Redis.from_url(server.url) as admin:
            admin.delete("aragog:in_flight")
        wait_until(lambda: topic.committed("aragog") == 1500)


def test_second_member_gets_partitions_with_waiting_records(make_topic, client, server):
    topic = make_topic(partitions=2)
    topic.put(urls(range(400)))
    client.enqueue(["http://other.example/1", "http://other.example/2"])
    with Aragog(load_settings()) as other, Running(topic, client, max_in_flight=1) as first:
        wait_until(lambda: first.reports)
        with Running(topic, other, max_in_flight=1) as second:
            wait_until(second.source._consumer.assignment)
            assert topic.committed("aragog") == 0
            with redis.Redis.from_url(server.url) as admin:
                wait_until(
                    lambda: topic.committed("aragog") == 400,
                    every_s=0.5,
                    meanwhile=lambda: admin.delete("aragog:in_flight"),
                )


def test_killed_reader_loses_no_url(make_topic, client):
    topic = make_topic(partitions=3)
    topic.config.write_text(SOON)
    wanted = urls(range(6_000))
    topic.put(wanted)
    for least in (1, 2_000):
        process = process_of(topic)
        wait_until(lambda n=least: client.in_flight() >= n)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert topic.committed("aragog") <= client.in_flight()
    process = process_of(topic)
    wait_until(lambda: topic.committed("aragog") == len(wanted))
    process.terminate()

    assert "0 invalid" in process.communicate()[0]
    assert process.returncode == 0
    assert client.in_flight() == len(wanted)


def test_member_that_lost_its_paused_partitions_continues(make_topic, client):
    topic = make_topic(partitions=2)
    topic.config.write_text(SOON)
    topic.put(urls(range(300)))
    client.enqueue(["http://other.example/1", "http://other.example/2"])
    with Running(topic, client, max_in_flight=1) as running:
        wait_until(lambda: running.reports)
        topic.server.pause()
        assert not threading.Event().wait(4)  # longer than the session lasts
        topic.server.resume()
        running.source._max_in_flight = 0
        wait_until(lambda: topic.committed("aragog") == 300)
