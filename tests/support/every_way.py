"""One store over every way to call it: direct, HTTP, Thrift and asyncio."""

import asyncio
from contextlib import ExitStack
from dataclasses import asdict, is_dataclass

import orjson
import pytest

from aragog.api.operations.batch_progress import BatchProgress, DomainProgress
from aragog.api.operations.graph import parse_node_id
from aragog.api.operations.graphs import ApplicationGraphs
from aragog.api.operations.jobs import Jobs
from aragog.api.operations.operation import Parts
from aragog.api.operations.values import Explanation, ExplanationLine, ExplanationSection
from aragog.api.server.http.services import Services
from aragog.client import Client, connect, connect_async
from aragog.client.direct_backend import DirectBackend
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import (
    BAD_INPUT,
    VersionConflict,
)
from aragog.pages.items import PageItems
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from pinlater.cluster import Cluster, connect_shards
from richpins.items import Item
from tests.api_examples import crawls_of
from tests.support import api_server, thrift_server
from tests.support.fetching import Fetching
from tests.support.stores import NOW_MS, page, store_harness
from urlspelling import normalize
from zengraph import Schema
from zengraph.tables.memory import MemoryTables

WAYS = ("direct", "http", "thrift", "asyncio")
PINS = {"graph": "pins"}
NOT_CARRIED = ("formats", "content_key", "info", "meta", "extras", "total_ms")
DEADLINE_S = 60
A, ALIAS, UNKNOWN = "http://a.example/p", "http://a.example/old", "http://unknown.example/"


def enqueue(urls, **options):
    """Replace `Aragog.enqueue`, and return its options."""
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
    """Return the URL, and each kind of section."""
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
    """Fill the store with a page that has everything."""
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
    return filled(store_harness(MemoryTables(ManualClock(NOW_MS)), settings=settings).store)


@pytest.fixture
def changed():
    """The `purge` flag of each takedown change that other parts were notified of, in order."""
    return []


@pytest.fixture
def graphs():
    """An application's graph, for all ways."""
    schema = Schema(
        unique=("user.email",), indexed=("pin.site",), counted=(16,), ordered=(18,),
        sorted=("user.email",),
    )  # fmt: skip
    clock = ManualClock(NOW_MS)
    opened = ApplicationGraphs({"pins": schema}, lambda _: MemoryTables(clock), clock)
    pins = opened["pins"]
    pins.put_node(parse_node_id("ada", "pins"), {"user.email": b"a@x.example", "raw": b"\xff"})
    pins.put_node(parse_node_id("lamp", "pins"), {"pin.site": b"shop"})
    for n, other in enumerate(("lamp", "desk", "a" * 32)):
        ends = parse_node_id("ada", "pins"), parse_node_id(other, "pins")
        pins.put_edge(ends[0], 16, ends[1], score=n - 1, properties={"w": b"\xfe"})
    for n, order in enumerate((b"anna", b"an\xff", b"an\0", b"berta", b"")):
        ends = parse_node_id("ada", "pins"), parse_node_id(f"contact {n}", "pins")
        pins.put_edge(*ends[:1], 18, ends[1], score=n // 4, order=order)
    return opened


@pytest.fixture
def ways(redis_url, store, changed, graphs):
    """A client of each way, for one store."""
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


def called(client, name, arguments):
    """Return the result of a call, or its error as text."""
    *args, last = arguments
    kwargs = last if isinstance(last, dict) else {}
    args = args if isinstance(last, dict) else arguments
    try:
        return getattr(client, name)(*args, **kwargs)
    except (*BAD_INPUT, VersionConflict) as error:
        return f"{type(error).__mro__[-5:]} {error}"


def plain(value):
    """Return a result as comparable values, without those that some ways cannot carry."""
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in NOT_CARRIED}
    return value
