"""The contract, tested with Apache Thrift's own Python client, on each embedded store."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from aragog.api.operations.fetching import FetchResponse, FetchState
from aragog.api.operations.operation import Parts
from aragog.api.operations.steps import Wait
from aragog.api.server.thrift.contract import CallHandler, idl
from aragog.api.server.thrift.encoded_reads import EncodedReads
from aragog.api.server.thrift.handlers import services
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import CorruptRow, SlowDown, StoreUnavailable
from aragog.fetch_record.outcome import FetchRecord, Hop
from aragog.settings import StoreSettings
from tests.support.documented import ROOT, Shell, blocks
from tests.support.stores import NOW_MS, page, store_harness
from tests.support.tables import memory, sqlite
from tests.support.thrift_server import require_the_compiler, running
from tests.support.waiting import wait_until

URL = "http://shop.example/p/1"


@pytest.fixture(params=[memory, sqlite])
def harness(request):
    another_harness = store_harness(request.param(request), StoreSettings(history=("price",)))
    another_harness.tables.create()
    yield another_harness
    another_harness.store.close()


@pytest.fixture
def client(harness, apache):
    with running(harness.store) as server, apache.client(server.port) as client:
        yield client


def test_put_bytes_are_read_back_unchanged_under_any_spelling(client, apache):
    every_byte = bytes(range(256))

    version = client.put(URL, {"raw": every_byte, "empty": b""}, apache.types.PutOptions())
    record = client.get(
        "HTTP://Shop.example:80/p/1#top", ["raw", "empty", "other"], apache.types.ReadOptions()
    )

    assert record.fields == {"raw": every_byte, "empty": b""}
    assert (record.url, record.canonical_url, record.version) == (URL, URL, version)
    assert client.get(URL, [], apache.types.ReadOptions()).fields == record.fields


def test_documented_example_does_what_it_says(harness, tmp_path):
    (generate,), (code,) = blocks("docs/thrift.md", "sh"), blocks("docs/thrift.md", "python")
    require_the_compiler()
    (tmp_path / "aragog").symlink_to(ROOT / "aragog")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "gen-py")}
    shell = Shell(environ, tmp_path)

    generated = shell.script(generate)
    with running(harness.store) as server:
        (tmp_path / "client.py").write_text(code.replace("8101", str(server.port)))
        done = shell.script("python client.py")

    assert generated.returncode == 0, generated.stdout
    assert done.stdout == "{'team.score': b'7'}\n"


def test_facts_are_sent_when_requested(harness, client, apache):
    harness.store.write_pages([page(URL, facts={"status": 200, "why": None})])
    harness.store.put_content(URL, b"<p>hello</p>")
    options = apache.types.ReadOptions(facts=True)

    record = client.get(URL, ["title"], options)
    [result] = client.getMany([URL], ["title"], apache.types.BatchReadOptions(facts=True))

    assert record.facts["status"] == "200"
    assert record.facts["why"] == "null"
    assert record.content_bytes == 12
    assert len(record.content_hash) == 64
    assert client.get(URL, ["title"], apache.types.ReadOptions()).facts is None
    assert result.record == record


def test_unknown_url_is_not_found_and_invalid_url_is_bad_input(client, apache):
    options = apache.types.ReadOptions()
    for fields in ([], ["title"]):
        with pytest.raises(apache.types.NotFound):
            client.get(URL, fields, options)
        with pytest.raises(apache.types.BadInput, match="relative URL"):
            client.get("nonsense", fields, options)


@pytest.mark.parametrize("fields", [[], ["n"]])
def test_invalid_url_in_a_batch_affects_no_other(harness, client, apache, fields):
    urls = [f"http://h{n}.example/" for n in range(150)]
    for n, url in enumerate(urls):
        harness.store.put(url, {"n": b"%d" % n})
    requested = [*urls[:60], "nonsense", "http://unknown.example/", *urls[60:]]

    results = client.getMany(requested, fields, apache.types.BatchReadOptions())

    status = apache.types.ItemStatus
    assert [r.status for r in results[60:62]] == [status.BAD_INPUT, status.NOT_FOUND]
    records = [r.record for r in results[:60] + results[62:]]
    assert [(r.url, r.fields["n"]) for r in records] == [(u, b"%d" % n) for n, u in enumerate(urls)]


class Damaged:
    """The pages of a store with one unreadable row."""

    def __init__(self, store):
        self._store, self.pages, self.reads = store, self, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def values(self, urls, fields):
        self.reads += 1
        if "http://damaged.example/" in urls:
            raise CorruptRow("n", "row", "is damaged")
        return self._store.pages.values(urls, fields)


def test_calls_made_together_return_the_same_as_calls_alone(harness):
    store = Damaged(harness.store)
    for n in range(20):
        harness.store.put(f"http://h{n}.example/", {"n": b"%d" % n, "other": b"x"})
    harness.store.aliases.merge("http://alias.example/", "http://h3.example/")
    plain, facts = idl.ReadOptions(), idl.ReadOptions(facts=True)
    calls = [
        *((f"http://h{n}.example/", ["n"], plain) for n in range(20)),
        ("HTTP://h1.example:80/#x", ["n"], plain),
        ("http://alias.example/", ["n"], plain),
        ("http://unknown.example/", ["n"], plain),
        ("nonsense", ["n"], plain),
    ]
    together = [(("http://damaged.example/", ["n"], plain), *calls), calls]
    together += [
        [("http://h2.example/", names, None)] * 2 for names in (["n", "none"], ["x" * 300])
    ]
    service = EncodedReads(store, None, get=lambda _: None)

    for shared in together:
        arguments = [idl.UrlStore.get_args(*call) for call in shared]
        results = service.get_batch(arguments)
        assert list(map(repr, results)) == [repr(alone(service, call)) for call in arguments]

    store.reads = 0
    results = service.get_batch([idl.UrlStore.get_args(*call) for call in calls])
    assert store.reads == 1
    assert [type(value).__name__ for value in results[22:]] == ["Missing", "InvalidUrl"]
    assert not EncodedReads.can_batch_get({"fields": ["n"], "options": facts})
    assert not EncodedReads.can_batch_get({"fields": [], "options": plain})


def alone(service, call):
    """The result of a call made alone."""
    try:
        return service.get(call)
    except Exception as error:
        return error


def test_clients_whose_calls_are_batched_get_their_own_records(harness, apache):
    """While the only thread is blocked, calls queue up; then it makes them together."""
    store, gate = harness.store, threading.Event()
    urls = [f"http://h{n}.example/" for n in range(12)]
    for n, url in enumerate(urls):
        store.put(url, {"n": b"%d" % n})
    waiting = services(Parts(store=store))["UrlStore"]
    waiting["countInlinks"] = CallHandler(lambda args: gate.wait(60))
    with (
        running(store, service=waiting, threads=1, embedded=False) as server,
        ThreadPoolExecutor(14) as pool,
    ):

        def read(url):
            with apache.client(server.port) as client:
                return client.get(url, ["n"], apache.types.ReadOptions()).fields["n"]

        def stand_still():
            with apache.client(server.port) as client:
                client.countInlinks(URL, apache.types.CallOptions())

        still = pool.submit(stand_still)
        wait_until(lambda: server.server.running_calls == 1, otherwise="the thread is busy")
        futures = [pool.submit(read, url) for url in urls]
        wait_until(lambda: server.server.running_calls == 13, otherwise="the calls wait")
        gate.set()
        assert [future.result(60) for future in futures] == [b"%d" % n for n in range(12)]
        still.result(60)


def test_read_of_an_embedded_store_waits_for_no_thread(harness, apache):
    store, gate = harness.store, threading.Event()
    store.put(URL, {"title": b"one"})
    waiting = services(Parts(store=store))["UrlStore"]
    waiting["countInlinks"] = CallHandler(lambda args: gate.wait(60) and 7)
    with running(store, service=waiting, threads=1) as server, ThreadPoolExecutor(1) as pool:

        def stand_still():
            with apache.client(server.port) as client:
                return client.countInlinks(URL, apache.types.CallOptions())

        still = pool.submit(stand_still)
        wait_until(lambda: server.server.running_calls == 1, otherwise="the thread is busy")
        with apache.client(server.port) as client:
            record = client.get(URL, ["title"], apache.types.ReadOptions())
        gate.set()

        assert record.fields == {"title": b"one"}
        assert still.result(60) == 7


def test_alias_is_read_at_its_canonical_url(harness, client, apache):
    harness.store.put(URL, {"title": b"one"})
    harness.store.aliases.merge("http://old.example/", URL)

    record = client.get("http://old.example/", ["title"], apache.types.ReadOptions())
    [result] = client.getMany(["http://old.example/"], ["title"], apache.types.BatchReadOptions())

    assert (record.url, record.canonical_url, record.fields) == (
        "http://old.example/",
        URL,
        {"title": b"one"},
    )
    assert result.record == record
    assert client.aliases(URL, apache.types.CallOptions()) == ["http://old.example/"]


def test_batch_leaves_out_records_that_do_not_fit_into_its_reply(harness, client, apache):
    urls = [f"http://h{n}.example/" for n in range(300)]
    for url in urls:
        harness.store.put(url, {"big": b"x" * 200_000})

    results = client.getMany(urls, ["big"], apache.types.BatchReadOptions())

    status = apache.types.ItemStatus
    assert [r.status for r in results] == [status.OK] * 74 + [status.LEFT_OUT] * 226


def test_record_larger_than_a_reply_is_refused_and_can_be_read_in_parts(harness, client, apache):
    names = [f"f{n}" for n in range(16)]
    for name in names:
        harness.store.put(URL, {name: b"x" * 1_000_000})

    for fields in ([], names):
        with pytest.raises(apache.types.BadInput, match="select fewer"):
            client.get(URL, fields, apache.types.ReadOptions())
    [result] = client.getMany([URL], [], apache.types.BatchReadOptions())

    assert result.status == apache.types.ItemStatus.LEFT_OUT
    assert len(client.get(URL, names[:14], apache.types.ReadOptions()).fields) == 14


def test_conditional_put_needs_the_current_version(client, apache):
    version = client.put(URL, {"a": b"1"}, apache.types.PutOptions(if_version=""))

    with pytest.raises(apache.types.Conflict) as raised:
        client.put(URL, {"a": b"2"}, apache.types.PutOptions(if_version="other"))

    assert raised.value.found_version == version
    client.put(URL, {"a": b"3"}, apache.types.PutOptions(if_version=version))
    assert client.get(URL, ["a"], apache.types.ReadOptions()).fields == {"a": b"3"}


def test_fields_and_records_are_deleted(harness, client, apache):
    client.put(URL, {"a": b"1", "b": b"2"}, apache.types.PutOptions())
    harness.clock.advance_ms(1000)

    client.deleteFields(URL, ["a", "never there"], apache.types.CallOptions())
    assert client.get(URL, [], apache.types.ReadOptions()).fields == {"b": b"2"}

    client.remove(URL, apache.types.CallOptions())
    with pytest.raises(apache.types.NotFound):
        client.get(URL, [], apache.types.ReadOptions())


def test_links_are_added_listed_in_parts_counted_and_removed(harness, client, apache):
    options = apache.types.CallOptions()
    client.put(URL, {"a": b"1"}, apache.types.PutOptions())
    targets = [f"http://t{n}.example/" for n in range(5)]
    client.addLinks(
        URL, [apache.types.Link(url, f"to {url}", "nofollow") for url in targets], options
    )

    first = client.outlinks(URL, 3, "", options)
    rest = client.outlinks(URL, 3, first.cursor, options)
    assert [link.url for link in first.links + rest.links] == targets
    assert (first.links[0].text, first.links[0].rel, rest.cursor) == (
        "to http://t0.example/",
        "nofollow",
        None,
    )

    harness.compact()
    assert [link.url for link in client.inlinks(targets[0], 10, "", options).links] == [URL]
    assert client.countInlinks(targets[0], options) == 1

    harness.clock.advance_ms(1000)
    client.removeLinks(URL, targets[:4], options)
    assert [link.url for link in client.outlinks(URL, 9, "", options).links] == targets[4:]
    with pytest.raises(apache.types.BadInput, match="limit"):
        client.outlinks(URL, 0, "", options)


def test_content_is_read_whole_or_in_parts(harness, client, apache):
    body = bytes(range(256)) * 100
    harness.store.put_content(URL, body, {"content_type": "text/html"})

    whole = client.content(URL, apache.types.ContentOptions())
    part = client.content(URL, apache.types.ContentOptions(offset_bytes=100, limit_bytes=10))

    assert (whole.url, whole.body, whole.total_bytes) == (URL, body, len(body))
    assert whole.meta["content_type"] == "text/html"
    assert (part.body, part.total_bytes) == (body[100:110], len(body))
    with pytest.raises(apache.types.NotFound):
        client.content("http://unknown.example/", apache.types.ContentOptions())


def test_history_is_returned_newest_first(harness, client, apache):
    for price in (b"1", b"2"):
        client.put(URL, {"price": price}, apache.types.PutOptions())
        harness.clock.advance_ms(1000)

    past = client.history(URL, "price", apache.types.CallOptions())

    assert [entry.value for entry in past] == [b"2", b"1"]
    assert past[0].at_ms == past[1].at_ms + 1000


def test_watch_lasts_until_its_owner_ends_it(harness, client, apache):
    client.put(URL, {"a": b"1"}, apache.types.PutOptions())

    client.watch(URL, "me", apache.types.CallOptions())
    assert harness.store.schedule.watchers(URL) == ["me"]

    harness.clock.advance_ms(1000)
    client.unwatch(URL, "me", apache.types.CallOptions())
    assert harness.store.schedule.watchers(URL) == []
    with pytest.raises(apache.types.BadInput, match="owner"):
        client.watch(URL, "", apache.types.CallOptions())


def test_enqueue_returns_a_result_for_each_url(harness, apache):
    calls = []

    def enqueue(urls, **options):
        calls.append((list(urls), options))
        return [EnqueueResult("x", EnqueueStatus.INVALID, None, "not a URL")]

    with (
        running(harness.store, enqueue=enqueue) as server,
        apache.client(server.port, "Fetcher") as client,
    ):
        wanted = apache.types.EnqueueOptions(priority=1, refresh=True, request_id="order-4711")
        [result] = client.enqueue(["x"], wanted)
        for name, value in (
            ("priority", 10),
            ("run_after_ms", -1),
            ("run_after_ms", 10**15),
            ("depth", 101),
        ):
            with pytest.raises(apache.types.BadInput, match=name.removesuffix("_ms")):
                client.enqueue(["x"], apache.types.EnqueueOptions(**{name: value}))

    options = {"priority": 1, "refresh": True, "request_id": "order-4711"}
    assert calls == [(["x"], options)]
    assert (result.input, result.status, result.url, result.reason) == (
        "x",
        "invalid",
        None,
        "not a URL",
    )


def test_full_server_returns_a_retry_time(harness, apache):
    def enqueue(urls, **options):
        raise SlowDown("redis", "is full", 7.5)

    with (
        running(harness.store, enqueue=enqueue) as server,
        apache.client(server.port, "Fetcher") as client,
        pytest.raises(apache.types.Unavailable) as raised,
    ):
        client.enqueue([URL], apache.types.EnqueueOptions())

    assert raised.value.retry_after_ms == 7500


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreUnavailable("hbase", "no answer"), "Unavailable"),
        (ZeroDivisionError(), "InternalError"),
    ],
)
def test_failure_behind_the_server_is_a_declared_exception(harness, apache, error, kind):
    class Broken:
        def get(self, url, fields):
            raise error

    with running(Broken()) as server, apache.client(server.port) as client:
        with pytest.raises(getattr(apache.types, kind)):
            client.get(URL, [], apache.types.ReadOptions())
        client.ping()


def test_url_is_fetched_now_and_reported_hop_by_hop(harness, apache):
    report = FetchRecord(
        url="http://old.example/",
        outcome="Fetched",
        fetched_at_ms=NOW_MS,
        final_url=URL,
        status=200,
        headers=(("Content-Type", "text/html"), ("X-One", "1"), ("X-One", "2")),
        hops=(Hop(url="http://old.example/", status=301, target=URL, latency_ms=1.5),),
        total_ms=12.5,
        body_bytes=5,
    )
    store = harness.store

    class Fetching:
        """Plays the workers: the page is stored when the wait is over."""

        def steps(self, request):
            requests.append(request)
            done = Future()
            done.set_result(True)
            yield Wait(done, 60)
            fetched = page(
                "http://old.example/", final_url=URL, fields={"title": b"T"}, report=report
            )
            store.write_pages([fetched])
            store.put_content(URL, b"hello")
            record = store.get(request.url, request.fields)
            return FetchResponse(url=request.url, record=record, state=FetchState.FRESH, age_s=0.25)

    requests = []
    options = apache.types.FetchOptions(max_wait_ms=500, fields=["title"], content=True)
    with (
        running(store, fetching=Fetching()) as server,
        apache.client(server.port, "Fetcher") as client,
    ):
        response = client.fetch("http://old.example/", options)
        with pytest.raises(apache.types.BadInput, match="max_wait_ms"):
            client.fetch(URL, apache.types.FetchOptions(max_wait_ms=60_001))

    assert (requests[0].max_wait_ms, requests[0].max_age_s, requests[0].fields) == (
        500,
        0.0,
        ("title",),
    )
    assert response.state == apache.types.FetchState.FRESH
    assert (response.age_ms, response.fetching, response.record.fields) == (
        250,
        False,
        {"title": b"T"},
    )
    assert response.content.body == b"hello"
    reported = response.report
    assert (reported.outcome, reported.status, reported.total_ms, reported.truncated) == (
        "Fetched",
        200,
        12.5,
        False,
    )
    assert [(h.name, h.value) for h in reported.headers] == list(report.headers)
    assert [(h.url, h.status, h.target, h.latency_ms) for h in reported.hops] == [
        ("http://old.example/", 301, URL, 1.5)
    ]
