"""A run counts each URL once and requests again those that were in flight for another user."""

from contextlib import closing

import pytest

from aragog.bootstrap.stores import url_store
from aragog.cli.run_tracker import (
    MAX_CALLS_PER_PASS,
    URLS_PER_READ,
    FinalState,
    RequeueOptions,
    RunTracker,
)
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.followed_urls import FollowedUrls
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.settings import load_settings
from tests.support.stores import body, page

pytestmark = pytest.mark.redis

A, B = "http://a.test/", "http://b.test/"
LATER_MS = 4_000_000_000_000
FIELD_BYTES = 16 + len(b"$16\r\n\r\n")
"""The size of one URL in a request that reads the in-flight set."""


@pytest.fixture
def settings(cli_environ):
    return load_settings().resolved()


@pytest.fixture
def store(settings):
    with closing(url_store(settings)) as opened:
        facts = {"outcome": "Fetched", "fetched_at_ms": 1}
        opened.write_pages([page(A, 1, content=body("a"), facts=facts)])
        yield opened


@pytest.fixture
def shared(settings):
    return SharedState.from_settings(settings)


class RequestRecorder:
    """Accepts the run's repeated requests, as an enqueuer does."""

    def __init__(self, in_flight):
        self.calls, self._in_flight = [], in_flight

    def __call__(self, urls, options):
        self.calls += [(url, options) for url in urls]
        self._in_flight.mark(urls)
        self._in_flight.confirm(urls)
        return [EnqueueResult(url, EnqueueStatus.ACCEPTED, url) for url in urls]


@pytest.fixture
def run(settings, store, shared):
    """The tracker of a run, and a recorder of its repeated requests."""
    with closing(RunTracker(settings, store)) as tracker:
        yield tracker, RequestRecorder(shared.in_flight)


def test_url_linked_again_after_completion_counts_once(run, shared, settings):
    """2,199 pages were reported as stored although 2,100 URLs were fetched once each."""
    tracker, requests = run
    followed = FollowedUrls(shared.client, prefix=settings.redis.prefix)
    tracker.add(A)
    tracker.add(A)
    tracker.update(requests)
    for _ in range(3):
        followed.add_enqueued(tracker.request_id, [A], 0)
        tracker.update(requests)

    assert (tracker.total, tracker.in_flight) == (1, 0)
    assert tracker.final_states == {FinalState.ALREADY_STORED: 1}


def test_url_in_flight_for_another_user_is_requested_when_done(run, shared):
    tracker, requests = run
    shared.in_flight.mark([A])
    shared.in_flight.confirm([A])
    tracker.add(A, depth=2, was_in_flight=True)
    tracker.update(requests)
    assert (tracker.in_flight, requests.calls) == (1, [])

    shared.in_flight.clear([A])
    tracker.update(requests)
    assert (tracker.in_flight, requests.calls) == (1, [(A, RequeueOptions(2, refresh=False))])

    shared.in_flight.clear([A])
    tracker.update(requests)
    assert (tracker.in_flight, tracker.total) == (0, 1)
    assert tracker.final_states == {FinalState.ALREADY_STORED: 1}
    assert len(requests.calls) == 1


def test_refresh_requests_pages_that_another_user_found_stored(settings, store, shared):
    with closing(RunTracker(settings, store, refresh=True)) as tracker:
        requests = RequestRecorder(shared.in_flight)
        tracker.add(A, depth=0, was_in_flight=True)
        tracker.update(requests)

        assert requests.calls == [(A, RequeueOptions(0, refresh=True))]


def test_failures_are_counted_by_outcome_and_status(run, store):
    """`failed 20,004` gave no reasons."""
    tracker, requests = run
    gone = [f"http://a.test/gone{n}" for n in range(3)]
    facts = {"outcome": "Gone", "status": 404, "attempted_at_ms": LATER_MS}
    store.write_pages([page(url, 1, facts=facts) for url in gone])
    for url in (*gone, B):
        tracker.add(url)
    tracker.update(requests)

    assert tracker.outcomes == {"Gone 404": 3, "no record": 1}


def test_page_still_stored_after_a_failed_attempt_counts_as_stored(run, store):
    tracker, requests = run
    facts = {"outcome": "Busy", "status": 503, "attempted_at_ms": 2}
    store.write_pages([page(A, 2, facts=facts)])
    tracker.add(A)
    tracker.update(requests)

    assert tracker.final_states == {FinalState.ALREADY_STORED: 1}


def test_files_of_items_are_counted_separately_from_pages(settings, store, shared):
    """
    Otherwise each file would be a record of the run without fields, or a URL without a record.
    """
    gone, pages = "http://b.test/gone.png", []
    facts = {"outcome": "Fetched", "file": 1, "fetched_at_ms": 1}
    failed = {"outcome": "Gone", "status": 404, "attempted_at_ms": LATER_MS, "file": 1}
    store.write_pages([page(B, 1, content=body("b"), facts=facts), page(gone, 1, facts=failed)])
    with closing(RunTracker(settings, store, pages.append, refresh=True)) as tracker:
        requests = RequestRecorder(shared.in_flight)
        tracker.add(A)
        for url in (B, gone):
            tracker.add(url, was_in_flight=True)
        tracker.update(requests)

        assert (tracker.files, tracker.missing_files) == (1, {"Gone 404": 1})
        assert (tracker.total, tracker.outcomes, pages) == (3, {}, [A])
        assert requests.calls == []
        assert tracker.problems[gone].is_file


def test_many_urls_in_flight_are_checked_in_slices(run, shared):
    """A run of 2,000 URLs read the state of each one four times a second."""
    tracker, requests = run
    urls = [f"http://a.test/{number}" for number in range(6 * URLS_PER_READ)]
    shared.in_flight.mark(urls)
    shared.in_flight.confirm(urls)
    for url in urls:
        tracker.add(url)

    before = shared.client.info("stats")["total_net_input_bytes"]
    tracker.update(requests)
    read = shared.client.info("stats")["total_net_input_bytes"] - before
    assert read < len(urls) * FIELD_BYTES / 3

    shared.in_flight.clear([urls[0], urls[-1]])
    for _ in range(MAX_CALLS_PER_PASS):
        tracker.update(requests)
    assert tracker.in_flight == len(urls) - 2

    shared.in_flight.clear(urls)
    tracker.update(requests)
    assert tracker.in_flight == 0
