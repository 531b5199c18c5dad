"""Reading over HTTP: records, batches, links, conditional requests, and invalid requests."""

import threading

import orjson
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from aragog.api.server.http.batch_get import MAX_BYTES
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.http.openapi.schemas import SCHEMAS
from aragog.api.server.http.services import Services
from aragog.fetch_record.outcome import FetchRecord, Hop
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.records import OutLink
from aragog.urlstore.store import UrlStore
from tests.support.api_server import running
from tests.support.cases import cases
from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture(scope="module")
def harness():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"page.title": b'"A"', "team.note": b"7x", "team.quoted": b'"7x"'})
    harness.store.links.add(A, [OutLink(f"{B}{n}", f"link {n}", "nofollow ugc") for n in range(5)])
    harness.store.aliases.merge("http://a.example/alias", A)
    return harness


@pytest.fixture(scope="module")
def api(harness):
    with running(harness.store) as server:
        yield server


def test_record_is_read_by_any_spelling_with_aliases_and_inlinks(api):
    response = api.get("/v1/urls?url=HTTP%3A%2F%2FA.example%3A80%2Falias")

    assert response.status == 200
    assert response.json["canonical_url"] == A
    assert response.json["aliases"] == ["http://a.example/alias"]
    assert response.json["inlinks"] == 0
    assert response.json["fields"]["page.title"] == "A"


def test_only_requested_fields_are_read(api):
    record = api.get(f"/v1/urls?url={A}&fields=team.note&include=").json

    assert record["fields"] == {"team.note": "7x"}
    assert "aliases" not in record


def test_different_values_are_shown_differently(api):
    fields = api.get(f"/v1/urls?url={A}").json["fields"]

    assert fields["team.note"] == "7x"
    assert fields["team.quoted"] == '"7x"'


def test_invalid_url_affects_no_other_in_its_batch(api):
    response = api.ask("POST", "/v1/urls:batchGet", {"urls": [A, "nonsense", "http://no.example/"]})

    assert response.status == 200
    assert [result["status"] for result in response.json["results"]] == [200, 400, 404]
    assert response.json["results"][0]["record"]["fields"]["team.note"] == "7x"
    assert [result["input"] for result in response.json["results"]] == [
        A,
        "nonsense",
        "http://no.example/",
    ]


def test_links_continue_with_the_link_header(api):
    first = api.get(f"/v1/links?url={A}&limit=3")
    target = first.headers["link"].partition(">")[0].removeprefix("<")
    second = api.get(target)

    assert [link["url"] for link in first.json["links"] + second.json["links"]] == [
        f"{B}{n}" for n in range(5)
    ]
    assert first.json["links"][0]["rel"] == ["nofollow", "ugc"]
    assert "link" not in second.headers


@pytest.mark.parametrize("path", [f"/v1/urls?url={A}", "/v1/content?url=http://match.example/"])
def test_response_with_another_etag_than_expected_is_412(api, harness, path):
    harness.store.put_content("http://match.example/", b"0123", {"content_type": "text/plain"})
    tag = api.get(path).headers["etag"]

    def status(expected, **headers):
        return api.get(path, If_Match=expected, **headers).status

    assert [status(expected) for expected in (tag, "*", f'"other", {tag}')] == [200, 200, 200]
    assert [status(expected) for expected in ('"other"', f"W/{tag}")] == [412, 412]
    assert status('"other"', If_None_Match=tag) == 412, "evaluated first (RFC 9110, 13.2.2)"
    assert status('"other"', Range="bytes=0-5") == 412
    assert status(tag, If_None_Match=tag) == 304


def test_unchanged_record_is_304(api):
    first = api.get(f"/v1/urls?url={A}")
    again = api.get(f"/v1/urls?url={A}", If_None_Match=first.headers["etag"])
    other = api.get(f"/v1/urls?url={A}", If_None_Match='"other"')
    lines = f'"other"\r\nIf-None-Match: {first.headers["etag"]}'
    second_line = api.get(f"/v1/urls?url={A}", If_None_Match=lines)

    assert (again.status, again.body) == (304, b"")
    assert other.status == 200
    assert second_line.status == 304, "lines of one header are one list (RFC 9110, 5.3)"


@pytest.mark.parametrize(
    ("status", "method", "path"),
    cases("""
        400  GET       /v1/links?url=http://a.example/&limit=%C2%B2
        400  GET       /v1/links?url=http://a.example/&limit=0
        400  GET       /v1/links?url=http://a.example/&limit=99999999999999
        400  GET       /v1/links?url=http://a.example/&cursor=WyJhIl0=
        400  GET       /v1/links?url=http://a.example/&direction=in&cursor=WzFd
        400  GET       /v1/links?url=http://a.example/&direction=up
        400  GET       /v1/urls?url=%FF
        400  GET       /v1/urls
        400  GET       /v1/urls?url=nonsense
        400  GET       /v1/urls?url=http://a.example/&include=all
        404  GET       /v1/urls?url=http://no.example/
        404  GET       /v1/content?url=http://a.example/
        400  GET       /v1/history?url=http://a.example/
        404  GET       /nowhere
        404  GET       /v1/urls/
        405  GET       /v1/urls:batchGet
        405  PROPFIND  /v1/urls
    """),
)
def test_impossible_request_gets_a_problem(api, status, method, path):
    assert_problem(api.ask(method, path, None), int(status))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/urls", {}, 405),
        ("/v1/enqueue", {"urls": [A]}, 501),
        *(
            ("/v1/urls:batchGet", body, 400)
            for body in (
                {"fields": [1]},
                {"fields": 5},
                {"urls": [A], "fields": [1]},
                {"urls": [A], "fields": 5},
                {"urls": [1]},
                {"urls": "x"},
                {"urls": [A] * 1001},
                [],
                b"\xff",
                b"[" * 100_000,
            )
        ),
    ],
)
def test_impossible_body_gets_a_problem(api, path, body, status):
    assert_problem(api.ask("POST", path, body), status)


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("GET", "/v1/urls?url=http://a.example/&fileds=x", None, "fileds"),
        ("GET", "/v1/urls?url=http://a.example/&include=&field=x", None, "field"),
        ("GET", "/v1/changes?hots=a.example", None, "hots"),
        ("POST", "/v1/urls:batchGet", {"urls": [A], "fileds": ["x"]}, "fileds"),
        ("POST", "/v1/urls:batchGet?fields=x", {"urls": [A]}, "fields"),
        ("POST", "/v1/enqueue", {"urls": [A], "prio": 1}, "prio"),
        ("POST", "/v1/queues/one/jobs", {"queue": "two", "jobs": []}, "queue"),
        ("POST", "/v1/queues/one/jobs", {"jobs": [{"body": "x", "prio": 1}]}, "prio"),
    ],
)
def test_unknown_option_is_refused(api, method, path, body, named):
    """
    A misspelled option was ignored: all fields were returned, or the default priority applied.
    """
    response = api.ask(method, path, body)

    assert_problem(response, 400)
    assert response.json["detail"].startswith(f"{named}: ")


def test_query_with_too_many_parts_gets_a_problem(api):
    assert_problem(api.get("/v1/urls?" + "x=1&" * 100), 400)


def assert_problem(response, status):
    assert response.status == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json["status"] == status
    assert response.json["detail"]


def test_405_names_the_allowed_methods(api):
    response = api.ask("POST", "/v1/aliases", {})

    assert response.status == 405
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


def test_body_with_another_content_type_is_refused(api):
    response = api.ask("POST", "/v1/urls:batchGet", {"urls": [A]}, Content_Type="text/plain")

    assert response.status == 415


def test_unexpected_error_is_a_logged_500(harness, caplog):
    class TransportError:
        formats = harness.store.formats

        def get(self, *_args):
            raise ZeroDivisionError("of a bug")

    with running(TransportError()) as api:
        response = api.get(f"/v1/urls?url={A}")
        alive = api.get("/healthz")

    assert response.status == 500
    assert "bug" not in response.body.decode()
    assert "ZeroDivisionError: of a bug" in caplog.text
    assert alive.status == 200


class SlowContent(MemoryContent):
    """A content store whose reads wait until released."""

    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    def get(self, key):
        self.release.wait(60)
        return super().get(key)


def test_slow_content_store_gives_504_and_delays_no_other_read():
    content = SlowContent()
    store = UrlStore(MemoryTables(), content, StoreSettings(), ManualClock(NOW_MS))
    store.put_content(A, b"<p>", {"content_type": "text/html"})
    try:
        with running(store, content_deadline_ms=50, max_in_flight=2) as api:
            late = [api.get(f"/v1/content?url={A}") for _ in range(3)]
            meanwhile = api.get(f"/v1/urls?url={A}&include=")
            ready = api.get("/readyz")
            content.release.set()
    finally:
        content.release.set()

    assert [response.status for response in late] == [504, 504, 503]
    assert "retry-after" in late[2].headers
    assert meanwhile.status == 200
    assert ready.status == 200


def test_content_is_sent_unchanged_and_cannot_run_as_our_page(harness):
    harness.store.put_content(B, b"<script>1</script>", {"content_type": "text/html\r\nX: y"})
    with running(harness.store) as api:
        response = api.get(f"/v1/content?url={B}")

    assert response.body == b"<script>1</script>"
    assert response.headers["content-type"] == "text/htmlX: y"
    assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=8-99", 206, b"89"),
        ("bytes=10-", 416, None),
        ("bytes=5-4", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("lines=1-2", 200, b"0123456789"),
        ("bytes=²-", 200, b"0123456789"),
    ],
)
def test_requested_range_of_content_is_sent(api, harness, asked, status, body):
    url = "http://range.example/"
    harness.store.put_content(url, b"0123456789", {"content_type": "text/plain"})
    response = api.get(f"/v1/content?url={url}", Range=asked)

    assert response.status == status
    if status == 206:
        first = b"0123456789".index(body)
        assert response.headers["content-range"] == f"bytes {first}-{first + len(body) - 1}/10"
    if body is not None:
        assert response.body == body
    else:
        assert response.headers["content-range"] == "bytes */10"


def test_hung_store_is_alive_but_not_ready(harness):
    release = threading.Event()

    class Hung:
        formats = harness.store.formats

        def get(self, *_args):
            release.wait(60)

    try:
        with running(Hung(), deadline_ms=50) as api:
            answers = [
                api.get(path).status for path in ("/readyz", "/healthz", "/v1/urls?url=" + A)
            ]
            release.set()
    finally:
        release.set()

    assert answers == [503, 200, 504]


def test_openapi_document_is_valid_and_names_every_path(api):
    document = api.get("/openapi.json").json
    validate(document)

    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert set(api.get("/").json["paths"]) == set(document["paths"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", f"/v1/urls?url={A}", None),
        ("get", f"/v1/urls?url={A}&include=", None),
        ("get", "/v1/urls?url=nonsense", None),
        ("get", "/v1/urls?url=http://no.example/", None),
        ("post", "/v1/urls:batchGet", {"urls": [A, "nonsense", "http://no.example/"]}),
        ("post", "/v1/urls:batchGet", {"urls": 1}),
        ("get", f"/v1/links?url={A}&limit=2", None),
        ("get", f"/v1/links?url={A}&direction=in", None),
        ("get", f"/v1/aliases?url={A}", None),
        ("get", f"/v1/history?url={A}&field=team.note", None),
        ("get", "/v1/changes", None),
        ("get", "/healthz", None),
        ("get", "/readyz", None),
    ],
)
def test_response_matches_its_schema(api, method, path, body):
    response = api.ask(method.upper(), path, body)
    operation = DOCUMENT["paths"][path.partition("?")[0]][method]
    kind = response.headers["content-type"]
    described = operation["responses"][str(response.status)]
    if "$ref" in described:
        described = DOCUMENT["components"]["responses"][described["$ref"].rpartition("/")[2]]
    schema = described["content"][kind]["schema"]

    whole = {"components": {"schemas": SCHEMAS}, **schema}
    problems = [error.message for error in Draft202012Validator(whole).iter_errors(response.json)]

    assert problems == []


def test_docs_page_loads_no_other_resources(api):
    response = api.get("/docs")

    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert b"/v1/urls:batchGet" in response.body
    for word in (b"<script", b"src=", b"<link", b"url(", b"@import"):
        assert word not in response.body


def test_requests_are_counted_by_route_never_by_client_text(harness):
    from prometheus_client import generate_latest

    with running(harness.store, Services(metrics=generate_latest)) as api:
        api.get("/nowhere/at/all")
        api.get(f"/v1/aliases?url={A}")
        text = api.get("/metrics").body.decode()

    assert 'aragog_http_requests_total{method="GET",route="/v1/aliases",status="200"}' in text
    assert 'route="none",status="404"' in text
    assert "nowhere" not in text
    assert "aragog_http_request_seconds_bucket" in text


def test_head_has_no_body(api):
    response = api.ask("HEAD", f"/v1/urls?url={A}")

    assert (response.status, response.body) == (200, b"")
    assert int(response.headers["content-length"]) > 0


def test_two_keep_alive_requests_use_one_connection(api):
    one_request = f"GET /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\n"
    both = api.raw(f"{one_request}\r\n{one_request}Connection: close\r\n\r\n".encode())

    assert both.count(b"HTTP/1.1 200 OK") == 2
    assert orjson.loads(both.rpartition(b"\r\n\r\n")[2])["canonical_url"] == A


def test_batch_of_large_records_is_cut_and_names_the_rest():
    harness = store_harness(MemoryTables())
    urls = [f"http://big.example/{n}" for n in range(100)]
    for url in urls:
        harness.store.put(url, {"team.note": b"x" * 1_000_000})

    with running(harness.store) as server:
        response = server.ask("POST", "/v1/urls:batchGet", {"urls": urls})

    statuses = [result["status"] for result in response.json["results"]]
    assert response.status == 200
    assert len(response.body) < MAX_BYTES + 21_000_000
    assert 33 <= statuses.count(200) <= 52
    assert statuses == sorted(statuses)
    assert set(statuses) == {200, 413}
    assert response.json["results"][-1]["input"] == urls[-1]


def test_last_fetch_of_the_requested_url_is_returned_with_its_redirects():
    harness = store_harness(MemoryTables())
    hop = Hop(url=A, status=301, target=B, latency_ms=2.5, headers=(("Location", B),))
    report = FetchRecord(
        url=A, outcome="Fetched", status=200, fetched_at_ms=NOW_MS, final_url=B, hops=(hop,),
        headers=(("Server", "x"),), total_ms=12.0,
    )  # fmt: skip
    harness.store.write_pages([page(A, final_url=B, report=report)])

    with running(harness.store) as api:
        record = api.get(f"/v1/urls?url={A}&include=fetch").json

    assert record["fetch"]["hops"] == [
        {"url": A, "status": 301, "target": B, "latency_ms": 2.5, "headers": [["Location", B]]}
    ]
    assert record["fetch"]["headers"] == [["Server", "x"]]
    assert "aliases" not in record
    Draft202012Validator(
        {"$ref": "#/components/schemas/FullRecord", "components": {"schemas": SCHEMAS}}
    ).validate(record)
