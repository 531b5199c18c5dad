"""
Fetches for waiting callers: a real Redis and in-flight set, and a worker simulated by a thread.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.api.operations.fetching import Fetching, FetchRequest, FetchState
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.errors import BadInput, BrokerUnavailable, InvalidUrl
from aragog.runtime.clock import ManualClock, SystemClock
from tests.support.stores import NOW_MS, page
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

URL = "http://a.test/p"
LONG_MS = 60_000


@pytest.fixture
def completions(redis_client):
    a_listener = Completions(redis_client, prefix="t:")
    yield a_listener
    a_listener.close()


@pytest.fixture
def enqueued():
    """The result of each enqueuing call."""
    return []


@pytest.fixture
def fetching(pipeline_harness, completions, enqueued):
    # The store refuses a fetch in the future of its clock, and tests write pages fetched now.
    pipeline_harness.clock.advance_ms(SystemClock().now_ms() - NOW_MS)

    def enqueue(urls, *, priority, refresh, request_id, traceparent):
        options = EnqueueOptions(
            priority=priority, refresh=refresh, insist=refresh, request_id=request_id,
            caller=traceparent,
        )  # fmt: skip
        results = list(pipeline_harness.enqueuer.enqueue(urls, options))
        enqueued.extend(results)
        return results

    return Fetching(
        pipeline_harness.store, enqueue, completions, max_waiting=100, extractors=("jobs",)
    )


def store_page(harness, url=URL, at_ms=NOW_MS, **parts):
    parts.setdefault("facts", {"outcome": "Fetched"})
    fields = {"page.title": b'"Title"'}
    harness.store.write_pages([page(url, at_ms, fields=fields, **parts)])


def finish(harness, *urls):
    harness.in_flight.clear(urls or (URL,))


def test_taken_down_url_is_not_fetched_and_the_reason_is_returned(
    pipeline_harness, fetching, enqueued
):
    pipeline_harness.store.takedowns.take_down(url=URL)

    response = fetching.fetch_now(FetchRequest(url=URL, max_wait_ms=LONG_MS))

    assert (response.state, response.fetching, response.reason) == (
        FetchState.ABSENT, False, "it was taken down",
    )  # fmt: skip
    assert enqueued == []


def test_unknown_url_is_returned_as_soon_as_it_is_stored(pipeline_harness, fetching, completions):
    harness = pipeline_harness
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            fetching.fetch_now, FetchRequest(url="http://A.test:80/p", max_wait_ms=LONG_MS)
        )
        wait_until(lambda: harness.sent.urls() == [URL])
        assert not future.done()
        store_page(harness, at_ms=SystemClock().now_ms())
        finish(harness)

        response = future.result(60)

    assert response.record.fields == {"page.title": b'"Title"'}
    assert (response.url, response.state, response.fetching) == (URL, FetchState.FRESH, False)
    assert completions.count == 0


def test_fetch_has_the_request_id_of_the_call_that_started_it(pipeline_harness, fetching):
    for request_id in ("order-4711", "order-4712"):
        fetching.fetch_now(FetchRequest(url=URL, request_id=request_id))

    [sent] = pipeline_harness.sent.messages
    assert [job["request_id"] for job in sent.message.wire()["urls"]] == ["order-4711"]


@pytest.mark.parametrize("request_id", ["two words", "x" * 65, "a\nb", "ä"])
def test_request_id_that_would_break_a_log_line_is_refused(pipeline_harness, fetching, request_id):
    store_page(pipeline_harness)
    with pytest.raises(BadInput, match="request_id"):
        fetching.fetch_now(FetchRequest(url=URL, request_id=request_id))


def test_many_callers_cause_one_fetch(pipeline_harness, fetching, enqueued):
    with ThreadPoolExecutor(20) as pool:
        futures = [
            pool.submit(fetching.fetch_now, FetchRequest(url=URL, max_wait_ms=LONG_MS))
            for _ in range(20)
        ]
        wait_until(lambda: len(enqueued) == 20)
        store_page(pipeline_harness, at_ms=SystemClock().now_ms())
        finish(pipeline_harness)

        states = {future.result(60).state for future in futures}

    assert states == {FetchState.FRESH}
    assert pipeline_harness.sent.urls() == [URL]
    assert pipeline_harness.sent.messages[0].priority == 0


def test_stale_page_is_returned_without_waiting_and_fetched_for_the_next_caller(
    pipeline_harness, fetching
):
    store_page(pipeline_harness)

    response = fetching.fetch_now(FetchRequest(url=URL, max_age_s=3600))

    assert (response.state, response.fetching) == (FetchState.STALE, True)
    assert response.record.fields == {"page.title": b'"Title"'}
    assert pipeline_harness.sent.urls() == [URL]


def test_page_of_any_age_is_fresh_without_a_limit(pipeline_harness, fetching):
    store_page(pipeline_harness)

    response = fetching.fetch_now(FetchRequest(url=URL, max_wait_ms=LONG_MS))

    assert (response.state, response.fetching) == (FetchState.FRESH, False)
    assert pipeline_harness.sent.urls() == []


def test_deadline_ends_the_wait_and_the_fetch_continues(pipeline_harness, fetching, completions):
    response = fetching.fetch_now(FetchRequest(url=URL, max_wait_ms=1))

    assert (response.record, response.state, response.fetching) == (None, FetchState.ABSENT, True)
    assert pipeline_harness.in_flight.contains(URL)
    assert completions.count == 0


def test_max_age_of_zero_fetches_and_the_new_page_is_fresh(pipeline_harness, fetching):
    """Also if the time between its fetch and its reading exceeds the old page's age."""
    store_page(pipeline_harness, at_ms=SystemClock().now_ms())
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            fetching.fetch_now, FetchRequest(url=URL, max_wait_ms=LONG_MS, max_age_s=0)
        )
        wait_until(lambda: pipeline_harness.sent.urls() == [URL])
        fetched_at_ms = SystemClock().now_ms() + 5
        store_page(pipeline_harness, at_ms=fetched_at_ms)
        wait_until(lambda: SystemClock().now_ms() > fetched_at_ms + 500)
        finish(pipeline_harness)

        assert future.result(60).state is FetchState.FRESH


def test_fields_have_their_own_ages(pipeline_harness, fetching):
    fetching.clock = ManualClock(NOW_MS)
    store_page(pipeline_harness)
    pipeline_harness.store.put(URL, {"team.score": b"7"}, at_ms=NOW_MS - 100_000)
    limits = {"page.title": 50.0, "team.score": 50.0}

    response = fetching.fetch_now(
        FetchRequest(url=URL, fields=["page.title"], field_max_age_s=limits)
    )

    assert response.stale_fields == ("team.score",)
    assert response.record.fields == {"page.title": b'"Title"'}
    assert not response.fetching, "the page was tried recently enough, so another fetch cannot help"


def test_custom_field_is_as_old_as_the_last_confirmation_of_its_page(pipeline_harness, fetching):
    now_ms = SystemClock().now_ms()
    fetched = page(
        URL, now_ms - 100_000, fields={"jobs.salary": b"1"}, facts={"outcome": "Fetched"}
    )
    not_modified = page(URL, now_ms, facts={"outcome": "NotModified"})
    pipeline_harness.store.write_pages([fetched])
    pipeline_harness.store.write_pages([not_modified])

    response = fetching.fetch_now(FetchRequest(url=URL, field_max_age_s={"jobs.salary": 50.0}))

    assert (response.record.fields, response.state) == ({"jobs.salary": b"1"}, FetchState.FRESH)


def test_dead_page_is_not_requested_again_by_every_reader(pipeline_harness, fetching):
    facts = {"outcome": "Gone", "status": 404}
    pipeline_harness.store.write_pages(
        [page(URL, SystemClock().now_ms(), facts=facts, gone=True, fields={})]
    )

    response = fetching.fetch_now(FetchRequest(url=URL, max_wait_ms=LONG_MS, max_age_s=3600))

    assert (response.state, response.fetching) == (FetchState.ABSENT, False)
    assert response.record.facts["outcome"] == "Gone"
    assert pipeline_harness.sent.urls() == []


def test_job_in_flight_that_fetched_nothing_is_followed_by_one_that_does(
    pipeline_harness, fetching
):
    """
    An ordinary job for a stored URL ends without a fetch; a caller that waits for a refresh keeps
    waiting.
    """
    store_page(pipeline_harness)
    list(pipeline_harness.enqueuer.enqueue([URL], EnqueueOptions()))
    with ThreadPoolExecutor(1) as pool:
        request = FetchRequest(url=URL, max_wait_ms=LONG_MS, max_age_s=3600)
        future = pool.submit(fetching.fetch_now, request)
        wait_until(lambda: fetching.completions.count == 1)
        finish(pipeline_harness)
        wait_until(lambda: pipeline_harness.sent.urls() == [URL, URL])
        store_page(pipeline_harness, at_ms=SystemClock().now_ms())
        finish(pipeline_harness)

        assert future.result(60).state is FetchState.FRESH


def test_end_of_an_earlier_job_does_not_end_the_wait(pipeline_harness, completions):
    """
    A job that ended while the caller enqueued used to end its wait at once, with the stale page.
    """
    harness, notifications = pipeline_harness, []
    store_page(harness)
    list(harness.enqueuer.enqueue([URL], EnqueueOptions()))

    def enqueue(urls, **_):
        if not notifications:
            with completions.subscribe(URL) as other:
                finish(harness)
                wait_until(other.completion.done)
        options = EnqueueOptions(priority=0, refresh=True, insist=True)
        notifications.extend(results := list(harness.enqueuer.enqueue(urls, options)))
        return results

    fetching = Fetching(harness.store, enqueue, completions)
    with ThreadPoolExecutor(1) as pool:
        request = FetchRequest(url=URL, max_wait_ms=LONG_MS, max_age_s=3600)
        future = pool.submit(fetching.fetch_now, request)
        wait_until(lambda: len(notifications) == 2)
        store_page(harness, at_ms=SystemClock().now_ms())
        finish(harness)

        assert future.result(60).state is FetchState.FRESH
    assert harness.sent.urls() == [URL, URL]


def test_more_waiting_callers_than_allowed_get_an_immediate_answer(pipeline_harness, completions):
    full = Fetching(pipeline_harness.store, lambda urls, **_: list(
        pipeline_harness.enqueuer.enqueue(urls, EnqueueOptions(refresh=True))
    ), completions, max_waiting=0)  # fmt: skip

    response = full.fetch_now(FetchRequest(url=URL, max_wait_ms=LONG_MS))

    assert (response.state, response.fetching) == (FetchState.ABSENT, True)


def test_unreachable_broker_does_not_stop_reads_of_stored_pages(pipeline_harness, completions):
    def enqueue(_urls, **_):
        raise BrokerUnavailable("broker", "connection refused")

    fetching = Fetching(pipeline_harness.store, enqueue, completions)
    store_page(pipeline_harness)

    response = fetching.fetch_now(FetchRequest(url=URL, max_wait_ms=LONG_MS, max_age_s=1))
    with pytest.raises(BrokerUnavailable):
        fetching.fetch_now(FetchRequest(url="http://unknown.test/", max_wait_ms=LONG_MS))

    assert response.state is FetchState.STALE
    assert "connection refused" in response.reason


def test_fetch_without_a_page_returns_the_reason(pipeline_harness, fetching):
    harness = pipeline_harness
    facts = {"outcome": "Refused", "reason": "robots.txt disallows it: line 2"}
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(fetching.fetch_now, FetchRequest(url=URL, max_wait_ms=LONG_MS))
        wait_until(lambda: harness.sent.urls() == [URL])
        harness.store.write_pages([page(URL, SystemClock().now_ms(), facts=facts)])
        finish(harness)
        response = future.result(60)

    assert (response.state, response.reason) == (FetchState.ABSENT, facts["reason"])
    later = fetching.fetch_now(FetchRequest(url=URL, max_age_s=3600))
    assert (later.fetching, later.reason) == (False, facts["reason"])
    again = fetching.fetch_now(FetchRequest(url=URL, max_age_s=0))
    assert (again.fetching, again.reason) == (True, None)


def test_invalid_url_is_refused(fetching):
    with pytest.raises(InvalidUrl):
        fetching.fetch_now(FetchRequest(url="nonsense", max_wait_ms=LONG_MS))


def test_lost_redis_connection_wakes_waiting_callers(
    redis_client, pipeline_harness, fetching, completions
):
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(fetching.fetch_now, FetchRequest(url=URL, max_wait_ms=LONG_MS))
        wait_until(lambda: pipeline_harness.sent.urls() == [URL])
        store_page(pipeline_harness, at_ms=SystemClock().now_ms())
        redis_client.hdel("t:in_flight", *redis_client.hkeys("t:in_flight"))  # the message is lost
        redis_client.client_kill_filter(_type="pubsub")

        assert future.result(60).state is FetchState.FRESH


def test_event_loop_waits_without_a_thread(pipeline_harness, fetching, enqueued):
    async def ask():
        request = FetchRequest(url=URL, max_wait_ms=LONG_MS)
        run = asyncio.to_thread
        return await asyncio.gather(*(fetching.fetch_now_async(request, run) for _ in range(40)))

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, ask())
        wait_until(lambda: len(enqueued) == 40)
        store_page(pipeline_harness, at_ms=SystemClock().now_ms())
        finish(pipeline_harness)

        assert {response.state for response in future.result(60)} == {FetchState.FRESH}
    assert pipeline_harness.sent.urls() == [URL]
