"""Results of enqueued URLs on a real Redis: statuses, in-flight entries, messages."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.pipeline.in_flight import InFlightSet, expiry_s
from aragog.errors import BadInput, BrokerUnavailable
from tests.support.producer import producer_home
from tests.support.waiting import wait_until
from urlspelling import url_key

pytestmark = pytest.mark.redis


@pytest.fixture
def home():
    with producer_home() as home_folder:
        yield home_folder


@pytest.fixture
def client(home):
    with Aragog(home.settings) as opened:
        yield opened


def statuses(client, urls, **options):
    return [answer.status for answer in client.enqueue(urls, **options)]


def test_each_url_has_a_result_in_order(client):
    answers = client.enqueue(["http://a.test/1", "nonsense", "HTTP://A.test:80/1", "ftp://a.test/"])

    assert [a.status for a in answers] == [
        EnqueueStatus.ACCEPTED,
        EnqueueStatus.INVALID,
        EnqueueStatus.WAITING,
        EnqueueStatus.INVALID,
    ]
    assert [a.url for a in answers] == ["http://a.test/1", None, "http://a.test/1", None]
    assert answers[1].reason
    assert answers[3].reason


def test_waiting_url_is_not_sent_twice(client, home):
    client.enqueue(["http://a.test/1"])

    assert statuses(client, ["http://a.test/1", "http://a.test/2"]) == [
        EnqueueStatus.WAITING,
        EnqueueStatus.ACCEPTED,
    ]
    assert sorted(home.urls()) == ["http://a.test/1", "http://a.test/2"]


def test_batch_has_25_urls_of_alternating_hosts(client, home):
    client.enqueue([f"http://h{n // 100}.test/{n}" for n in range(500)])

    batches = [[job["url"] for job in message["urls"]] for message in home.messages()]

    assert [len(batch) for batch in batches] == [25] * 20
    assert all(len({url.split("/")[2] for url in batch}) == 5 for batch in batches)


def test_urls_of_a_call_share_a_request_id(client, home):
    client.enqueue([f"http://h{n}.test/" for n in range(40)])
    client.enqueue(["http://a.test/"])

    ids = [{job["request_id"] for job in message["urls"]} for message in home.messages()]

    assert [len(jobs) for jobs in ids] == [1, 1, 1]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("request_id", ["two words", "x" * 65, "a\nb", "ä"])
def test_request_id_that_would_break_a_log_line_is_refused(client, home, request_id):
    with pytest.raises(BadInput, match="request_id"):
        client.enqueue(["http://a.test/"], request_id=request_id)

    assert home.messages() == []


def test_depth_refresh_priority_and_run_after_are_sent_with_the_url(client, home):
    at_ms = int(time.time() * 1000) + 3_600_000

    options = {"depth": 2, "refresh": True, "priority": 1, "request_id": "order-4711"}
    client.enqueue(["http://a.test/"], run_after=at_ms, **options)

    (job,) = home.jobs()
    assert home.messages() == [{"v": 1, "urls": [{"url": "http://a.test/", **options}]}]
    assert job.priority == 1
    assert abs(job.due_at_ms - at_ms) < 5000


@pytest.mark.parametrize("wrong", [{"priority": 10}, {"priority": -1}, {"depth": -1}])
def test_invalid_options_are_refused_before_anything_is_sent(client, home, wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        client.enqueue(["http://a.test/"], **wrong)

    assert home.messages() == []


def test_entry_left_by_a_killed_producer_does_not_block_its_url(client, home):
    InFlightSet(home.redis, prefix="aragog:").mark(["http://a.test/1"])

    assert statuses(client, ["http://a.test/1", "http://a.test/2"]) == [EnqueueStatus.ACCEPTED] * 2
    assert sorted(home.urls()) == ["http://a.test/1", "http://a.test/2"]


def test_producer_waits_for_another_that_is_sending_the_same_url(client, home):
    notes = InFlightSet(home.redis, prefix="aragog:")
    notes.mark(["http://a.test/1"])
    threading.Timer(0.3, notes.confirm, [["http://a.test/1"]]).start()

    assert statuses(client, ["http://a.test/1"]) == [EnqueueStatus.WAITING]
    assert home.messages() == []


def test_many_threads_with_one_url_send_one_message(client, home):
    urls = []
    threads = [
        threading.Thread(target=lambda: urls.extend(statuses(client, ["http://a.test/1"])))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(urls) == sorted([EnqueueStatus.ACCEPTED, *[EnqueueStatus.WAITING] * 7])
    assert home.urls() == ["http://a.test/1"]


def test_nothing_is_lost_when_the_broker_restarts(client, home):
    client.enqueue(["http://a.test/1"])
    home.server.kill()
    with pytest.raises(BrokerUnavailable):
        client.enqueue(["http://a.test/2"])
    home.server.start()

    assert statuses(client, ["http://a.test/2"]) == [EnqueueStatus.ACCEPTED]
    assert "http://a.test/2" in home.urls()


def test_producer_killed_and_restarted_loses_nothing(home, tmp_path):
    expected = [f"http://h{n % 40}.test/{n}" for n in range(10_000)]
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(expected))
    command = [sys.executable, "-m", "aragog.cli", "enqueue", str(file)]
    first = subprocess.Popen(command, env=home.environ, stdout=subprocess.DEVNULL)
    wait_until(
        lambda: home.redis.hlen("aragog:in_flight") >= 3000 or first.poll() is not None,
        every_s=0.005,
    )
    os.kill(first.pid, signal.SIGKILL)
    first.wait()

    subprocess.run(command, env=home.environ, stdout=subprocess.DEVNULL, check=True, timeout=120)

    assert set(home.urls()) == set(expected)


def test_insisting_caller_need_not_wait_for_a_lost_message(redis_client):
    in_flight, url = InFlightSet(redis_client, prefix="t:"), "http://a.test/"
    in_flight.mark([url])
    in_flight.confirm([url])
    assert in_flight.mark([url], insist=True) == [False]

    # As if it had been confirmed an hour and a minute ago.
    entry = redis_client.hget("t:in_flight", url_key(url))
    earlier = b"%d:%b" % (expiry_s(entry) - 3660, entry.partition(b":")[2])
    redis_client.hset("t:in_flight", url_key(url), earlier)

    assert in_flight.mark([url]) == [False]
    assert in_flight.mark([url], insist=True) == [True]
