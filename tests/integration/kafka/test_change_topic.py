"""
Changes reach a topic at least once, always with the same ID, whatever is killed in the meantime.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest
from click.testing import CliRunner

from aragog.addons.kafka.change_topic import ChangeTopic, change_id, open_topic
from aragog.addons.kafka.topic_address import TopicAddress
from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.errors import ConfigError, ServiceUnavailable
from aragog.settings import load_settings
from aragog.urlstore.feed import Change, changes_put
from tests.support.waiting import wait_until

pytestmark = pytest.mark.kafka

LONG = json.dumps("x" * 4000)


@pytest.fixture
def feed(tmp_path, monkeypatch):
    """A store to whose feed changes are appended as its tasks do."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")
    with closing(url_store(load_settings())) as store:
        yield store


def append(store, numbers, *, fields=None):
    """Write changes old enough to be settled; returns their URLs."""
    at_ms = time.time_ns() // 1_000_000 - 5_000
    urls = [f"http://a.example/{number}" for number in numbers]
    for at in range(0, len(urls), 50):
        some = [Change(url, at_ms, "changed", fields or {}) for url in urls[at : at + 50]]
        store.zen.mutate([changes_put(store.zen.log, some, at_ms)])
    return urls


def send(*arguments):
    reported = CliRunner().invoke(main, ["changes", "--to", *arguments], catch_exceptions=False)
    assert reported.exit_code == 0, reported.output
    return reported.output


def changes_in(topic):
    return [json.loads(record.value()) for record in topic.records()]


def follow(topic):
    """A process that sends changes for as long as it lives."""
    return subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", "changes", "--follow", "--to", topic.address],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
        env=os.environ.copy(),
    )  # fmt: skip


def test_change_is_sent_once_as_a_record_of_its_url(feed, make_topic):
    topic = make_topic(partitions=3)
    urls = append(feed, range(5), fields={"product.price": ('"5"', '"4"')})

    assert "5 changes sent" in send(topic.address)
    assert "0 changes sent" in send(topic.address)
    more = append(feed, range(5, 7))
    assert "2 changes sent" in send(topic.address)

    records = topic.records()
    sent = [json.loads(record.value()) for record in records]
    assert sorted(change["url"] for change in sent) == urls + more
    assert [record.key().decode() for record in records] == [change["url"] for change in sent]
    (first,) = [change for change in sent if change["url"] == urls[0]]
    assert first["fields"] == {"product.price": {"before": "5", "now": "4"}}
    assert first["id"] == change_id(first)
    assert len(first["cursor"]) == 40


def test_each_name_has_its_own_position(feed, make_topic):
    topic = make_topic()
    append(feed, range(3))
    send(topic.address)

    assert "3 changes sent" in send(f"{topic.address}&name=second")
    assert "0 changes sent" in send(f"{topic.address}&name=second")
    assert "0 changes sent" in send(f"{topic.address}&name=third", "--cursor", "now")


def test_change_reported_twice_by_the_feed_has_one_id(feed, make_topic):
    topic = make_topic()
    for _ in range(2):
        at_ms = time.time_ns() // 1_000_000 - 5_000
        change = Change("http://a.example/", 1_700_000_000_000, "changed")
        feed.zen.mutate([changes_put(feed.zen.log, [change], at_ms)])
    send(topic.address)

    one, other = changes_in(topic)
    assert one["cursor"] != other["cursor"]
    assert one["id"] == other["id"]


def test_change_too_long_for_the_topic_is_sent_without_values(feed, make_topic):
    topic = make_topic()
    fields = {f"own.{n:03}": (LONG, LONG) for n in range(150)}
    (url,) = append(feed, [1], fields=fields)
    send(topic.address)

    (change,) = changes_in(topic)
    assert change["url"] == url
    assert change["fields"]["own.149"] == {"before": None, "now": None}
    assert len(change["fields"]) == 150


def test_change_sent_without_saving_its_position_is_sent_again_with_the_same_id(feed, make_topic):
    topic = make_topic()
    append(feed, [1])
    (page,) = feed.feed.changes().items
    change = {"url": page.url, "at_ms": page.at_ms, "kind": page.kind, "fields": {}}
    with closing(open_topic(topic.address)) as receiver:
        receiver._produce(change, [])
        receiver._producer.flush(60)  # killed here

    assert "1 changes sent" in send(topic.address)
    ids = [sent["id"] for sent in changes_in(topic)]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_missing_topic_or_broker_is_reported(feed, make_topic):
    topic = make_topic()
    with pytest.raises(ConfigError, match="create the topic"):
        open_topic(f"kafka://{topic.server.address}/no-such-topic")
    topic.config.write_text("acks=0\n")
    with pytest.raises(ConfigError, match="acks is set by aragog"):
        open_topic(topic.address)


def test_unreachable_server_is_a_temporary_error():
    with pytest.raises(ServiceUnavailable, match="changes on 127"):
        ChangeTopic(TopicAddress.parse("kafka://127.0.0.1:9/changes"), timeout_s=0.5)


def test_nothing_is_lost_when_sender_and_broker_are_killed(feed, make_topic):
    topic, urls = make_topic(partitions=2), set()
    for number in range(3):
        before = topic.count()
        urls.update(append(feed, range(2_500 * number, 2_500 * (number + 1))))
        process = follow(topic)
        wait_until(lambda n=before: topic.count() > n, every_s=0.1)
        if number == 1:
            topic.server.kill()
            urls.update(append(feed, range(20_000, 20_500)))
            topic.server.start()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    send(topic.address)

    sent = changes_in(topic)
    assert {change["url"] for change in sent} == urls
    assert len({change["id"] for change in sent}) == len(urls)
    assert "0 changes sent" in send(topic.address)
