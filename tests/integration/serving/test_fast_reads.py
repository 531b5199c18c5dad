"""
The fast path for plain reads: its responses equal those of the ordinary path for every request.
"""

import gzip
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.errors import StoreUnavailable
from aragog.urlstore.records import ContentWrite
from tests.support.api_server import parsed, read_all, read_one, running
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

A, LONG = "http://a.example/", "http://long.example/"
READER, ENTRY = new_token("reader", ["read"])
WRITER, WRITE_ENTRY = new_token("writer", ["write"])


@pytest.fixture(scope="module")
def store():
    harness = store_harness(MemoryTables())
    facts = {"outcome": "Fetched", "latency_ms": 1.5, "final_url": A}
    parts = {"facts": facts, "content": ContentWrite(b"packed"), "due_at_ms": NOW_MS}
    harness.store.write_pages([page(A, fields={"page.description": b'"D"'}, **parts)])
    harness.store.put(A, {"page.title": b'"A"', "team.note": "ü7x".encode(), "team.raw": b"\xff"})
    harness.store.put(LONG, {"team.long": b"x" * 3000})
    harness.store.aliases.merge("http://a.example/alias", A)
    return harness.store


@pytest.fixture(scope="module")
def api(store):
    with running(store, allowed_hosts=("api.example.com",)) as server:
        yield server


@pytest.fixture(scope="module")
def closed(store):
    with running(store, tokens=(ENTRY, WRITE_ENTRY)) as server:
        yield server


def both(api, path, **headers):
    """The responses of the fast path and of the ordinary path, which an Origin header selects."""
    fast = api.get_fast(path, **headers)
    ordinary = api.get_fast(path, **headers, Origin="http://localhost")
    for reply in (fast, ordinary):
        reply.headers.pop("date", None)
    return fast, ordinary


def took_fast_path(reply):
    """Decided by the order of the headers, the only difference between the two paths."""
    names = list(reply.headers)
    return names.index("content-type") < names.index("cache-control")


def test_plain_read_takes_the_fast_path_and_one_with_an_origin_does_not(api):
    fast, ordinary = both(api, f"/v1/urls?url={A}&fields=page.title&include=")

    assert took_fast_path(fast)
    assert not took_fast_path(ordinary)


@pytest.mark.parametrize(
    "query",
    [
        f"url={A}&include=",
        f"url={A}&fields=page.title,team.note&include=",
        f"include=&url={A}&fields=",
        f"url={A}&fields=team.raw,team.note,team.raw,absent&include=",
        "url=http://a.example/alias&fields=team.note,page.description&include=",
        "url=http://no.example/&fields=a&include=",
        "url=nonsense&fields=a&include=",
        f"url={A}&fields=,,page.title,&include=",
        f"url={A}&fields=page%2Etitle%2cteam.note&include=",
        "url=HTTP%3A%2F%2FA.example%3A80%2Falias&include=",
        "url=http://a.example/%FF&include=",
        "url=http%3A%2F%2Fa.example%2F%3Fq%3Da+b%2Bc&include=",
        "url=http://no.example/&include=",
        "url=nonsense&include=",
        "url=&include=",
        "url&include=",
        "include=",
        "",
        f"url={A}",
        f"url={A}&include=aliases",
        f"url={A}&include=&include=aliases",
        f"url=http://no.example/&url={A}&include=",
        f"%75rl={A}&include=",
        f"url={A}&fields=%FF&include=",
        f"url={A}&include=&max_age=x",
        f"url={A}&include=&other=1",
        f"url={A}&include=#fragment",
        f"url={LONG}&include=",
        f"url={'http://a.example/' + 'x' * 5000}&include=",
    ],
)
def test_both_paths_send_the_same_response(api, query):
    fast, ordinary = both(api, f"/v1/urls?{query}")

    assert (fast.status, fast.body) == (ordinary.status, ordinary.body)
    assert fast.headers == ordinary.headers


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "gzip;q=0"])
@pytest.mark.parametrize("url", [A, LONG])
def test_both_paths_send_the_same_compressed_response(api, url, coding):
    fast, ordinary = both(api, f"/v1/urls?url={url}&include=", Accept_Encoding=coding)

    assert fast.headers == ordinary.headers
    assert fast.body == ordinary.body
    if fast.headers.get("content-encoding") == "gzip":
        assert b"x" * 3000 in gzip.decompress(fast.body)


@pytest.mark.parametrize("host", ["localhost:1", "api.example.com", "evil.example", "127.0.0.1"])
def test_both_paths_check_the_host(api, host):
    fast, ordinary = both(api, f"/v1/urls?url={A}&include=", Host=host)

    assert (fast.status, fast.body) == (ordinary.status, ordinary.body)


@pytest.mark.parametrize("scheme", ["", "Bearer reader", "Bearer writer", "Basic x", "Bearer x"])
def test_both_paths_check_tokens(closed, scheme):
    token = scheme.replace("reader", READER).replace("writer", WRITER)
    fast, ordinary = both(closed, f"/v1/urls?url={A}&include=", Authorization=token)

    assert (fast.status, fast.body) == (ordinary.status, ordinary.body)
    assert fast.headers == ordinary.headers


@pytest.mark.parametrize("tokens", [(READER, WRITER), (WRITER, READER), (READER, READER)])
def test_two_authorization_headers_are_refused(closed, tokens):
    """The fast path used the last, and the ordinary path the first."""
    both_lines = "\r\nAuthorization: ".join(f"Bearer {token}" for token in tokens)
    for reply in both(closed, f"/v1/urls?url={A}&include=", Authorization=both_lines):
        assert reply.status == 400
        assert "Authorization" in reply.json["detail"]


@pytest.mark.parametrize("codings", [("br", "gzip"), ("gzip", "br"), ("gzip;q=0", "br")])
def test_accept_encoding_in_two_lines_is_one_list(api, codings):
    lines = "\r\nAccept-Encoding: ".join(codings)
    fast, ordinary = both(api, f"/v1/urls?url={LONG}&include=", Accept_Encoding=lines)

    assert fast.headers == ordinary.headers
    assert fast.headers.get("content-encoding") == ("gzip" if "gzip" in codings else None)


def test_pipelined_reads_are_answered_in_order(api):
    requested = [A, "http://no.example/", "nonsense", LONG, A]
    lines = [
        f"GET /v1/urls?url={url}&include= HTTP/1.1\r\nHost: localhost\r\n"
        f"{'Connection: close' if last else 'X-More: 1'}\r\n\r\n"
        for url, last in zip(requested, [False] * 4 + [True], strict=True)
    ]
    data = api.raw("".join(lines).encode())

    codes = [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:]]
    assert codes == [200, 404, 400, 200, 200]


def test_concurrent_clients_get_their_own_records():
    harness = store_harness(MemoryTables())
    for number in range(50):
        harness.store.put(f"http://a.example/{number}", {"team.n": b"%d" % number})

    with running(harness.store) as api, ThreadPoolExecutor(16) as pool:

        def read(number):
            response = api.get_fast(f"/v1/urls?url=http://a.example/{number % 50}&include=")
            return response.json["fields"]["team.n"]

        assert list(pool.map(read, range(400))) == [str(n % 50) for n in range(400)]


def test_unreadable_row_affects_no_other_request():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})

    class Part:
        """A store in which the rows of one host are in a damaged file."""

        def __getattr__(self, name):
            return getattr(harness.store, name)

        def get(self, url, fields=None):
            if "broken" in url:
                raise StoreUnavailable("store", "damaged")
            return harness.store.get(url, fields)

        def get_many(self, urls, fields=None):
            return [self.get(url, fields) for url in urls]

    with running(Part()) as api, ThreadPoolExecutor(12) as pool:
        urls = [A, "http://broken.example/", "nonsense", "http://no.example/"] * 10
        codes = list(
            pool.map(lambda url: api.get_fast(f"/v1/urls?url={url}&include=").status, urls)
        )

    assert codes == [200, 503, 400, 404] * 10


def test_hung_store_gives_504_then_503_and_other_requests_continue():
    harness = store_harness(MemoryTables())
    release = threading.Event()

    class Hung:
        def __getattr__(self, name):
            return getattr(harness.store, name)

        def get(self, url, fields=None):
            if "slow" in url:
                release.wait(60)
            return harness.store.get(url, fields)

        def get_many(self, urls, fields=None):
            return [self.get(url, fields) for url in urls]

    slow = "/v1/urls?url=http://slow.example/&include="
    try:
        with running(Hung(), deadline_ms=100, max_in_flight=2, threads=2) as api:
            first = [api.get_fast(slow).status for _ in range(2)]
            then = api.get_fast(slow)
            health = api.get("/healthz").status
            release.set()
            wait_until(lambda: api.get_fast(f"/v1/urls?url={A}&include=").status == 404, 60)
    finally:
        release.set()

    assert first == [504, 504]
    assert (then.status, then.headers["retry-after"]) == (503, "1")
    assert health == 200


def test_client_that_disconnects_affects_no_other(api):
    for _ in range(20):
        with api.connect() as sock:
            sock.sendall(
                f"GET /v1/urls?url={A}&include= HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            )

    assert api.get(f"/v1/urls?url={A}&include=").status == 200


def test_draining_server_completes_started_requests():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})
    reading, release = threading.Event(), threading.Event()

    class Slow:
        def __getattr__(self, name):
            return getattr(harness.store, name)

        def get(self, url, fields=None):
            reading.set()
            release.wait(60)
            return harness.store.get(url, fields)

    with running(Slow()) as api, api.connect() as sock:
        sock.sendall(f"GET /v1/urls?url={A}&include= HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert reading.wait(60)
        api.server.should_exit = True
        [connection] = api.server.server_state.connections
        wait_until(lambda: connection._is_stopping, 60)
        release.set()
        reply = parsed(read_all(sock))

    assert reply.status == 200
    assert reply.headers["connection"] == "close"


@pytest.mark.parametrize("query", ["&include=", ""], ids=["fast path", "ordinary"])
def test_request_that_arrives_as_the_server_stops_is_answered(store, query):
    request = f"GET /v1/urls?url={A}{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with running(store) as api, api.connect() as sock:
        sock.sendall(request)
        first = read_one(sock)
        [connection] = api.server.server_state.connections

        def crossing():
            sock.sendall(request)
            connection.shutdown()

        connection.loop.call_soon_threadsafe(crossing)
        second = parsed(read_all(sock))

    assert (first.status, second.status, second.body) == (200, 200, first.body)
    assert "connection" not in first.headers
    assert second.headers["connection"] == "close"


def test_unaccepted_connection_is_answered_when_the_server_stops(store):
    class Crossing:
        """Fetches nothing; learns at the last moment that the server stops."""

        def drain(self):
            sock.connect(("127.0.0.1", api.port))
            sock.sendall(f"GET /v1/urls?url={A} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    with socket.socket() as sock:
        with running(store, Services(fetching=Crossing())) as api:
            pass
        reply = parsed(read_all(sock))

    assert reply.status == 200


def test_requests_on_both_paths_are_counted(store):
    from prometheus_client import generate_latest

    def count(text):
        name = 'aragog_http_requests_total{method="GET",route="/v1/urls",status="200"} '
        return float(text.partition(name)[2].split("\n")[0] or 0)

    with running(store, Services(metrics=generate_latest)) as api:
        before = count(api.get("/metrics").body.decode())
        both(api, f"/v1/urls?url={A}&include=")
        after = count(api.get("/metrics").body.decode())

    assert after - before == 2


@pytest.mark.parametrize("url", [A, LONG, "http://no.example/", "nonsense"])
def test_both_paths_send_vary_origin(store, url):
    """If pages of other origins may read, caches must keep the responses separate."""
    path = f"/v1/urls?url={url}&include="
    with running(store, cors_origins=("https://app.example.com",)) as api:
        fast = api.get_fast(path, Accept_Encoding="gzip")
        ordinary = api.get_fast(path, Accept_Encoding="gzip", If_None_Match='"other"')

    for reply in (fast, ordinary):
        reply.headers.pop("date")
    assert fast.headers == ordinary.headers
    assert "Origin" in fast.headers["vary"]


@pytest.mark.parametrize("path", [f"/v1/urls?url={A}1&include=", f"/v1/urls?url={A}1", "/nowhere"])
def test_problem_response_is_not_cacheable(api, path):
    """
    A cache may keep a 404 as long as it likes unless the response forbids it (RFC 9111, 4.2.2).
    """
    response = api.get_fast(path)

    assert (response.status, response.headers["cache-control"]) == (404, "no-store")
