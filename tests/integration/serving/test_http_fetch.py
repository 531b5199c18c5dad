"""Fetching over HTTP: POST /v1/fetch, read on miss, batches of enqueued URLs, watches."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.api.operations.batch_progress import BatchTracker
from aragog.api.operations.fetching import Fetching
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.url_batches import UrlBatches
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.slots import SlotRequest
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.runtime.clock import SystemClock
from aragog.settings import PolitenessSettings
from tests.support.api_server import running
from tests.support.stores import NOW_MS, page
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

URL = "http://a.test/p"
AT = f"/v1/urls?url={URL}"


@pytest.fixture
def services(pipeline_harness, redis_client, redis_url):
    def enqueue(urls, *, priority=5, refresh=False, request_id="", **_):
        options = EnqueueOptions(
            priority=priority, refresh=refresh, insist=refresh, request_id=request_id
        )
        return list(pipeline_harness.enqueuer.enqueue(urls, options))

    fetching = Fetching(
        pipeline_harness.store, enqueue, Completions(redis_client, prefix="t:"), max_waiting=50
    )
    limiter = Limiter((redis_url,), PolitenessSettings(qps=2.0), Overrides(None), "t:")
    batches = BatchTracker(UrlBatches(redis_client, prefix="t:"), lambda: limiter)
    yield Services(enqueue=enqueue, fetching=fetching, batches=batches)
    fetching.close()
    limiter.close()


def finish(harness, at_ms=None):
    at_ms = SystemClock().now_ms() if at_ms is None else at_ms
    harness.store.write_pages(
        [page(URL, at_ms, fields={"page.title": b'"T"'}, facts={"outcome": "Fetched"})]
    )
    harness.in_flight.clear([URL])


def test_fetch_returns_when_the_page_is_stored(pipeline_harness, services):
    with running(pipeline_harness.store, services) as api, ThreadPoolExecutor(5) as pool:
        body = {"url": "HTTP://a.test:80/p", "max_wait_ms": 60_000}
        futures = [pool.submit(api.ask, "POST", "/v1/fetch", body) for _ in range(5)]
        wait_until(lambda: services.fetching.completions.count == 5, 60)
        wait_until(lambda: pipeline_harness.sent.urls() == [URL], 60)
        health = api.get("/healthz").status
        finish(pipeline_harness)
        answers = [future.result(60) for future in futures]

    assert {answer.status for answer in answers} == {200}
    assert answers[0].json["record"]["fields"] == {"page.title": "T"}
    assert (answers[0].json["state"], answers[0].json["fetching"]) == ("fresh", False)
    assert health == 200


def test_slow_fetch_is_202_and_continues(pipeline_harness, services):
    with running(pipeline_harness.store, services) as api:
        response = api.ask("POST", "/v1/fetch", {"url": URL, "max_wait_ms": 1})

    assert response.status == 202
    assert response.json["record"] is None
    assert (response.json["state"], response.json["fetching"]) == ("absent", True)
    assert pipeline_harness.in_flight.contains(URL)


@pytest.mark.parametrize("path", ["/v1/fetch", f"{AT}&max_wait_ms=60000"])
def test_drain_answers_requests_that_wait_for_a_fetch(pipeline_harness, services, path):
    """Their connections were closed after 5 s without a response."""
    method, body = ("GET", None) if "?" in path else ("POST", {"url": URL, "max_wait_ms": 60_000})
    with running(pipeline_harness.store, services) as api, ThreadPoolExecutor(1) as pool:
        future = pool.submit(api.ask, method, path, body)
        wait_until(lambda: services.fetching.completions.count == 1)
        api.server.should_exit = True
        answer = future.result(60)

    assert answer.status == (404 if body is None else 202)
    assert answer.json["fetching"] is True


def test_stale_page_is_returned_and_fetched_for_the_next_reader(pipeline_harness, services):
    finish(pipeline_harness, NOW_MS)
    with running(pipeline_harness.store, services) as api:
        plain = api.get(AT)
        stale = api.get(f"{AT}&max_age=page.title:60,9999999999")

    assert "freshness" not in plain.json
    assert stale.json["freshness"]["state"] == "stale"
    assert stale.json["freshness"]["stale_fields"] == ["page.title"]
    assert stale.json["freshness"]["fetching"] is True
    assert stale.json["fields"] == {"page.title": "T"}
    assert "aliases" in stale.json
    assert pipeline_harness.sent.urls() == [URL]


def test_fetch_started_by_a_read_has_its_request_id(pipeline_harness, services):
    with running(pipeline_harness.store, services) as api:
        api.get(f"{AT}&max_wait_ms=1&request_id=order-4711")

    [sent] = pipeline_harness.sent.messages
    assert [job["request_id"] for job in sent.message.wire()["urls"]] == ["order-4711"]


def test_unknown_url_is_404_and_fetched_only_if_the_reader_waits(pipeline_harness, services):
    with running(pipeline_harness.store, services) as api:
        plain = api.get(AT)
        sent = pipeline_harness.sent.urls()
        waited = api.get(f"{AT}&max_wait_ms=1")

    assert (plain.status, sent) == (404, [])
    assert (waited.status, waited.json["fetching"]) == (404, True)
    assert waited.headers["retry-after"] == "1"
    assert pipeline_harness.sent.urls() == [URL]


def test_only_write_tokens_can_cause_fetches(pipeline_harness, services):
    (reader, read), (writer, write) = new_token("r", ["read"]), new_token("w", ["read", "write"])
    with running(pipeline_harness.store, services, tokens=(read, write)) as api:
        reads = {"Authorization": f"Bearer {reader}"}
        writes = {"Authorization": f"Bearer {writer}"}
        codes = [
            api.get(f"{AT}&max_wait_ms=1", **reads).status,
            api.ask("POST", "/v1/fetch", {"url": URL}, **reads).status,
            api.get(f"{AT}&max_wait_ms=0", **writes, Sec_Fetch_Site="cross-site").status,
            api.get(f"{AT}&max_wait_ms=0", **writes, Origin="http://evil.test").status,
        ]

    assert codes == [403, 403, 403, 403]
    assert pipeline_harness.sent.urls() == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{AT}&max_age=x", None),
        (f"{AT}&max_age=-1", None),
        (f"{AT}&max_age=nan", None),
        (f"{AT}&max_age=:5", None),
        (f"{AT}&max_wait_ms=1.5", None),
        (f"{AT}&max_age=1&request_id=two%20words", None),
        ("/v1/urls?url=nonsense&max_age=1", None),
        ("/v1/fetch", {}),
        ("/v1/fetch", {"url": 1}),
        ("/v1/fetch", {"url": "nonsense"}),
        ("/v1/fetch", {"url": URL, "max_wait_ms": -1}),
        ("/v1/fetch", {"url": URL, "max_wait_ms": True}),
        ("/v1/fetch", {"url": URL, "max_age": {}}),
        ("/v1/fetch", {"url": URL, "max_age": 10**18}),
        ("/v1/fetch", b'{"url": "http://a.test/p", "max_age": 1e999}'),
        ("/v1/fetch", {"url": URL, "field_max_age": [1]}),
        ("/v1/fetch", {"url": URL, "fields": "x"}),
        ("/v1/enqueue", {"urls": [URL], "batch": "../x"}),
        ("/v1/batches/..%2f", None),
    ],
)
def test_invalid_request_is_reported(pipeline_harness, services, path, body):
    with running(pipeline_harness.store, services) as api:
        response = api.ask("POST" if body is not None else "GET", path, body)

    assert response.status in (400, 404)
    assert response.headers["content-type"] == "application/problem+json"
    assert pipeline_harness.sent.urls() == []


def test_server_without_these_services_answers_501(pipeline_harness):
    with running(pipeline_harness.store) as api:
        codes = [
            api.ask("POST", "/v1/fetch", {"url": URL}).status,
            api.get(f"{AT}&max_wait_ms=1").status,
            api.get("/v1/batches/abcdefghij").status,
        ]

    assert codes == [501] * 3


def test_batch_reports_remaining_urls_and_estimated_finish(pipeline_harness, services):
    slow = [f"http://slow.test/{n}" for n in range(6)]
    with running(pipeline_harness.store, services) as api:
        first = api.ask("POST", "/v1/enqueue", {"urls": [*slow, "nonsense"]}).json
        batch = first["batch"]
        more = api.ask("POST", "/v1/enqueue", {"urls": [URL, slow[0]], "batch": batch}).json
        before = api.get(f"/v1/batches/{batch}").json
        pipeline_harness.in_flight.clear([URL, *slow[:2]])
        later = api.get(f"/v1/batches/{batch}").json
        pipeline_harness.in_flight.clear(slow)
        done = api.get(f"/v1/batches/{batch}").json
        unknown = api.get("/v1/batches/abcdefghij").status

    assert more["batch"] == batch
    assert (before["total"], before["done"], before["in_flight"]) == (7, 0, 7)
    assert (later["total"], later["done"], later["in_flight"]) == (7, 3, 4)
    assert [domain["domain"] for domain in later["slowest"]] == ["slow.test"]
    # Four URLs at two per second.
    now_ms = SystemClock().now_ms()
    assert later["estimated_finish_at_ms"] == later["slowest"][0]["finish_at_ms"]
    assert now_ms - 60_000 < later["estimated_finish_at_ms"] - 2000 <= now_ms
    assert (done["done"], done["estimated_finish_at_ms"], done["slowest"]) == (7, None, [])
    assert unknown == 404


def test_urls_scheduled_for_later_delay_the_estimate(pipeline_harness, services):
    """The estimate assumed that all URLs are fetched at once."""
    later_ms = SystemClock().now_ms() + 86_400_000
    with running(pipeline_harness.store, services) as api:
        sent = {"urls": ["http://later.test/"], "run_after": later_ms}
        batch = api.ask("POST", "/v1/enqueue", {"urls": [URL]}).json["batch"]
        api.ask("POST", "/v1/enqueue", sent | {"batch": batch})
        progress = api.get(f"/v1/batches/{batch}").json

    by_domain = {domain["domain"]: domain["finish_at_ms"] for domain in progress["slowest"]}
    assert progress["estimated_finish_at_ms"] == by_domain["later.test"] == later_ms + 500
    assert by_domain["a.test"] < later_ms


def test_reserved_slots_count_in_the_estimate(pipeline_harness, services):
    limiter = services.batches._get_limiter()
    limiter.reserve([SlotRequest("a.test") for _ in range(40)])
    with running(pipeline_harness.store, services) as api:
        batch = api.ask("POST", "/v1/enqueue", {"urls": [URL]}).json["batch"]
        asked_ms = SystemClock().now_ms()
        progress = api.get(f"/v1/batches/{batch}").json

    backlog_ms = limiter.describe(["a.test"])["a.test"].backlog_ms
    assert backlog_ms > 5_000
    assert progress["estimated_finish_at_ms"] >= asked_ms + backlog_ms


def test_watches_are_listed_added_and_removed(pipeline_harness):
    pipeline_harness.store.put(URL, {"team.a": b"1"})
    watch = f"/v1/watches?url={URL}&owner=pricing"
    with running(pipeline_harness.store) as api:
        codes = [api.ask("PUT", watch).status, api.ask("PUT", watch).status]
        pipeline_harness.clock.advance_ms(5)
        before = api.get(f"/v1/watches?url={URL}").json
        codes += [api.ask("DELETE", watch).status]
        ended = api.get(f"/v1/watches?url={URL}").json
        wrong = [
            api.ask("PUT", f"/v1/watches?url={URL}").status,
            api.ask("PUT", f"/v1/watches?url={URL}&owner={'x' * 201}").status,
            api.ask("POST", watch).status,
        ]

    assert codes == [204, 204, 204]
    assert before == {"owners": ["pricing"]}
    assert ended == {"owners": []}
    assert wrong == [400, 400, 405]
