"""Every operation of the table over every way: the same answers, the same errors, the same limits."""

import asyncio
from contextlib import ExitStack, closing
from dataclasses import asdict, is_dataclass, replace
from urllib.parse import quote

import orjson
import pytest
from click.testing import CliRunner

from aragog.api.operations import fetching as fetching_module
from aragog.api.operations.batch_progress import BatchProgress, DomainProgress
from aragog.api.operations.graph import id_of
from aragog.api.operations.graph_edges import GraphMutation
from aragog.api.operations.graphs import ApplicationGraphs
from aragog.api.operations.jobs import JobClaim, Jobs, QueueJob
from aragog.api.operations.operation import Parts
from aragog.api.operations.options import option_fields
from aragog.api.operations.table import OPERATIONS
from aragog.api.operations.values import Explanation, ExplanationLine, ExplanationSection, PageLink
from aragog.api.server.http.services import Services
from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.client import AsyncClient, Client, connect, connect_async
from aragog.client.direct_backend import DirectBackend
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import (
    BAD_INPUT,
    BadInput,
    InvalidUrl,
    TakenDown,
    ValueTaken,
    VersionConflict,
)
from aragog.pages.items import PageItems
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings, load_settings
from pinlater.cluster import Cluster, connect_shards
from richpins.items import Item
from tests.api_examples import crawls_of
from tests.integration.serving.test_client import Fetching
from tests.support import api_server, thrift_server
from tests.support.stores import NOW_MS, page, stand
from tests.unit.pages.test_main_text import FIRST, PAGE
from urlspelling import normalize
from zengraph import Schema
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.redis

WAYS = ("direct", "http", "thrift", "asyncio")
DEADLINE_S = 60
A, ALIAS, UNKNOWN = "http://a.example/p", "http://a.example/old", "http://unknown.example/"


def enqueue(urls, **options):
    """`Aragog.enqueue`, which says what it was asked."""
    options = sorted((name, str(value)) for name, value in options.items())
    return [EnqueueResult(url, EnqueueStatus.INVALID, None, str(options)) for url in urls]


class Batches:
    """One batch."""

    def add(self, batch, results, after_ms):
        return batch or "batch-0000"

    def progress(self, batch):
        if batch != "batch-0000":
            return None
        return BatchProgress(
            batch=batch, total=5, done=2, in_flight=3, estimated_finish_at_ms=1000,
            slowest=(DomainProgress("a.example", 3, 0.5, 1000),),
        )  # fmt: skip


def explain(url):
    """What it was asked, and each kind of section."""
    lines = (ExplanationLine("normalized", normalize(url), f"was {url}"), ExplanationLine("x", "y"))
    sections = (ExplanationSection("spelling", lines), ExplanationSection("slot", (), "no answer"))
    return Explanation(url, normalize(url), sections)


class AsyncWay:
    """The asyncio client, one call at a time."""

    def __init__(self, address):
        self._loop = asyncio.new_event_loop()
        self._client = connect_async(address, deadline_s=DEADLINE_S)

    def __getattr__(self, name):
        call = getattr(self._client, name)
        return lambda *args, **kwargs: self._loop.run_until_complete(call(*args, **kwargs))

    def close(self):
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


def filled(store):
    """The store with a page that has everything."""
    facts = {"outcome": "Fetched", "status": 200, "latency_ms": 1.5,
             "page_preferences": "ai-train=n (meta robots: noai)"}  # fmt: skip
    items = orjson.dumps(
        PageItems(
            "a.example",
            tuple(Item({"n": n, "price": None, "tags": ["x", 1.5]}, f"{n}") for n in range(3)),
        ).stored()
    )
    fields = {"page.title": b'"T"', "product.price": b'"1.50"', "items.cards": items}
    store.write_pages(
        [page(A, fields=fields, facts=facts, links=["http://b.example/"], also=(ALIAS,))]
    )
    store.put_content(A, b"0123456789", {"content_type": "text/plain"})
    store.put(A, {"product.price": b'"2.00"', "team.raw": bytes(range(256)), "team.n": b"7"})
    store.schedule.watch(A, "me")
    zen = store.zen
    properties = {"team.n": b"7", "team.code": b"x1", "raw": bytes(range(256))}
    zen.put_node(bytes.fromhex("a" * 32), properties)
    for score in (-5, 7):
        zen.put_edge(
            bytes.fromhex("a" * 32),
            20,
            bytes.fromhex("b" * 32),
            score=score,
            properties={"w": b"1"},
        )
    store.takedowns.take_down(domain="e.example")
    store.takedowns.take_down(host="f.example")
    store.takedowns.take_down(url="http://g.example/")
    return store


@pytest.fixture
def store():
    """The store of all ways."""
    settings = StoreSettings(indexed=("team.n",), unique=("team.code",))
    return filled(stand(MemoryTables(ManualClock(NOW_MS)), settings=settings).store)


@pytest.fixture
def changed():
    """Whether each change of takedowns purged, in the order in which other parts learned of it."""
    return []


@pytest.fixture
def graphs():
    """A graph of an application, of all ways."""
    schema = Schema(
        unique=("user.email",), indexed=("pin.site",), counted=(16,), ordered=(18,),
        sorted=("user.email",),
    )  # fmt: skip
    clock = ManualClock(NOW_MS)
    opened = ApplicationGraphs({"pins": schema}, lambda _: MemoryTables(clock), clock)
    pins = opened["pins"]
    pins.put_node(id_of("ada", "pins"), {"user.email": b"a@x.example", "raw": b"\xff"})
    pins.put_node(id_of("lamp", "pins"), {"pin.site": b"shop"})
    for n, other in enumerate(("lamp", "desk", "a" * 32)):
        ends = id_of("ada", "pins"), id_of(other, "pins")
        pins.put_edge(ends[0], 16, ends[1], score=n - 1, properties={"w": b"\xfe"})
    for n, order in enumerate((b"anna", b"an\xff", b"an\0", b"berta", b"")):
        ends = id_of("ada", "pins"), id_of(f"contact {n}", "pins")
        pins.put_edge(*ends[:1], 18, ends[1], score=n // 4, order=order)
    return opened


@pytest.fixture
def ways(redis_url, store, changed, graphs):
    """A client of each way, over one store."""
    jobs = Jobs(Cluster(connect_shards([redis_url])))
    shared = {"crawls": crawls_of(redis_url, store), "enqueue": enqueue, "fetching": Fetching(store), "batches": Batches(), "jobs": jobs, "explain": explain, "graphs": graphs,
              "takedowns_changed": lambda *, purge: changed.append(purge)}  # fmt: skip
    with ExitStack() as stack:
        stack.callback(jobs.close)
        http = stack.enter_context(api_server.running(store, Services(**shared)))
        thrift = stack.enter_context(thrift_server.running(store, **shared))
        at_http, at_thrift = f"http://127.0.0.1:{http.port}", f"thrift://127.0.0.1:{thrift.port}"
        asynchronous = AsyncWay(at_http)
        stack.callback(asynchronous.close)
        yield {
            "direct": Client(DirectBackend(Parts(store=store, **shared))),
            "http": stack.enter_context(connect(at_http, deadline_s=DEADLINE_S)),
            "thrift": stack.enter_context(connect(at_thrift, deadline_s=DEADLINE_S)),
            "asyncio": asynchronous,
        }


PINS = {"graph": "pins"}
READS = {
    "get": [(A,), (A, ["page.title"]), (A, []), (ALIAS,), (UNKNOWN,), (A, None, {"facts": True}),
            (ALIAS, ["page.title"], {"include": ("aliases", "inlinks", "fetch")}), (A, [], {"include": ("inlinks",), "facts": True}),
            (A, {"purpose": "search"}), (ALIAS, ["page.title"], {"purpose": "ai-train"}),
            (A, {"purpose": "ai-train", "include": ("inlinks",)}), (A, {"purpose": "sale"}),
            (UNKNOWN, {"include": ("aliases",)}), (A, {"include": ("all",)})],
    "get_many": [([A, ALIAS, UNKNOWN, A],), ([A], ["team.n", "none"]), ([],), ([A], None, {"facts": True}),
                 ([A, UNKNOWN], None, {"purpose": "ai-train"}), ([A], ["page.title"], {"purpose": "search"}),
                 ([A], {"purpose": "sale"})],
    "outlinks": [(A,), (A, 1), (UNKNOWN,), (A, 5000)],
    "inlinks": [(A,), ("http://b.example/", 10), ("http://b.example/", {"count": True})],
    "count_inlinks": [("http://b.example/",), (UNKNOWN,)],
    "aliases": [(A,), (UNKNOWN,)],
    "history": [(A, "product.price"), (A, "none")],
    "field_sizes": [(A,), (ALIAS, 2), (A, 2, "page.title"), (UNKNOWN,), (A, 5, "zz")],
    "same_content": [(A,), (UNKNOWN,), (A, 5000, {"within": 3}), (A, 1, "zz"), (A, {"within": 4})],
    "items": [("cards", "a.example"), ("cards", "A.example", 1), ("cards", "a.example", {"key": "1"}), ("none", "a.example"),
              ("cards", "a.example", 1, "zz"), ("no kind", "a.example"), ("cards", "a.example", {"purpose": "ai-train"})],
    "item_history": [("cards", "a.example", "1"), ("cards", "a.example", "none")],
    "watchers": [(A,), (UNKNOWN,)],
    "changes": [({},), ({"cursor": "now"},), ({"owner": "me", "limit": 3},), ({"items": "cards", "key": "1"},), ({"key": "1"},)],
    "batch_progress": [("batch-0000",), ("batch-none",)],
    "enqueue": [
        ([A, "nonsense"], {"depth": 2, "include": ["*/p/*"], "exclude": ["*.pdf"]}),
        ([A], {"run_after": 7, "priority": 0, "refresh": True, "sitemap": True, "request_id": "r"}),
        ([A], {"batch": "batch-0000", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}),
        ([],),
    ],
    "get_node": [
        (A,), (A, ["page.title"]), (ALIAS,), (UNKNOWN,), ("00" * 16,), ("a" * 32,), ("no id",), ("é" * 32,),
        ("ada", PINS), ("ada", ["raw", "none"], PINS), ("a" * 32, PINS), ("ada", {"graph": "none"}), ("é" * 101, PINS),
    ],
    "get_nodes": [
        ("pins", ["lamp", "none", "ada", "lamp"]), ("pins", ["ada"], ["raw"]), ("pins", []), ("none", ["ada"]), ("pins", [""]),
    ],
    "scan_nodes": [("pins",), ("pins", 1), ("pins", 1, "5" * 32, ["raw"]), ("pins", 5, "zz"), ("none",)],
    "lookup": [("team.n", b"7"), ("team.n", b"8"), ("page.title", b'"T"'), ("team.n", b"7", 5, "zz"),
               ("pin.site", b"shop", PINS), ("pin.site", b"shop"), ("team.n", b"7", PINS), ("user.email", b"a@x.example", PINS)],
    "lookup_unique": [
        ("team.code", b"x1"), ("team.code", b"x1", ["team.n"]), ("team.code", b"x2"), ("team.n", b"7"),
        ("user.email", b"a@x.example", ["raw"], PINS), ("user.email", b"none", PINS), ("pin.site", b"shop", PINS),
    ],
    "get_edge": [
        ("a" * 32, 20, "b" * 32, {"score": 7}), ("a" * 32, 20, "b" * 32), ("a" * 32, 20, "no id"), (A, 0, "b" * 32),
        (A, 1, A), ("ada", 16, "lamp", PINS), ("lamp", 16, "ada", PINS), ("ada", 16, "lamp", {"graph": "pins", "score": 99}),
    ],
    "edges": [
        (A, 0), (A, 0, "out", 1), ("http://b.example/", 0, "in"), (A, 16, "in", {"reverse": True}),
        (A, 1, "both"), (A, 1, "in"), ("a" * 32, 20, "out", 1), ("a" * 32, 20, "out", 5, {"reverse": True}),
        ("ada", 16, PINS), ("ada", 16, "out", 2, {"graph": "pins", "reverse": True}), ("lamp", 16, "in", PINS), ("ada", 0, PINS),
        ("ada", 16, "out", 9, {"graph": "pins", "least_score": 0}), ("ada", 16, "out", 9, {"graph": "pins", "most_score": 0}),
        ("a" * 32, 20, "out", 9, {"least_score": 0}), ("a" * 32, 20, "out", 9, {"most_score": 6, "reverse": True}),
        ("ada", 16, "out", 9, "00", PINS),
    ],
    "count_edges": [(A, 0), ("http://b.example/", 0, "in"), ("a" * 32, 20), ("b" * 32, 20, "in"),
                    ("ada", 16, PINS), ("lamp", 16, "in", PINS), ("ada", 17, PINS), ("ada", 1, PINS)],
    "edges_by_prefix": [
        ("pins", "ada", 18, b"an"), ("pins", "ada", 18, b"an", "out", 2), ("pins", "ada", 18, b"an\xff", {"reverse": True}),
        ("pins", "ada", 18, b"", {"score": 1}), ("pins", "contact 0", 18, b"a", "in"), ("pins", "ada", 16, b"an"),
        ("none", "ada", 18, b"an"), ("pins", "ada", 18, b"x" * 501), ("pins", "ada", 18, b"an", "out", 5, "00"), ("pins", "ada", 1, b"an"),
    ],
    "node_properties": [
        ("pins", "ada"), ("pins", "ada", "r"), ("pins", "ada", "", 1), ("pins", "ada", "", 1, "raw"), ("pins", "ada", "x"),
        ("pins", "nobody"), ("none", "ada"),
    ],
    "lookup_prefix": [
        ("pins", "user.email", b"a@"), ("pins", "user.email", b""), ("pins", "user.email", b"b"), ("pins", "pin.site", b"s"),
        ("pins", "user.email", b"a", 1, "zz"), ("none", "user.email", b"a"),
    ],
    "takedowns": [({},), (1,), (2, "domain:e.example"), ({"cursor": "nonsense"},)],
    "token_view": [({},)],
    "list_crawls": [({},)],
    "get_crawl": [("docs",), ("enqueued",), ("none",)],
    "crawl_report": [("docs",), ("none",)],
    "try_scope": [("docs", A), ("docs", "HTTP://b.example", {"page_url": A}), ("none", A)],
    "fetch": [
        (A, {"max_wait_ms": 0, "max_age_s": 3}), (A, ["page.title"], {"field_max_age_s": {"x": 1.5}}),
        (A, {"content": True}), (A, {"field_max_age_s": {"x": -1.0}}),
    ],
    "explain": [(A,), ("HTTP://A.example:80/p?utm_source=x",)],
    "get_fresh": [
        (A,), (ALIAS, ["page.title"], {"max_age_s": 0.5, "field_max_age_s": {"x:y": 1.5, "z": 2.0}}),
        (A, [], {"include": ("aliases", "inlinks", "fetch"), "max_wait_ms": 5}), (A, {"purpose": "ai-train"}),
        (A, {"max_age_s": -1.0}), (A, {"field_max_age_s": {"x": -1.0}}), (A, {"include": ("all",)}), (A, {"purpose": "sale"}),
    ],
}  # fmt: skip
"""Calls whose answers do not depend on who made the one before."""


REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST = (
    "http://c.example/gone", "http://c.example/old", "http://d.example/never",
)  # fmt: skip


def test_a_url_that_was_taken_down_has_one_answer_over_every_way(ways, store):
    store.write_pages([page(REMOVED, fields={"page.title": b'"T"'}, also=(REMOVED_ALIAS,))])
    store.takedowns.take_down(url=REMOVED)
    store.takedowns.take_down(host="d.example")
    calls = [
        ("get", {}), ("get", {"fields": ["page.title"]}), ("get", {"facts": True}),
        ("content_part", {}), ("fetch", {"max_wait_ms": 0}), ("get_fresh", {}), ("put", {"fields": {"a": b"1"}}),
        ("add_links", {"links": []}), ("watch", {"owner": "me"}),
    ]  # fmt: skip
    for way, client in ways.items():
        for url in (REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST):
            for name, options in calls:
                with pytest.raises(TakenDown) as error:
                    getattr(client, name)(url, **options)
                assert error.value.url == url, (way, name)
        for fields in (None, ["page.title"]):
            known, *removed, unknown = client.get_many(
                [A, REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST, UNKNOWN], fields
            )
            assert [type(error) for error in removed] == [TakenDown] * 3, way
            assert [error.url for error in removed] == [REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST]
            assert (known["page.title"], unknown) == ("T", None), way


COMMANDS = {
    ("show", A): ("/v1/urls?url=", None),
    ("show", A, "--fields", "page.title"): ("/v1/urls?fields=page.title&url=", None),
    ("show", A, "--max-age", "10000000000", "--wait", "0"): (
        "/v1/urls?max_age=10000000000&url=",
        None,
    ),
    ("links", A): ("/v1/links?url=", "links"),
    ("links", "http://b.example/", "--in"): ("/v1/links?direction=in&url=", "links"),
    ("changes",): ("/v1/changes", "changes"),
    ("store", "takedowns"): ("/v1/takedowns", "takedowns"),
}
"""Commands with `--json`, and where HTTP has the same; a list has an item a line."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_the_json_of_http(command, tmp_path, monkeypatch, redis_client):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    path, member = COMMANDS[command]
    with closing(url_store(load_settings())) as store:
        filled(store)
        url = quote(command[1], safe="") if "url=" in path else ""
        fetching = fetching_module.Fetching(store, enqueue, Completions(redis_client, prefix="t:"))
        with api_server.running(store, Services(fetching=fetching)) as server:
            expected = server.get(path + url).json
        fetching.close()

    printed = CliRunner().invoke(main, [*command, "--json"]).stdout

    if member is None:
        assert without_age(orjson.loads(printed)) == without_age(expected)
    else:
        assert [orjson.loads(line) for line in printed.splitlines()] == expected[member]


def without_age(record):
    """The JSON of a record without its age, which grows between two reads."""
    age_s = record.get("freshness", {}).pop("age_s", None)
    assert age_s is None or age_s > 0
    return record


def called(client, name, arguments):
    """The answer, or the error."""
    *args, last = arguments
    kwargs = last if isinstance(last, dict) else {}
    args = args if isinstance(last, dict) else arguments
    try:
        return getattr(client, name)(*args, **kwargs)
    except (*BAD_INPUT, VersionConflict) as error:
        return f"{type(error).__mro__[-5:]} {error}"


@pytest.mark.parametrize("name", READS)
def test_a_read_has_the_same_answer_over_every_way(ways, name):
    for arguments in READS[name]:
        expected = called(ways["direct"], name, arguments)
        for way in WAYS[1:]:
            assert plain(called(ways[way], name, arguments)) == plain(expected), (way, arguments)


NOT_CARRIED = ("formats", "content_key", "info", "meta", "extras", "total_ms")


def plain(value):
    """An answer as values that can be compared; without what a way cannot carry."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in NOT_CARRIED}
    return value


def test_the_content_comes_whole_and_in_parts(ways):
    for client in ways.values():
        assert client.content(A) == b"0123456789"
        assert client.content(UNKNOWN) is None
        part = client.content_part(ALIAS, offset_bytes=3, limit_bytes=4)
        assert (part.url, part.body, part.total_bytes) == (A, b"3456", 10)


def test_the_main_text_comes_over_every_way(ways, store):
    body = PAGE.encode()
    store.put_content(A, body, {"content_type": "text/html"})

    for client in ways.values():
        assert FIRST in client.content(A, form="text").decode()
        assert b"Imprint" not in client.content(A, form="text")
        assert b"## The harvest" in client.content(ALIAS, form="markdown")
        assert client.content(A) == body
        assert client.content(UNKNOWN, form="text") is None
        with pytest.raises(BadInput, match="original, text, markdown"):
            client.content(A, form="pdf")


def test_values_are_decoded_by_their_formats(ways):
    from decimal import Decimal

    for client in ways.values():
        record = client.get(A)
        assert (record["page.title"], record["product.price"]) == ("T", Decimal("2.00"))
        assert record.fields["product.price"] == b'"2.00"'
        assert (record["team.n"], record["team.raw"]) == ("7", bytes(range(256)))
        assert (record.get("none"), "none" in record) == (None, False)


def test_writes_do_the_same_over_every_way(ways):
    seen = []
    for way, client in ways.items():
        url = f"http://{way}.example/"
        version = client.put(url, {"a": b"1", "b": b"2"}, provenance={"a": "x"}, if_version="")
        with pytest.raises(VersionConflict) as conflict:
            client.put(url, {"a": b"9"}, if_version="")
        assert (conflict.value.url, conflict.value.expected) == (url, "")
        client.put(url, {"c": b"3"}, deleted=["b"], if_version="*")
        first = client.get(url).fields
        client.put(url, {"d": b"4"}, replace=True, at_ms=NOW_MS + 5)
        second = client.get(url).fields
        client.delete_fields(url, ["d", "never"])
        client.add_links(
            url, [PageLink("http://x.example/", "X", "nofollow"), PageLink("http://y.example/")]
        )
        links = client.outlinks(url).links
        client.remove_links(url, ["http://y.example/"])
        left = client.outlinks(url).links
        client.watch(url, "me")
        watchers = client.watchers(url)
        client.remove(url)
        seen.append(
            [conflict.value.found == version, first, second, links, left, watchers, client.get(url)]
        )
    assert seen[1:] == [seen[0]] * 3, seen


def test_a_taken_unique_value_names_the_record_that_has_it_over_every_way(ways):
    for client in ways.values():
        client.put("http://first.example/", {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as of_page:
            client.put("http://second.example/", {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as of_node:
            client.put_node("d" * 32, {"team.code": b"taken"})
        with pytest.raises(ValueTaken) as in_graph:
            client.put_node("bob", {"user.email": b"a@x.example"}, graph="pins")
        with pytest.raises(ValueTaken) as in_batch:
            client.mutate(
                "pins",
                [GraphMutation("put_node", "bob", properties={"user.email": b"a@x.example"})],
            )

        named = [(r.value.name, r.value.url) for r in (of_page, of_node, in_graph, in_batch)]
        ada = ("user.email", id_of("ada", "pins").hex())
        assert named == [("team.code", "http://first.example/")] * 2 + [ada] * 2


def test_templates_are_listed_and_decided_over_every_way(ways):
    seen = []
    for client in ways.values():
        closed = client.decide_template("A.example", "/calendar/{n}/", "closed")
        listed = client.list_templates("a.example")
        with pytest.raises(BadInput, match="state"):
            client.decide_template("a.example", "/x", "asleep")
        learned = client.decide_template("a.example", "/calendar/{n}/", "learned")
        seen.append((closed, listed, learned))
    assert seen[1:] == [seen[0]] * 3, seen
    closed, listed, learned = seen[0]
    assert closed == listed
    assert [(one.template, one.state, one.by) for one in closed.templates] == [
        ("/calendar/{n}/", "closed", "operator")
    ]
    assert learned.templates == ()


def test_crawls_are_the_same_over_every_way(ways):
    seen = []
    for way, client in ways.items():
        name = f"of-{way}"
        started = client.start_crawl(
            name, scope=["host:A.example"], depth=3, rate=0.5, purposes=["search"]
        )
        again = client.start_crawl(name, max_urls=9, nofollow=True)
        paused = client.set_crawl_state(name, "paused")
        with pytest.raises(BadInput, match="state"):
            client.set_crawl_state(name, "asleep")
        resumed = client.set_crawl_state(name, "running")
        dry = client.cancel_urls(hosts=["a.example"], dry_run=True)
        cancelled = client.cancel_urls(urls=[A], patterns=["*/x"])
        with pytest.raises(BadInput, match="names nothing"):
            client.cancel_urls()
        deleted = client.delete_crawl(name)
        views = [asdict(view) for view in (started, again, paused, resumed)]
        for view in views:
            assert view.pop("created_at_ms") <= view.pop("changed_at_ms")
            assert view.pop("name") == name
        seen.append([views, dry, cancelled, deleted, client.get_crawl(name)])
    assert seen[1:] == [seen[0]] * 3, seen
    assert [view["state"] for view in seen[0][0]] == ["running", "running", "paused", "running"]


def test_jobs_are_the_same_over_every_way(ways):
    seen = []
    for way, client in ways.items():
        added = client.enqueue_jobs(way, [QueueJob(b"\x00\xff", unique_key="k"), QueueJob(b"2")])
        again = client.enqueue_jobs(way, [QueueJob(b"3", unique_key="k")])
        claimed = client.dequeue_jobs(way, 10, worker="w")
        claims = [job.claim for job in claimed]
        seen.append(
            [
                [job.already_there for job in added + again],
                sorted(job.body for job in claimed),
                client.extend_jobs(way, claims, 5000),
                client.nack_jobs(way, claims[:1], reason="no", fail=True),
                client.ack_jobs(way, claims),
                client.dequeue_jobs(way),
            ]
        )
        with pytest.raises(BadInput, match="is of queue"):
            client.ack_jobs("other", claims)
    assert seen[1:] == [seen[0]] * 3, seen


def test_queues_are_watched_over_the_same_over_every_way(ways):
    seen = []
    for way, client in ways.items():
        queue, json = f"watched-{way}", "application/json"
        jobs = [QueueJob(b"{}", name="mail", content_type=json) for _ in range(3)]
        client.enqueue_jobs(queue, [*jobs, QueueJob(b"4", delay_ms=60_000, unique_key="k")])
        claimed = client.dequeue_jobs(queue, 2)
        kinds = [(job.name, job.content_type, job.body) for job in claimed]
        client.nack_jobs(queue, [job.claim for job in claimed], reason="no", fail=True)
        failed = client.list_jobs(queue)
        first = client.retry_jobs(queue, [failed[0].job_id])
        state = client.queue_state(queue)
        settings = client.configure_queue(
            queue=queue,
            paused=True,
            rate=3.5,
            retry_policy="pinlater",
            retry_growth=3.0,
            max_age_ms=1000,
        )
        changed = client.configure_queue(
            queue=queue, paused=False, rate=0.0, retry_policy="default"
        )
        seen.append(
            [
                kinds,
                [(job.state, job.problem, job.body, job.attempts, job.name) for job in failed],
                first,
                (state.due, state.later, state.failed, state.running, state.paused, state.rate),
                replace(settings, queue="", oldest_due_ms=0),
                replace(changed, queue="", oldest_due_ms=0),
                client.retry_jobs(queue),
                [job.unique_key for job in client.list_jobs(queue, "PENDING", 10)],
                client.delete_jobs(queue, "PENDING"),
                queue in client.list_queues(),
                client.queue_state("unknown"),
                called(client, "delete_jobs", ({"queue": queue, "state": "RUNNING"},)),
                called(client, "configure_queue", ({"queue": queue, "job_type": "x"},)),
            ]
        )
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][3] == (2, 1, 1, 0, False, None)
    assert (seen[0][4].max_attempts, seen[0][4].retry_growth, seen[0][4].paused) == (11, 3.0, True)
    assert (seen[0][5].max_attempts, seen[0][5].rate) == (10, None)


def test_graph_writes_do_the_same_over_every_way(ways, store):
    seen = []
    for n, client in enumerate(ways.values()):
        node, other = f"{n}" * 32, "http://b.example/"
        client.put_node(node, {"team.n": b"9", "raw": b"\xff"})
        client.put_edge(node, 16, other, score=3, properties={"w": b"\x00"})
        client.put_edge(node, 16, other)
        counts = client.count_edges(node, 16), client.count_edges(other, 16, "in")
        edges = client.edges(node, 16).edges
        client.remove_edge(node, 16, other, score=3)
        left = client.edges(node, 16, reverse=True).edges
        found = [entry == node for entry in client.lookup("team.n", b"9").nodes]
        properties = client.get_node(node).properties
        client.remove_node(node)
        gone = client.get_node(node), client.count_edges(other, 16, "in")
        refusals = [
            called(client, "put_node", (page_node, {"properties": {"a": b"1"}}))
            for page_node in (A, ALIAS)
        ]
        refusals += [called(client, "put_edge", (node, 1, other, {}))]
        refusals += [called(client, "put_edge", (node, 16, "http://g.example/", {}))]
        seen.append([counts, edges, left, found, properties, gone, refusals])
    assert seen[1:] == [seen[0]] * 3, seen


def test_changes_of_a_graph_do_the_same_over_every_way(ways, graphs):
    seen = []
    for way, client in ways.items():
        user, pin = f"user:{way}", f"pin:{way}"
        client.put_node(user, {"user.email": way.encode(), "raw": b"\xff"}, graph="pins")
        client.put_edge(user, 16, pin, score=3, properties={"w": b"\x00"}, graph="pins")
        client.put_edge(user, 16, pin, score=2**62, graph="pins")
        client.mutate(
            "pins",
            [
                GraphMutation("put_node", pin, properties={"pin.site": way.encode()}),
                GraphMutation("put_edge", user, 17, pin, score=-1, properties={"w": b"\xff"}),
                GraphMutation("put_edge", user, 17, "none"),
                GraphMutation("remove_edge", user, 17, "none"),
                GraphMutation("put_node", "none"),
                GraphMutation("remove_node", "none"),
            ],
        )
        shown = [client.edges(user, kind, graph="pins").edges for kind in (16, 17)]
        found = client.lookup("pin.site", way.encode(), graph="pins").nodes
        names = [
            (edge.node == found[0], edge.score, edge.properties) for page in shown for edge in page
        ]
        counts = (
            client.count_edges(user, 16, graph="pins"),
            client.count_edges(pin, 16, "in", graph="pins"),
        )
        refusals = [
            called(client, name, arguments)
            for name, arguments in [
                ("put_node", ("other", {"user.email": way.encode()}, PINS)),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 16)])),
                (
                    "mutate",
                    ("pins", [GraphMutation("put_node", "a"), GraphMutation("put_node", "a", 16)]),
                ),
                ("mutate", ("pins", [GraphMutation("put_node", "")])),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 1, "b")])),
                ("mutate", ("pins", [GraphMutation("nothing", "a")])),
                ("mutate", ("none", [GraphMutation("put_node", "a")])),
                ("put_edge", ("a", 16, "b", {"graph": "none"})),
            ]
        ]
        refusals[0] = refusals[0].replace(id_of(user, "pins").hex(), "ID")
        client.remove_edge(user, 16, pin, graph="pins")
        gone = client.get_edge(user, 16, pin, graph="pins")
        client.remove_node(user, graph="pins")
        left = client.get_node(user, graph="pins"), client.count_edges(pin, 16, "in", graph="pins")
        assert client.get_node(pin, graph="pins").properties == {"pin.site": way.encode()}
        seen.append([names, counts, refusals, gone, left])
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][0] == [(True, 2**62, {"w": b"\x00"}), (True, -1, {"w": b"\xff"})]
    assert "mutations[1]" in seen[0][2][2]


def test_takes_and_trims_do_the_same_over_every_way(ways):
    seen = []
    for way, client in ways.items():
        user = f"taker:{way}"
        client.mutate(
            "pins",
            [GraphMutation("put_edge", user, 17, f"pin {n}", n, {"w": b"\xff"}) for n in range(9)]
            + [GraphMutation("put_edge", user, 18, "pin 0", order=b"an\xff")],
        )
        client.put_edge(user, 18, "pin 1", order=b"\0", graph="pins")
        first = client.take_edges("pins", user, 17, 2, request_id="r 1")
        again = client.take_edges("pins", user, 17, 2, request_id="r 1")
        lowest = client.take_edges("pins", user, 17, 1, lowest=True)
        trims = [
            client.trim_edges("pins", user, 17, 3),
            client.trim_edges("pins", user, 17, 3, lowest=True),
            client.trim_edges("pins", "pin 5", 17, 99, "in"),
        ]
        left = [edge.score for edge in client.edges(user, 17, graph="pins").edges]
        ordered = client.take_edges("pins", user, 18, 9)
        refusals = [
            called(client, name, arguments)
            for name, arguments in [
                ("take_edges", ("pins", user, 17, 0)),
                ("take_edges", ("pins", user, 17, 1001)),
                ("take_edges", ("pins", user, 15, 1)),
                ("take_edges", ("none", user, 17, 1)),
                ("trim_edges", ("pins", user, 17, -1)),
                ("put_edge", (user, 17, "pin", {"graph": "pins", "order": b"x"})),
                ("put_edge", ("a" * 32, 17, "b" * 32, {"order": b"x"})),
                ("mutate", ("pins", [GraphMutation("put_edge", "a", 17, "b", order=b"x")])),
            ]
        ]
        seen.append(plain([first, again, lowest, trims, left, ordered, refusals]))
    assert seen[1:] == [seen[0]] * 3, seen
    first, again, lowest, trims, left, ordered, refusals = seen[0]
    assert first == again
    assert [edge["score"] for edge in first + lowest] == [8, 7, 0]
    assert (trims, left) == ([3, 0, 0], [4, 5, 6])
    assert [edge["order"] for edge in ordered] == [b"an\xff", b"\0"]
    assert "mutations[0]: order" in refusals[-1]


def test_takedowns_do_the_same_over_every_way(ways, changed):
    seen = []
    for way, client in ways.items():
        url = f"http://{way}.example/"
        client.put(url, {"a": b"1"})
        counts = client.take_down(host=f"{way}.example"), client.take_down(url=url)
        refused = called(client, "get", (url,))[-14:]
        lifted = (
            client.lift_takedown(host=f"{way}.example"),
            client.lift_takedown(host=f"{way}.example"),
        )
        still = called(client, "get", (url,))[-14:]
        client.lift_takedown(url=url)
        wrong = called(client, "take_down", ({"url": url, "host": "x.example"},))
        seen.append([counts, refused, lifted, still, client.get(url), wrong, list(changed)])
        changed.clear()
    assert seen[1:] == [seen[0]] * 3, seen
    assert seen[0][-1] == [True, True, False, False, False]


VALID = {
    "url": A, "urls": [A], "field": "product.price", "fields": {"a": b"1"}, "names": ["a"], "owner": "me",
    "links": [PageLink("http://b.example/")], "targets": ["http://b.example/"], "batch": "batch-0000",
    "node": "c" * 32, "other": "d" * 32, "type": 16, "properties": {"a": b"1"}, "name": "team.n", "value": b"7",
    "state": "paused", "nodes": ["c" * 32], "graph": "pins", "mutations": [GraphMutation("put_node", "c" * 32)], "count": 1, "keep": 1, "prefix": b"a", "queue": "q", "kind": "cards", "host": "a.example", "template": "/x/{n}", "key": "1", "jobs": [QueueJob(b"1")], "claims": [JobClaim("0-1-q", 1)],
}  # fmt: skip
"""A value for each required option."""


def too_many(field, count):
    if field.name in ("links", "jobs", "claims", "mutations"):
        return VALID[field.name] * count
    if "Mapping" not in str(field.kind):
        return [f"http://b.example/{n}" for n in range(count)]
    value = {"fields": b"1", "provenance": "x", "properties": b"1"}.get(field.name, 1.0)
    return {f"f{n}": value for n in range(count)}


def violations(operation):
    """Requests that break one bound each, by the bounds of the table."""
    for field in option_fields(operation.request):
        option = field.option
        bad = []
        if option.least is not None and field.kind in (int, float):
            bad.append(option.least - 1)
        if option.most is not None and not option.capped and field.kind in (int, float):
            bad.append(option.most + 1)
        if option.pattern is not None:
            bad.append("a b\u00e9")
        if option.most_items is not None and field.name != operation.in_parts:
            bad.append(too_many(field, option.most_items + 1))
        if option.most_bytes is not None and "Sequence" in str(field.kind):
            bad.append(["x" * (option.most_bytes + 1)])
        for value in bad:
            if isinstance(value, int | float) and not -(2**63) <= value < 2**63:
                continue  # no number of Thrift
            required = {
                f.name: VALID[f.name] for f in option_fields(operation.request) if f.required
            }
            yield {**required, field.name: value}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_bound_of_the_table_holds_over_every_way(ways, name):
    accepted = [
        (way, kwargs)
        for kwargs in violations(OPERATIONS[name])
        for way, client in ways.items()
        if not refused(client, name, kwargs)
    ]
    assert accepted == []


def refused(client, name, kwargs):
    try:
        getattr(client, name)(**kwargs)
    except BAD_INPUT:
        return True
    return False


@pytest.mark.parametrize(
    "name", [n for n, o in OPERATIONS.items() if any(f.name == "url" for f in o.fields)]
)
def test_what_is_not_a_url_is_refused_before_it_is_sent(ways, name):
    operation = OPERATIONS[name]
    required = {f.name: VALID[f.name] for f in operation.fields if f.required}
    for client in ways.values():
        with pytest.raises(InvalidUrl):
            getattr(client, name)(**{**required, "url": "nonsense"})


def test_every_operation_is_reached_over_every_way_and_has_a_test_here():
    named = {*READS, "take_edges", "trim_edges", "mutate", "put_node", "remove_node", "put_edge", "remove_edge", "take_down", "lift_takedown", "content_part", "put", "delete_fields", "remove", "add_links", "remove_links",
            "start_crawl", "set_crawl_state", "delete_crawl", "cancel_urls", "decide_template", "list_templates",
            "watch", "unwatch", "enqueue_jobs", "dequeue_jobs", "ack_jobs", "nack_jobs", "extend_jobs",
            "list_queues", "queue_state", "list_jobs", "retry_jobs", "delete_jobs", "configure_queue"}  # fmt: skip

    assert named == set(OPERATIONS)
    for name, operation in OPERATIONS.items():
        assert None not in (operation.http, operation.thrift), name
        assert all(hasattr(client, name) for client in (Client, AsyncClient)), name
