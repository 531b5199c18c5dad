"""The requests of a crawl as pinlater jobs."""

import pytest

from aragog.addons.scrapy.request_queue import RequestQueue
from aragog.errors import ConfigError
from aragog.settings import load_settings
from pinlater.admin import Admin
from pinlater.models import JobState, NewJob
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


@pytest.fixture
def settings(cli_environ):
    return load_settings()


@pytest.fixture
def queue(settings):
    queue = RequestQueue(settings, "quotes")
    yield queue
    queue.close()


@pytest.fixture
def admin(settings):
    return Admin.connect(settings.broker.url)


def take(queue, count=1):
    taken = []

    def enough():
        queue.wait(0.1, max_jobs=count)
        taken.extend(queue.take(count))
        return len(taken) == count

    wait_until(enough)
    return taken


def states(admin):
    sizes = admin.status("scrapy.quotes").sizes
    return sizes.pending, sizes.running, sizes.succeeded, sizes.failed


def test_completed_request_succeeds(queue, admin):
    assert queue.put(NewJob(b"one", unique_key="k"))
    assert not queue.put(NewJob(b"one again", unique_key="k"))
    (claimed,) = take(queue)
    assert (claimed.body, states(admin)) == (b"one", (0, 1, 0, 0))
    assert queue.count_unfinished() == 1

    queue.done(claimed.tag)
    queue.flush()

    assert (states(admin), queue.count_unfinished()) == ((0, 0, 1, 0), 0)


def test_unstarted_request_is_returned_without_using_an_attempt(queue, admin):
    queue.put(NewJob(b"one"))

    queue.put_back(take(queue)[0].tag, 0)
    queue.flush()
    queue.put_back(take(queue)[0].tag, 60_000)
    queue.flush()

    (job,) = admin.jobs("scrapy.quotes", JobState.PENDING, limit=9)
    assert (job.attempts, states(admin)) == (0, (1, 0, 0, 0))


def test_retried_request_counts_the_attempt_and_waits(queue, admin):
    queue.put(NewJob(b"one"))

    queue.retry(take(queue)[0].tag, "the store does not answer")
    queue.flush()

    (job,) = admin.jobs("scrapy.quotes", JobState.PENDING, limit=9)
    assert (job.attempts, job.problem) == (1, "the store does not answer")


def test_request_that_this_process_cannot_run_is_offered_again(queue, admin):
    queue.put(NewJob(b"one"))
    queue.put(NewJob(b"last attempt", max_attempts=1))

    for claimed in take(queue, 2):
        queue.decline(claimed.tag, "no such callback")
    queue.flush()

    (job,) = admin.jobs("scrapy.quotes", JobState.PENDING, limit=9)
    assert (job.attempts, job.problem) == (1, "no such callback")
    assert (queue.count_unfinished(), queue.count_failed()) == (1, 1)


def test_unreadable_request_is_kept_as_failed(queue, admin):
    queue.put(NewJob(b"one"))

    queue.fail(take(queue)[0].tag, "no such callback")
    queue.flush()

    (job,) = admin.jobs("scrapy.quotes", JobState.FAILED, limit=9)
    assert (job.problem, queue.count_unfinished()) == ("no such callback", 0)


def test_waiting_ends_with_a_new_request(queue, settings):
    other = RequestQueue(settings, "quotes")
    try:
        assert queue.take(1) == []
        other.put(NewJob(b"one"))
        assert [claimed.body for claimed in take(queue)] == [b"one"]
    finally:
        other.close()


def test_abandoned_queue_is_emptied_with_its_claims(queue, admin):
    for number in range(5):
        queue.put(NewJob(b"%d" % number, unique_key=f"k{number}"))
    take(queue, 2)

    assert queue.abandon() == 5

    assert (states(admin), queue.count_unfinished()) == ((0, 0, 0, 0), 0)
    assert queue.put(NewJob(b"1", unique_key="k1"))


def test_another_broker_is_refused(settings, monkeypatch):
    monkeypatch.setenv("ARAGOG_BROKER__URL", "redis://127.0.0.1:1/0")

    with pytest.raises(ConfigError, match="needs pinlater://"):
        RequestQueue(load_settings(), "quotes")
