"""Workers whose clocks differ from the limiter's: slots are kept, and nothing retries endlessly."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.runtime.clock import SystemClock
from aragog.settings import Settings
from tests.support.pipeline_harness import Sent

pytestmark = pytest.mark.redis

HOUR_MS = 3_600_000
URLS = 10


class WrongClock(SystemClock):
    """The machine's stopwatch with a wall clock that is off."""

    def __init__(self, off_ms):
        self.off_ms = off_ms

    def now_ms(self):
        return super().now_ms() + self.off_ms


@pytest.fixture
def worker_settings(redis_url, punctual_origin):
    """The settings of all workers."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        settings = Settings()
        yield replace(
            settings,
            data_dir=Path(folder),
            redis=replace(settings.redis, url=redis_url),
            politeness=replace(settings.politeness, qps=5.0),
            fetch=replace(
                settings.fetch,
                user_agent="test (+http://test.test/)",
                allowed_networks=("127.0.0.0/8",),
                allowed_ports=(punctual_origin.port,),
            ),
        )


@pytest.fixture
def worker(worker_settings):
    """Makes the pipeline of a worker whose clock is off by that many milliseconds."""
    workers = []

    def make(off_ms):
        workers.append(connect(worker_settings, Sent(), clock=WrongClock(off_ms)))
        return workers[-1]

    yield make
    for pipeline in workers:
        pipeline.close()


def read(send):
    """The message as another process reads it."""
    return orjson.loads(orjson.dumps(send.message.wire()))


def crawl(pipeline, port):
    """
    Run all messages at their time, by a correct stopwatch; returns the number of `fetch` runs.
    """
    clock = SystemClock()
    jobs = tuple(UrlJob(url=f"http://127.0.0.1:{port}/{n}") for n in range(URLS))
    in_flight = [(clock.monotonic_s(), 0, OutgoingMessage(Destination.FETCH, FetchBatch(jobs)))]
    runs = count = 0
    while in_flight or pipeline.release.lines.total():
        pipeline.release.run()
        released, pipeline.sender.messages[:] = list(pipeline.sender.messages), []
        for send in released:
            count += 1
            in_flight.append((clock.monotonic_s() + (send.delay_ms or 0) / 1000, count, send))
        if not in_flight:
            clock.sleep_s(0.02)
            continue
        in_flight.sort(key=lambda entry: entry[:2])
        due_s, _, send = in_flight.pop(0)
        clock.sleep_s(due_s - clock.monotonic_s())
        if send.destination == Destination.FETCH:
            runs += 1
            assert runs < 100
            sends = pipeline.fetch.run(FetchBatch.read(read(send)))
        elif send.destination == Destination.ROBOTS:
            sends = pipeline.robots.run(RobotsBatch.read(read(send)))
        else:
            continue
        for following in sends:
            count += 1
            wait_s = (following.delay_ms or 0) / 1000
            assert wait_s < 60
            in_flight.append((clock.monotonic_s() + wait_s, count, following))
    return runs


@pytest.mark.parametrize("off_ms", [0, -HOUR_MS, HOUR_MS])
def test_urls_wait_for_their_slots_with_any_worker_clock(worker, punctual_origin, off_ms):
    # URLs were an hour late with a slow clock, and 10 URLs took 937 runs with a fast one.
    runs = crawl(worker(off_ms), punctual_origin.port)

    assert runs <= 2 * URLS
    paths = [path for _, _, path in punctual_origin.arrivals() if path != "/robots.txt"]
    assert sorted(paths) == sorted(f"/{n}" for n in range(URLS))


def test_pause_from_a_worker_with_a_wrong_clock_has_the_right_length(worker):
    behind = worker(-HOUR_MS).robots

    behind.limiter.pause_until("a.test", behind.clock.now_ms() + 60_000)

    assert 55_000 < behind.limiter.describe(["a.test"])["a.test"].backlog_ms < 65_000


def test_rules_have_the_same_age_for_workers_with_different_clocks(worker):
    ahead, behind = worker(HOUR_MS).robots, worker(-HOUR_MS).robots

    ahead.robots.put("http://a.test", None, b"", ahead.clock.now_ms())

    cached = behind.robots.get("http://a.test")
    error_ms = behind.settings.politeness.robots_error_s * 1000
    assert abs(cached.retry_at_ms - behind.clock.now_ms() - error_ms) < 5000


TRUE_NS = time.time_ns


class Stepping(RenderingRule):
    """
    Sets this machine's clock back by an hour in the middle of a batch, just before the fetches.
    """

    def usable_validators(self, validators):
        time.time_ns = lambda: TRUE_NS() - HOUR_MS * 10**6
        return super().usable_validators(validators)


def fetched_at_ms(fetch, pipeline, url):
    """The time of a fetch of the URL, from its result."""
    sends = fetch.run(FetchBatch((UrlJob(url=url, refresh=True),)))
    while not sends:  # it waits in line
        pipeline.release.run()
        sends, pipeline.sender.messages[:] = list(pipeline.sender.messages), []
    while sends[0].destination is Destination.FETCH:
        sends = fetch.run(FetchBatch.read(read(sends[0])))
    (result,) = sends[0].message.results
    return result.fetch.fetched_at_ms


def test_fetch_after_a_clock_step_is_not_older_than_the_one_before(
    worker_settings, punctual_origin
):
    """After a step of an hour, 27 of 706 pages kept their old body for good."""
    url = f"http://127.0.0.1:{punctual_origin.port}/page"
    pipeline, now_ms = connect(worker_settings, Sent()), SystemClock().now_ms()
    pipeline.fetch.access.rules.robots.put(url.removesuffix("/page"), 404, b"", now_ms)
    stepping = replace(pipeline.fetch, rendering=Stepping(worker_settings.rendering))

    try:
        before_ms = fetched_at_ms(pipeline.fetch, pipeline, url)
        after_ms = fetched_at_ms(stepping, pipeline, url)
    finally:
        time.time_ns = TRUE_NS
        pipeline.close()

    assert before_ms < after_ms < before_ms + 60_000
