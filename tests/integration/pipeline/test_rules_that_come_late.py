"""URLs that wait after a failure of robots.txt are released by the rules, not by time."""

import orjson
import pytest

from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

ORIGIN = "http://site.test"
URLS = [f"{ORIGIN}/{number}" for number in range(60)]


@pytest.fixture
def harness(crawl_harness):
    """A crawl whose first request for robots.txt failed, with its URLs waiting."""
    harness = crawl_harness({"//site.test/robots.txt": answer(500), "*": page(b"hello")}, qps=200)
    batch = FetchBatch(tuple(UrlJob(url=url) for url in URLS))
    messages = [OutgoingMessage(Destination.FETCH, batch)]
    while messages:
        messages += harness.step(messages.pop(0))
    return harness


def requested_urls(harness):
    return {seen.path for seen in harness.origin.seen} - {"/robots.txt"}


def test_urls_waiting_after_a_robots_failure_are_released_when_rules_arrive(harness):
    """190 of 1,200 URLs waited ten minutes although other pages of their host had been stored."""
    lines = harness.limiter_lines
    assert (lines.total(), lines.waiting_for_rules()) == (len(URLS), len(URLS))
    assert (lines.waiting([ORIGIN]), requested_urls(harness)) == ({ORIGIN: len(URLS)}, set())
    harness.origin.handlers["//site.test/robots.txt"] = page(b"User-agent: *\nDisallow: /7\n")

    refresh = OutgoingMessage(Destination.ROBOTS, RobotsBatch((ORIGIN,), refresh=True))
    answers = harness.run([refresh], limit_s=60)

    outcomes = {one.job.url: (one.fetch.outcome, one.fetch.attempts) for one in answers}
    assert outcomes == {
        url: ("Refused" if url.startswith(f"{ORIGIN}/7") else "Fetched", 2) for url in URLS
    }


def test_url_that_sees_the_old_failure_after_the_rules_arrived_is_released_too(
    harness, crawl_harness
):
    """For five seconds, a process uses its own copy of the rules."""
    other = crawl_harness({}, qps=200)
    other.robots.get(ORIGIN)
    harness.origin.handlers["//site.test/robots.txt"] = page(b"User-agent: *\n")
    again = OutgoingMessage(Destination.ROBOTS, RobotsBatch((ORIGIN,), refresh=True))
    assert harness.step(again) == []
    late = UrlJob(url=f"{ORIGIN}/late")
    assert other.pipeline.fetch.run(FetchBatch((late,))) == []

    answers = harness.run([], limit_s=60)

    assert f"{ORIGIN}/late" in {one.job.url for one in answers}


def test_rules_that_fail_again_release_nothing_early(harness):
    refresh = OutgoingMessage(Destination.ROBOTS, RobotsBatch((ORIGIN,), refresh=True))
    assert harness.step(refresh) == []
    harness.clock.sleep_s(6)
    harness.pipeline.release.run()

    assert harness.limiter_lines.waiting([ORIGIN]) == {ORIGIN: len(URLS)}


def test_line_checked_too_early_uses_no_attempt(harness):
    """A process checks every line when it starts."""
    for server in harness.limiter_lines.servers:
        server.check_now(server.domains())

    assert harness.pipeline.release.run() == 0
    assert harness.limiter_lines.waiting([ORIGIN]) == {ORIGIN: len(URLS)}
    jobs = [orjson.loads(job) for job in harness.limiter_lines.contents(ORIGIN, 100)]
    assert {job["attempt"] for job in jobs} == {1}


def test_urls_whose_robots_txt_always_fails_get_an_outcome(crawl_harness):
    handlers = {"//site.test/robots.txt": answer(500), "*": page(b"hello")}
    harness = crawl_harness(handlers, qps=200, robots_error_s=1)
    attempts = harness.pipeline.fetch.returning_jobs.settings.max_attempts
    batch = FetchBatch(tuple(UrlJob(url=url) for url in URLS))

    answers = harness.run([OutgoingMessage(Destination.FETCH, batch)], limit_s=90)

    assert {one.fetch.outcome for one in answers} == {"Unreachable"}
    assert {one.job.url for one in answers} == set(URLS)
    assert {one.fetch.attempts for one in answers} == {attempts}
    assert len(harness.origin.seen) <= 2 * attempts + 2
