"""Control of crawls: dry runs, deletion, reports and upkeep."""

import pytest

from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.pipeline.crawl_registry import MOST_CANCELLATIONS, CrawlRegistry
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.in_flight import InFlightSet, Wants
from aragog.crawl.politeness.lines import LineEntry, Lines
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.errors import BadInput
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis


@pytest.fixture
def control(redis_client, pipeline_stand):
    return CrawlControl(
        registry=CrawlRegistry(redis_client, prefix="t:"),
        counts=CrawlCounters(redis_client, prefix="t:"),
        lines=Lines(redis_client, prefix="t:"),
        admin=None,
        store=lambda: pipeline_stand.store,
        seeds=CrawlSeeds(redis_client, prefix="t:"),
    )


def wait(control, url, key):
    control.lines.park([LineEntry(key, 5, b'{"url":"%s"}' % url.encode())])


def test_a_dry_run_counts_what_waits_in_every_line(control):
    wait(control, "http://a.example/1", "a.example")
    wait(control, "http://www.a.example/2", "a.example")
    wait(control, "http://b.example/2", "b.example")
    wait(control, "http://a.example/3", "http://a.example")
    wait(control, "http://a.example/4", "paused://7")

    assert control.waiting("host", ["A.example"]) == 3
    assert control.waiting("domain", ["a.example"]) == 4
    assert control.waiting("pattern", ["*/2"]) == 2
    assert control.waiting("url", ["http://B.example/2"]) == 1
    assert control.registry.read().cancellations == ()


@pytest.mark.parametrize(("kind", "values"), [("host", []), ("port", ["80"]), ("pattern", [""])])
def test_what_cannot_be_cancelled_is_refused(control, kind, values):
    with pytest.raises(BadInput):
        control.cancel_urls(kind, values)


def test_the_number_of_cancellations_is_bounded(control):
    urls = [f"http://a.example/{n}" for n in range(MOST_CANCELLATIONS)]
    control.cancel_urls("url", urls)

    with pytest.raises(BadInput, match="cancellations"):
        control.cancel_urls("host", ["b.example"])


def test_a_deletion_leaves_pages_that_somebody_else_has(control, pipeline_stand):
    store = pipeline_stand.store
    urls = [f"http://a.example/{n}" for n in range(5)]
    mine, watched, shared, written, other = urls
    provenance = {"page.title": "title"}
    fields = {"page.title": b'"T"'}
    store.write_pages([page(url, fields=fields, provenance=provenance) for url in urls])
    store.crawls.add("docs", dict.fromkeys([mine, watched, shared, written], NOW_MS))
    store.crawls.add("enqueued", {shared: NOW_MS})
    store.schedule.watch(watched, "me")
    store.put(written, {"team.note": b"x"})
    control.start("docs", {})

    done = control.delete("docs")

    assert done.deleted == 1
    assert sum(done.kept.values()) == 3
    assert [url for url in urls if store.get(url) is None] == [mine]
    assert store.crawls.among("docs", urls) == set()
    assert [status.record.name for status in control.all()] == ["enqueued", "refresh"]
    assert other


def test_what_waits_for_a_deleted_crawl_stays_cancelled(control, redis_client):
    in_flight = InFlightSet(redis_client, prefix="t:")
    number = control.start("docs", {}).record.number
    in_flight.mark(["http://a.example/"], wants=Wants(number))
    control.delete("docs")

    assert number in control.registry.read().ended
    assert in_flight.sweep(control.registry.read().ended).cancelled == 1
    CrawlUpkeep(control.registry, control.counts).run()
    assert not redis_client.exists(f"t:crawl:{number}")


def test_upkeep_frees_what_waits_for_crawls_that_ended_and_counts_it_once(control, redis_client):
    in_flight = InFlightSet(redis_client, prefix="t:")
    number = control.start("docs", {"until_ms": 1}).record.number
    other = control.start("news", {}).record.number
    urls = [f"http://a.example/{n}" for n in range(10)]
    in_flight.mark(urls, wants=Wants(number))
    in_flight.confirm(urls)
    in_flight.mark(urls[:3], wants=Wants(other, depth=2))
    before = control.status("docs").counts

    CrawlUpkeep(control.registry, control.counts).run()
    in_flight.sweep(control.registry.read().ended)

    assert control.status("docs").record.state is CrawlPhase.ENDED
    assert before.outcomes == control.status("docs").counts.outcomes == {"cancelled": 10}
    assert control.status("news").counts.waiting == in_flight.count() == 3


def test_a_record_is_changed_by_many_at_once_without_losing_a_change(control, redis_client):
    from concurrent.futures import ThreadPoolExecutor

    def start(n):
        own = CrawlRegistry(redis_client, prefix="t:")
        own.start("docs", {} if n else {"depth": 7})
        own.start(f"c{n}", {})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(start, range(16)))

    records = control.registry.read().records
    assert records["docs"].depth == 7
    assert len({record.number for record in records.values()}) == 17
