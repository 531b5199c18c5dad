"""
Rebuilds the examples of the HTTP API on a real server: `python -m tests.api_examples`.

It sends the requests in `examples.json` one after the other and writes the responses into it. The
server has a store in memory, a clock that does not move, and the queues of a private Redis.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson

from aragog.api.operations.batch_progress import BatchProgress, DomainProgress
from aragog.api.operations.fetching import FetchResponse, FetchState
from aragog.api.operations.graphs import ApplicationGraphs
from aragog.api.operations.jobs import Jobs
from aragog.api.operations.values import Explanation, ExplanationLine, ExplanationSection
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.http.openapi.examples import EXAMPLES, FILE, Example
from aragog.api.server.http.services import Services
from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.politeness.lines import Lines
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.traps.trap_store import TrapStore
from aragog.errors import InvalidUrl
from aragog.pages.items import PageItems
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.standalone.redis_server import RedisServer
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite, Likeness, OutLink
from aragog.urlstore.refresh_policy import Seen
from pinlater.cluster import Cluster, connect_shards
from pinlater.redis.connect import connect
from richpins.items import Item
from richpins.text_sketch import sketch_of
from tests.support.api_server import Running, running
from tests.support.stores import NOW_MS, page, store_harness
from urlspelling import explain as steps
from urlspelling import normalize
from urlspelling.domain import host
from zengraph import Schema
from zengraph.tables.memory import MemoryTables

LAMP_LIKENESS = Likeness("1f00d2a94c3be871", sketch_of(" ".join(map(str, range(60)))))
LAMP, NEWS = "http://www.shop.test/p/brass-lamp", "http://news.test/"
LAMPS = "http://www.shop.test/c/lamps"
BATCH = "u3kqWcT0x2"
VOLATILE = ("version", "cursor", "at_ms", "created_at_ms", "changed_at_ms")
"""Members whose values are random, or times from Redis."""


class Batches:
    """A single batch."""

    def add(self, _batch: str | None, _results: Any, _after_ms: int) -> str:
        return BATCH

    def progress(self, batch: str) -> BatchProgress:
        return BatchProgress(
            batch=batch, total=1000, done=640, in_flight=360,
            estimated_finish_at_ms=NOW_MS + 36_000,
            slowest=(DomainProgress("shop.test", 350, 10.0, NOW_MS + 36_000),),
        )  # fmt: skip


class Fetching:
    """Plays the workers: every stored page was fetched just now."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def drain(self) -> None:
        """Nothing waits."""

    def steps(self, request: Any) -> Iterator[Any]:
        yield from ()
        record = self._store.get(request.url, request.fields)
        return FetchResponse(url=request.url, record=record, state=FetchState.FRESH, age_s=0.25)


def enqueue(urls: Any, **_: Any) -> list[EnqueueResult]:
    """Plays `Aragog.enqueue`."""
    return [_enqueued(url) for url in urls]


def _enqueued(url: str) -> EnqueueResult:
    try:
        return EnqueueResult(url, EnqueueStatus.ACCEPTED, normalize(url), None)
    except InvalidUrl as error:
        return EnqueueResult(url, EnqueueStatus.INVALID, None, error.reason)


def explain(url: str) -> Explanation:
    """Plays part of `explain_url`."""
    normalized = normalize(url)
    spelling = (
        ExplanationLine("normalized", normalized),
        *(ExplanationLine(step.name, step.after, f"was {step.before}") for step in steps(url)),
    )
    slot = (
        ExplanationLine("limited as", host(normalized)),
        ExplanationLine("rate now", "0.2 requests/s", "Crawl-delay 5 s of robots.txt"),
    )
    return Explanation(
        url, normalized,
        (ExplanationSection("spelling", spelling), ExplanationSection("slot", slot)),
    )  # fmt: skip


def html(title: str) -> ContentWrite:
    """The content of a page."""
    body = f"<!doctype html><title>{title}</title>".encode()
    meta = {"content_type": "text/html; charset=utf-8"}
    return ContentWrite(compress(body), "zstd", len(body), meta)


def graphs() -> ApplicationGraphs:
    """An empty application graph."""
    clock = ManualClock(NOW_MS)
    schema = Schema(ordered=(18,), sorted=("title",))
    return ApplicationGraphs({"pins": schema}, lambda _: MemoryTables(clock), clock)


def filled_store() -> Any:
    """A store with two pages."""
    settings = StoreSettings(
        indexed=("product.brand",),
        unique=("team.code",),
        history=("product.price", "items.cards"),
    )
    harness = store_harness(MemoryTables(ManualClock(NOW_MS)), settings=settings)
    store = harness.store
    lamp = {
        "page.title": b'"Brass reading lamp"',
        "product.price": b'"99.90"',
        "product.brand": b'"Lux"',
    }
    links = [
        OutLink("http://www.shop.test/p/desk", "A desk to go with it"),
        OutLink("http://www.shop.test/p/oak-shelf", "Oak shelf"),
    ]
    facts = {"outcome": "Fetched", "status": 200}
    for price, at_ms in ((b'"99.90"', NOW_MS - 86_400_000), (b'"89.90"', NOW_MS - 60_000)):
        fields = lamp | {"product.price": price}
        also = ("http://www.shop.test/lamp",)
        written = page(
            LAMP, at_ms, fields=fields, facts=facts, also=also, content=html("Brass reading lamp"),
            likeness=LAMP_LIKENESS,
        )  # fmt: skip
        store.write_pages([replace(written, links=links)])
    title = {"page.title": lamp["page.title"]}
    copy = page(f"{LAMP}?view=print", NOW_MS - 50_000, fields=title, likeness=LAMP_LIKENESS)
    store.write_pages([copy])
    for title, at_ms in (("News", NOW_MS - 86_400_000), ("The News", NOW_MS - 5000)):
        fields = {"page.title": orjson.dumps(title)}
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="page")
        written = page(NEWS, at_ms, fields=fields, facts=facts, content=html(title), seen=seen)
        store.write_pages([written])
        store.schedule.watch(NEWS, "desk")
    for price, at_ms in (("99.90", NOW_MS - 86_400_000), ("89.90", NOW_MS - 60_000)):
        card = Item({"sku": "L-1", "name": "Brass reading lamp", "price": price}, "L-1")
        cards = PageItems("www.shop.test", (card,)).stored()
        written = page(LAMPS, at_ms, fields={"items.cards": orjson.dumps(cards)}, facts=facts)
        store.write_pages([written])
    harness.compact()
    harness.clock.advance_ms(60_000)
    return store


def crawls_of(url: str, store: Any) -> CrawlControl:
    """The crawls of a Redis; no URLs are waiting."""
    client, prefix = connect(url), "aragog:"
    return CrawlControl(
        registry=CrawlRegistry(client, prefix=prefix),
        counts=CrawlCounters(client, prefix=prefix),
        lines=Lines(client, prefix=prefix),
        in_flight=InFlightSet(client, prefix=prefix),
        admin=None,
        store=lambda: store,
        seeds=CrawlSeeds(client, prefix=prefix),
        traps=TrapStore(RedisNodes.wrap(client), prefix=prefix),
    )


@contextmanager
def example_server() -> Iterator[Running]:
    """A server that can make the examples once."""
    with tempfile.TemporaryDirectory(prefix="ar") as name, RedisServer(Path(name)) as redis:
        store = filled_store()
        with closing(Jobs(Cluster(connect_shards([redis.url])))) as jobs:
            services = Services(
                enqueue=enqueue, fetching=Fetching(store), batches=Batches(), jobs=jobs,
                explain=explain, graphs=graphs(), crawls=crawls_of(redis.url, store),
            )  # fmt: skip
            with running(store, services) as server:
                yield server


def made(server: Running, example: Example) -> tuple[int, Any]:
    """Status and response of the example's request."""
    [(method, path)] = [
        (method, path)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if operation["operationId"] == example.operation
    ]
    reply = server.ask(method.upper(), example.target(path), example.body)
    if not reply.body:
        return reply.status, None
    is_json = reply.headers["content-type"].startswith("application/json")
    return reply.status, reply.json if is_json else reply.body.decode()


def comparable(answer: Any) -> Any:
    """A response without the values that differ from run to run."""
    if isinstance(answer, dict):
        return {n: n if n in VOLATILE else comparable(part) for n, part in answer.items()}
    return [comparable(part) for part in answer] if isinstance(answer, list) else answer


def main() -> None:
    """Send all requests and write the file."""
    lines = []
    with example_server() as server:
        for example in EXAMPLES.values():
            status, answer = made(server, example)
            if comparable(answer) == comparable(example.answer):
                answer = example.answer
            kept = {
                name: value
                for name, value in asdict(example).items()
                if value or name == "operation"
            }
            line = {**kept, "status": status, "answer": answer}
            lines.append(orjson.dumps({n: v for n, v in line.items() if v is not None}).decode())
    Path(str(FILE)).write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
