"""The Python client over Thrift, over HTTP and directly on the store: the same results."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from aragog.api.operations.operation import Parts
from aragog.api.operations.store_reads import HedgedResult
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.bootstrap.api import open_client
from aragog.client import AsyncClient, Client, connect, connect_async
from aragog.client.direct_backend import DirectBackend
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import (
    AccessDenied,
    BadInput,
    ConfigError,
    InvalidUrl,
    ServiceUnavailable,
    StoreUnavailable,
    TransientError,
    VersionConflict,
)
from aragog.runtime.clock import ManualClock
from aragog.settings import BrokerSettings, RedisSettings, Settings
from aragog.urlstore.records import ContentWrite
from tests.support import api_server, thrift_server
from tests.support.documented import blocks
from tests.support.fetching import URL, Fetching
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

DEADLINE_S = 60


class Producer:
    """`Aragog.enqueue`, which records its calls."""

    def __init__(self):
        self.asked = []

    def enqueue(self, urls, **options):
        self.asked.append((list(urls), options))
        return [EnqueueResult(url, EnqueueStatus.INVALID, None, "not a URL") for url in urls]


class Part:
    """A store, and what plays the rest of the system."""

    def __init__(self):
        self.store_harness = store_harness(MemoryTables(ManualClock()))
        self.store = self.store_harness.store
        self.producer = Producer()
        self.fetching = Fetching(self.store)

    def parts(self):
        """The parts that operations use."""
        return Parts(store=self.store, enqueue=self.producer.enqueue, fetching=self.fetching)


@contextmanager
def thrift(part, **options):
    with thrift_server.running(
        part.store, enqueue=part.producer.enqueue, fetching=part.fetching, **options
    ) as server:
        yield f"thrift://127.0.0.1:{server.port}"


@contextmanager
def http(part, read=None, **options):
    services = Services(enqueue=part.producer.enqueue, fetching=part.fetching, read=read)
    with api_server.running(part.store, services, **options) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture
def part():
    return Part()


@pytest.fixture(params=["thrift", "http", "direct"])
def client(request, part):
    if request.param == "direct":
        with Client(DirectBackend(part.parts())) as client:
            yield client
        return
    with (
        {"thrift": thrift, "http": http}[request.param](part) as address,
        connect(address, deadline_s=DEADLINE_S) as client,
    ):
        yield client


@pytest.fixture(params=[thrift, http])
def served(request):
    """A server for one protocol."""
    return request.param


def test_put_fields_are_read_by_any_spelling(client):
    version = client.put(URL, {"title": "é".encode(), "empty": b""})

    record = client.get("HTTP://Shop.example:80/p/1#top")

    assert record.fields == {"title": "é".encode(), "empty": b""}
    assert (record.url, record.canonical_url, record.version) == (URL, URL, version)
    assert client.get(URL, ["title"]).fields == {"title": "é".encode()}
    assert client.get(URL, []).fields == {}


def test_bytes_that_are_not_text_are_returned_unchanged(client):
    client.put(URL, {"raw": bytes(range(256))})

    assert client.get(URL).fields == {"raw": bytes(range(256))}


def test_get_many_keeps_the_order_with_none_for_unknown_urls(client):
    urls = [f"http://h{n}.example/" for n in range(30)]
    for n, url in enumerate(urls):
        client.put(url, {"n": b"%d" % n})
    requested = [*urls, "http://unknown.example/", urls[3]]

    records = client.get_many(requested, ["n"])

    values = [record and record.fields["n"] for record in records]
    assert values == [*(b"%d" % n for n in range(30)), None, b"3"]
    assert client.get_many([]) == []


def test_batch_of_any_size_is_read(part, client):
    urls = [f"http://h{n}.example/" for n in range(90)]
    for url in urls:
        part.store.put(url, {"big": b"x" * 400_000})

    records = client.get_many(urls, ["big"])

    assert [record.url for record in records] == urls
    assert {len(record.fields["big"]) for record in records} == {400_000}


def test_more_urls_than_fit_into_a_request_are_read(part, client):
    part.store.put(URL, {"n": b"1"})
    urls = [f"http://unknown{n}.example/" for n in range(2001)]

    records = client.get_many([*urls, URL], ["n"])

    assert records[:-1] == [None] * 2001
    assert records[-1].fields == {"n": b"1"}


def test_record_from_the_standby_is_marked(part, served):
    part.store.put(URL, {"a": b"1"})

    def from_standby(call):
        return HedgedResult(call(part.store), from_standby=True)

    with (
        served(part, read=from_standby) as address,
        connect(address, deadline_s=DEADLINE_S) as client,
    ):
        records = [client.get(URL, ["a"]), client.get(URL), client.get(URL, facts=True)]
    assert [record.from_standby for record in records] == [True, True, True]

    with served(part) as address, connect(address, deadline_s=DEADLINE_S) as client:
        assert client.get(URL, ["a"]).from_standby is False


def test_facts_are_returned_when_requested(part, client):
    part.store.write_pages([page(URL, facts={"status": 200, "latency_ms": 1.5})])

    record = client.get(URL, [], facts=True)

    assert (record.facts["status"], record.facts["latency_ms"]) == (200, 1.5)


@pytest.mark.parametrize("fields", [["title"], None])
def test_facts_describe_stored_content_and_the_next_fetch(part, client, fields):
    alias, body = "http://shop.example/old", ContentWrite(b"packed", length_bytes=11)
    parts = {"fields": {"title": b"T"}, "content": body, "due_at_ms": NOW_MS + 5}
    part.store.write_pages([page(URL, also=(alias,), **parts)])

    records = client.get_many([URL, alias], fields, facts=True)

    stored = part.store.get(URL)
    assert len(stored.content_hash) == 64
    expected = [(stored.content_hash, 11, NOW_MS + 5)] * 2
    assert [
        (record.content_hash, record.content_bytes, record.due_at_ms) for record in records
    ] == expected
    client.put("http://other.example/", {"title": b"T"})
    bare = client.get("http://other.example/", fields, facts=True)
    assert (bare.content_hash, bare.content_bytes, bare.due_at_ms) == (None, None, None)


def test_invalid_url_is_refused_before_anything_is_sent(client):
    for call in (client.get, client.remove, client.content, client.fetch):
        with pytest.raises(InvalidUrl):
            call("nonsense")
    with pytest.raises(InvalidUrl):
        client.get_many([URL, "nonsense"])


def test_conditional_put_needs_the_current_version(client):
    version = client.put(URL, {"a": b"1"}, if_version="")

    for expected in ("other", ""):
        with pytest.raises(VersionConflict) as conflict:
            client.put(URL, {"a": b"2"}, if_version=expected)
        assert (conflict.value.expected, conflict.value.found) == (expected, version)

    client.put(URL, {"a": b"3"}, if_version=version)
    assert client.get(URL).fields == {"a": b"3"}


def test_fields_and_pages_are_deleted(part, client):
    client.put(URL, {"a": b"1", "b": b"2"})
    part.store_harness.clock.advance_ms(1000)

    client.delete_fields(URL, ["a", "never"])
    client.delete_fields(URL, [])
    assert client.get(URL).fields == {"b": b"2"}

    client.remove(URL)
    assert client.get(URL) is None


def test_content_is_returned_completely(part, client):
    body = bytes(range(256)) * 70_000  # more than one Thrift reply can contain
    part.store.put_content(URL, body)

    assert client.content(URL) == body
    assert client.content("http://unknown.example/") is None


def test_watch_and_unwatch_take_effect(part, client):
    client.put(URL, {"a": b"1"})

    client.watch(URL, "me")
    assert part.store.schedule.watchers(URL) == ["me"]

    part.store_harness.clock.advance_ms(1000)
    client.unwatch(URL, "me")
    assert part.store.schedule.watchers(URL) == []


def test_enqueue_returns_a_result_for_each_url(part, client):
    results = client.enqueue(
        [f"x{n}" for n in range(1500)], priority=1, run_after=7, depth=2, refresh=True,
        sitemap=True, request_id="order-4711",
    )  # fmt: skip

    assert results[0] == EnqueueResult("x0", EnqueueStatus.INVALID, None, "not a URL")
    assert [result.input for result in results] == [f"x{n}" for n in range(1500)]
    assert [len(urls) for urls, _ in part.producer.asked] == [1000, 500]
    assert [options for _, options in part.producer.asked] == 2 * [
        {
            "priority": 1,
            "run_after": 7,
            "depth": 2,
            "refresh": True,
            "sitemap": True,
            "request_id": "order-4711",
        }
    ]


def test_url_is_fetched_now_and_reported_hop_by_hop(part, client):
    response = client.fetch(URL, ["title"], max_wait_ms=500, max_age_s=3, request_id="order-4711")

    [request] = part.fetching.asked
    assert request.request_id == "order-4711"
    assert (request.url, request.max_wait_ms, request.max_age_s) == (URL, 500, 3.0)
    assert (response.url, response.state, response.fetching, response.age_s) == (
        URL,
        "fresh",
        False,
        0.25,
    )
    assert response.record.fields == {"title": b"T"}
    assert (response.report.outcome, response.report.total_ms) == ("Fetched", 12.5)
    assert response.report.headers == (("X-One", "1"), ("X-One", "2"))
    assert [(h.url, h.status, h.target, h.latency_ms) for h in response.report.hops] == [
        ("http://old.example/", 301, URL, 1.5)
    ]


def test_token_is_sent_and_its_scope_applies(part, served):
    token, entry = new_token("r", ["read"])
    part.store.put(URL, {"a": b"1"})
    with served(part, tokens=(entry,)) as address:
        with connect(address, token=token, deadline_s=DEADLINE_S) as client:
            assert client.get(URL).fields == {"a": b"1"}
            with pytest.raises(AccessDenied, match="scope write"):
                client.put(URL, {"a": b"2"})
        with connect(address, token="aragog_guess") as client, pytest.raises(AccessDenied):
            client.get(URL)


class Flaky:
    """A store that fails a few times and then responds."""

    def __init__(self, store, failures):
        self._store, self.failures = store, failures

    def __getattr__(self, name):
        return getattr(self._store, name)

    @property
    def pages(self):
        return self

    def get(self, url, fields=None, **options):
        self._fail()
        return self._store.get(url, fields, **options)

    def get_many(self, urls, fields=None):
        self._fail()
        return self._store.get_many(urls, fields)

    def values(self, urls, fields, **options):
        self._fail()
        return self._store.pages.values(urls, fields, **options)

    def _fail(self):
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("hbase", "a region moves")


def test_temporary_failure_is_retried(part, served):
    part.store.put(URL, {"a": b"1"})
    part.store = Flaky(part.store, 2)
    with served(part) as address, connect(address, deadline_s=DEADLINE_S) as client:
        assert client.get(URL).fields == {"a": b"1"}

    assert part.store.failures == 0


def test_lasting_failure_is_raised_at_the_deadline(part, served):
    part.store = Flaky(part.store, 10**9)
    with (
        served(part) as address,
        connect(address, deadline_s=2) as client,
        pytest.raises(ServiceUnavailable, match="a region moves"),
    ):
        client.get(URL)


@pytest.mark.parametrize("scheme", ["thrift", "http"])
def test_unresponsive_server_is_an_error_in_time(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        with connect(address, deadline_s=0.2) as client, pytest.raises(TransientError):
            client.get(URL)


@contextmanager
def dripping(head):
    """A server that sends this to each connection, and then one byte at a time."""
    over = threading.Event()

    def answer(sock):
        with sock, suppress(OSError):
            sock.recv(65_536)
            sock.sendall(head)
            while not over.wait(0.02):
                sock.sendall(b"x")

    def serve(listener):
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=[listener.accept()[0]], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        yield listener.getsockname()[1]
        over.set()


@pytest.mark.parametrize(
    ("scheme", "head"),
    [
        ("thrift", b"\x00\x0f\x00\x00"),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        ("http", b"HTTP/1.1 200 OK\r\nX-Slow: "),
    ],
)
def test_dripping_response_ends_at_the_deadline(scheme, head):
    with (
        dripping(head) as port,
        connect(f"{scheme}://127.0.0.1:{port}", deadline_s=0.3) as client,
        pytest.raises(ServiceUnavailable, match=r"in time|timed out"),
    ):
        client.get(URL)


def test_facts_from_an_older_server_are_read():
    """Clients may be newer than their server; these members were added later."""
    record = {"url": URL, "canonical_url": URL, "version": "1", "fields": {}, "facts": {"a": 1}}
    body = json.dumps({"results": [{"url": URL, "status": 200, "record": record}]}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with (
        dripping(head % len(body) + body) as port,
        connect(f"http://127.0.0.1:{port}") as client,
    ):
        sparse = client.get(URL, facts=True)

    assert (sparse.facts, sparse.content_hash, sparse.due_at_ms) == ({"a": 1}, None, None)


@pytest.mark.parametrize("scheme", ["thrift", "http"])
def test_missing_server_is_an_error_that_names_the_address(scheme):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    with (
        connect(f"{scheme}://127.0.0.1:{port}", deadline_s=0.2) as client,
        pytest.raises(ServiceUnavailable, match=f"127.0.0.1:{port}"),
    ):
        client.get(URL)


def test_response_that_is_not_thrift_is_an_error(part):
    with (
        http(part) as address,
        connect(address.replace("http", "thrift"), deadline_s=0.5) as client,
        pytest.raises(ServiceUnavailable),
    ):
        client.get(URL)


@pytest.mark.parametrize("address", ["127.0.0.1:8101", "ftp://x", ""])
def test_unknown_address_scheme_is_refused(address):
    with pytest.raises(ConfigError, match="thrift://"):
        connect(address)


@pytest.mark.parametrize("token", ["", "aragog_…", "a b", "a\r\nX: y"])
@pytest.mark.parametrize("address", ["thrift://127.0.0.1", "http://127.0.0.1"])
def test_invalid_token_is_refused(address, token):
    with pytest.raises(ConfigError, match="token"):
        connect(address, token=token)


def test_connections_are_kept_and_reopened_after_the_server_closes_them(part):
    part.store.put(URL, {"a": b"1"})
    with thrift_server.running(part.store, keep_alive_s=0.2) as server:
        address = f"thrift://127.0.0.1:{server.port}"
        with connect(address, deadline_s=DEADLINE_S) as client:
            for _ in range(5):
                assert client.get(URL)
            assert server.server.connections <= 1
            wait_until(lambda: server.server.connections == 0)
            assert client.get(URL)


def test_threads_can_share_a_client(part, served):
    for n in range(8):
        part.store.put(f"http://h{n}.example/", {"n": b"%d" % n})
    wrong = []

    def read(client, n):
        for _ in range(30):
            if client.get(f"http://h{n}.example/").fields != {"n": b"%d" % n}:
                wrong.append(n)

    with served(part) as address, connect(address, deadline_s=DEADLINE_S, pool_size=3) as client:
        threads = [threading.Thread(target=read, args=(client, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)

    assert wrong == []


def test_async_client_makes_the_same_calls(part, served):
    async def work(address):
        async with connect_async(address, deadline_s=DEADLINE_S) as client:
            urls = [f"http://h{n}.example/" for n in range(20)]
            await asyncio.gather(*(client.put(url, {"u": url.encode()}) for url in urls))
            record = await asyncio.gather(*(client.get(url, ["u"]) for url in urls))
            assert [each_record.fields["u"].decode() for each_record in record] == urls
            assert len(await client.get_many(urls)) == 20
            assert (await client.fetch(URL)).state == "fresh"
            assert await client.content(URL) is None
            assert len(await client.enqueue(["x"])) == 1
            await client.watch(URL, "me")
            await client.unwatch(URL, "me")
            await client.delete_fields(urls[0], ["u"])
            await client.remove(urls[1])

    with served(part) as address:
        asyncio.run(work(address))


def test_both_clients_have_the_same_calls():
    def calls(kind):
        return {name for name in vars(kind) if not name.startswith("_")} - {"close", "aclose"}

    assert calls(Client) == calls(AsyncClient)


def test_value_refused_by_the_store_is_bad_input(client):
    with pytest.raises(BadInput):
        client.put(URL, {"": b"x"})


def test_example_increments_its_counter(part, served):
    example = Path(__file__).parents[3] / "examples" / "read_and_write.py"
    with served(part) as address:
        runs = [
            subprocess.run(
                [sys.executable, example, address, URL], capture_output=True, text=True, check=True
            )
            for _ in range(2)
        ]

    assert [run.stdout for run in runs] == [f"{URL} {{'team.score': '{n}'}}\n" for n in (1, 2)]


def test_documented_example_does_what_it_says(part, served):
    (code,) = blocks("docs/client.md#the-python-client", "python")
    names: dict[str, Any] = {"urls": [URL, "http://unknown.example/"]}

    with served(part) as address:
        exec(code.replace("thrift://127.0.0.1:8101", address), names)

    assert [record and record.url for record in names["records"]] == [None, None]
    assert part.store.get(URL).fields["team.score"] == b"7"
    assert names["found"].state == "fresh"


@pytest.mark.redis
def test_client_without_a_server_reads_and_writes_the_store(tmp_path, redis_url):
    settings = Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=redis_url),
        broker=BrokerSettings(url=redis_url.replace("unix://", "pinlater+socket://").split("?")[0]),
    )
    with open_client(settings) as client:
        client.put(URL, {"a": b"1"})
        assert client.get(URL).fields == {"a": b"1"}
        assert client.fetch(URL, max_wait_ms=0).record.fields == {"a": b"1"}
        [result] = client.enqueue([URL])
        assert result.status in (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)
