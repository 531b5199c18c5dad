"""Data of a system in the middle of a crawl, for Flower's pages: domains, queues, jobs, a page."""

from __future__ import annotations

import time

from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    lines_of,
    redis_client,
    robots_cache,
)
from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline.outcome_log import DomainOutcome, OutcomeLog
from aragog.crawl.politeness.lines import LineEntry
from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.fetch_record.outcome import OutcomeKind
from aragog.runtime.secret import reveal
from aragog.settings import Settings
from aragog.urlstore.records import OutLink
from pinlater.admin import Admin
from pinlater.models import ClaimRequest, Nack, NewJob

VASE = "https://shop.example/vase"
HOSTILE = "https://hostile.example/"
SMALL_DOMAINS = 70
LONG = "a-very-long-name-of-a-shop-that-nobody-would-ever-type.with-subdomains.example"


def fill(settings: Settings) -> None:
    """Fill the Redis and the store of a system."""
    shared = settings.redis
    _pages(settings)
    _limits(settings)
    operator = LiveOverrides(reveal(shared.url), shared.prefix)
    operator.set_qps("slow.example", 0.5, who="ann", reason="their operator asked for it")
    operator.set_stopped("stopped.example", True, who="ann", reason="moves to a new server today")
    now_ms = int(time.time() * 1000)
    rules = robots_cache(settings)
    rules.put("https://shop.example", 200, b"User-agent: *\nCrawl-delay: 5", now_ms - 3_600_000)
    rules.put("https://www.news.example", 404, b"", now_ms - 60_000)
    rules.put("https://down.example", 503, b"", now_ms)
    OutcomeLog(redis_client(settings), prefix=shared.prefix).note(
        {
            "shop.example": [DomainOutcome(OutcomeKind.FETCHED)] * 8
            + [DomainOutcome(OutcomeKind.GONE)],
            "news.example": [DomainOutcome(OutcomeKind.NOT_MODIFIED)] * 7
            + [DomainOutcome(OutcomeKind.FETCHED)] * 3,
            "failing.example": [DomainOutcome(OutcomeKind.FETCHED)] * 2
            + [DomainOutcome(OutcomeKind.UNREACHABLE)] * 4,
        }
    )
    _jobs(settings)


def _pages(settings: Settings) -> None:
    store = url_store(settings)
    fields = {
        "page.title": b'"Vase, hand-thrown"',
        "page.description": b'"A vase of stoneware with a blue glaze, 24 cm high."',
        "page.type": b'"product"',
        "product.price": b'"49.90"',
        "product.currency": b'"EUR"',
    }
    syntax = "json-ld #1"
    store.put(VASE, fields, provenance=dict.fromkeys(fields, syntax))
    hostile = {"page.title": b"\"<script>document.title='hacked'</script>\""}
    store.put(
        HOSTILE, hostile, provenance={"page.title": "<script>document.title='hacked'</script>"}
    )
    store.links.add(VASE, [OutLink("https://shop.example/bowl", "A bowl to go with it")])
    for number in range(SMALL_DOMAINS):
        store.put(f"http://www.small-{number:02}.example/", {"page.title": b'"x"'})
    store.put(f"http://{LONG}/", {"page.title": b'"x"'})
    store.close()


def _limits(settings: Settings) -> None:
    limits = limiter(settings, connect_overrides(settings))
    for domain, count in (("shop.example", 900), ("news.example", 400), (f"{LONG}", 100)):
        entry = LineEntry(limits.key_for(f"http://{domain}/"), 5, b"{}")
        lines_of(settings).park([entry] * count)
    limits.report_many([("failing.example", False)] * 4)
    limits.close()


def _jobs(settings: Settings) -> None:
    with Aragog(settings) as client:
        soon_ms = int(time.time() * 1000) + 3_600_000
        client.enqueue([VASE], refresh=True)
        for number in range(60):
            client.enqueue([f"http://waits-{number}.example/"], run_after=soon_ms + number * 60_000)
    admin = Admin.connect(settings.broker.url)
    for queue in ("canonicalize", "store", "reports-of-the-warehouse-department"):
        name = f"warehouse.{queue.replace('-', '_')}.make_the_report_of_the_day"
        admin.cluster.enqueue(queue, [NewJob(b"x", name=name, key=f"id-{n}") for n in range(12)])
    admin.pause("store")
    shard = admin.cluster.shards[0]
    worker = "crawler-17.fra.example.internal:4711:MainThread"
    request = ClaimRequest(limit=3, timeout_ms=60_000, worker=worker)
    claims = shard.claim("canonicalize", request).claims
    problem = "BrokerUnavailable: redis://shard-3: Connection refused, " + "x" * 120
    shard.nack("canonicalize", [Nack(c.job_id, c.token, "fail", 0, problem) for c in claims[:2]])
