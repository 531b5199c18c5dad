"""URLs leave the lines of their domains shortly before their slots, the most urgent first."""

import itertools

import pytest

from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.politeness.lines import LineEntry
from aragog.crawl.politeness.slots import RateExceeded, SlotRequest
from aragog.crawl.stages.release import MIN_CHECK_INTERVAL_MS
from aragog.crawl.stages.release_thread import ReleaseThread
from aragog.crawl.stages.waiting_line import WaitingJob, WaitingLine, parse_line_job
from aragog.errors import BrokerUnavailable
from tests.support.origin import answer
from tests.support.waiting import wait_until

INLINE_MS = 1000


@pytest.fixture
def harness(crawl_harness):
    return crawl_harness({"*": answer(200, b"hello", content_type="text/html")}, qps=10)


def wait_in_line(harness, jobs, key="busy.test", wait_ms=0):
    line = WaitingLine(harness.pipeline.release.lines, INLINE_MS)
    line.park([WaitingJob(job, key, None, wait_ms) for job in jobs])


def jobs_of(numbers, **facts):
    return [UrlJob(url=f"http://busy.test/{number}", **facts) for number in numbers]


def released(harness):
    """The jobs that one check releases, in the order of their slots."""
    before = len(harness.sent.messages)
    harness.pipeline.release.run()
    jobs = [job for sent in harness.sent.messages[before:] for job in sent.message.jobs]
    return sorted(jobs, key=lambda job: job.slot_at_ms)


def test_only_slots_of_the_next_second_and_a_half_are_released(harness):
    wait_in_line(harness, jobs_of(range(100)))

    jobs = released(harness)

    # A check assigns the slots up to its time, and checks again while more are free.
    assert 10 <= len(jobs) <= 15 + MIN_CHECK_INTERVAL_MS // 100
    gaps = [b.slot_at_ms - a.slot_at_ms for a, b in itertools.pairwise(jobs)]
    assert min(gaps) >= 99
    assert harness.limiter.lines.waiting(["busy.test"]) == {"busy.test": 100 - len(jobs)}


def test_most_urgent_of_a_line_get_the_next_slots(harness):
    wait_in_line(harness, jobs_of(range(30), priority=9))
    wait_in_line(harness, jobs_of(["b"], priority=4))
    wait_in_line(harness, jobs_of(["a"], priority=3))

    assert [job.url for job in released(harness)[:2]] == [
        "http://busy.test/a",
        "http://busy.test/b",
    ]


def test_raised_rate_applies_to_the_next_check(harness):
    live = harness.pipeline.release.overrides.live
    live.set_qps("busy.test", 0.01, who="test")
    wait_until(lambda: harness.limiter.interval_us("busy.test") == 1e8)
    wait_in_line(harness, jobs_of(range(100)))
    assert len(released(harness)) == 1
    assert released(harness) == []

    live.set_qps("busy.test", 20.0, who="test")

    found = []
    wait_until(lambda: found.extend(released(harness)) or found)
    assert len(found) >= 20


def test_stopped_domain_keeps_its_line_until_resumed(harness):
    live = harness.pipeline.release.overrides.live
    live.set_stopped("busy.test", True, who="test")
    wait_until(lambda: harness.limiter.rates.is_stopped("busy.test"))
    wait_in_line(harness, jobs_of(range(5)))
    assert released(harness) == []

    live.set_stopped("busy.test", False, who="test")

    found = []
    wait_until(lambda: found.extend(released(harness)) or len(found) == 5)


def test_later_request_does_not_skip_the_line(harness):
    wait_in_line(harness, jobs_of(range(100)))
    released(harness)

    (reply,) = harness.limiter.reserve([SlotRequest("busy.test", max_wait_ms=INLINE_MS)])

    assert isinstance(reply, RateExceeded)


def test_nothing_is_released_while_the_spool_is_closed(harness):
    wait_in_line(harness, jobs_of(range(5)))
    harness.pipeline.release.is_open = lambda: False

    assert released(harness) == []
    assert harness.limiter.lines.total() == 5


def test_unreadable_entry_is_dropped(harness):
    harness.limiter.lines.park([LineEntry("busy.test", 5, b"no job")])
    wait_in_line(harness, jobs_of(["good"]))

    assert [job.url for job in released(harness)] == ["http://busy.test/good"]
    assert harness.limiter.lines.total() == 0


def test_jobs_that_could_not_be_sent_are_not_lost(harness, redis_client):
    class Broken:
        def send_all(self, messages):
            raise BrokerUnavailable("broker", "is gone")

    wait_in_line(harness, jobs_of(range(3)))
    works, harness.pipeline.release.sender = harness.pipeline.release.sender, Broken()
    with pytest.raises(BrokerUnavailable):
        harness.pipeline.release.run()
    harness.pipeline.release.sender = works

    # It returns to its line when the lease ends.
    assert (
        redis_client.zcard("aragog:lines2:leases") == redis_client.hlen("aragog:lines2:taken") == 1
    )


def test_every_url_of_a_backlog_is_fetched_once(harness):
    harness.know_rules("busy.test")
    jobs = tuple(jobs_of(range(40)))

    results = harness.run([OutgoingMessage(Destination.FETCH, FetchBatch(jobs))], limit_s=60)

    assert sorted(result.job.url for result in results) == sorted(job.url for job in jobs)
    assert len(harness.origin.seen) == 40


def test_releasing_thread_survives_errors(harness):
    wait_in_line(harness, jobs_of(range(3)))
    errors = [BrokerUnavailable("broker", "is gone"), ValueError("a defect")]

    def release():
        if errors:
            raise errors.pop()
        return harness.pipeline.release.run()

    thread = ReleaseThread(release, every_s=0.01).start()
    wait_until(lambda: harness.sent.messages)
    thread.stop()

    assert errors == []


def test_entry_contains_the_job_without_its_slot():
    class Kept:
        def park(self, entries):
            self.entries = entries

    job = UrlJob(url="http://a.test/", depth=2, priority=1)
    kept = Kept()

    WaitingLine(kept, INLINE_MS).park([WaitingJob(job, "a.test", 3.0, 9_000, to_front=True)])

    (entry,) = kept.entries
    assert (entry.key, entry.priority, entry.crawl_delay_s, entry.to_front) == (
        "a.test",
        1,
        3.0,
        True,
    )
    assert entry.check_after_ms == 9_000 - INLINE_MS - 500
    assert parse_line_job(entry.payload) == job
