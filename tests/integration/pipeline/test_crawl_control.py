"""Control of crawls: dry runs, deletion, reports and upkeep."""

import time
from contextlib import suppress
from dataclasses import replace

import pytest

from aragog.cli.run_crawl import Crawl
from aragog.cli.run_options import RunOptions
from aragog.cli.terminal import SafeConsole
from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.pipeline.crawl_registry import MAX_CANCELLATIONS, CrawlRegistry
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.in_flight_values import CancelQuery, MarkingCrawl, NextStep
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.politeness.lines import LineEntry, Lines
from aragog.crawl.stages.cancel_dry_run import CancelDryRun
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.errors import BadInput
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import RedisSettings, Settings, StoreSettings
from aragog.transfer.archive_import import import_archive
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.import_export import import_urls
from aragog.transfer.json_lines import UrlRecord
from aragog.transfer.warc_import import ArchivedPage
from tests.support.faults import Killed
from tests.support.stores import NOW_MS, page
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


@pytest.fixture
def control(redis_client, pipeline_harness):
    return CrawlControl(
        registry=CrawlRegistry(redis_client, prefix="t:"),
        counts=CrawlCounters(redis_client, prefix="t:"),
        lines=Lines(redis_client, prefix="t:"),
        in_flight=InFlightSet(redis_client, prefix="t:"),
        admin=None,
        store=lambda: pipeline_harness.store,
        seeds=CrawlSeeds(redis_client, prefix="t:"),
    )


def wait(control, url, key):
    control.lines.park([LineEntry(key, 5, b'{"url":"%s"}' % url.encode())])


def test_dry_run_counts_waiting_urls_in_every_line(control):
    wait(control, "http://a.example/1", "a.example")
    wait(control, "http://www.a.example/2", "a.example")
    wait(control, "http://b.example/2", "b.example")
    wait(control, "http://a.example/3", "http://a.example")
    wait(control, "http://a.example/4", "paused://7")

    assert control.waiting({"host": ["A.example"]}) == 3
    assert control.waiting({"domain": ["a.example"]}) == 4
    assert control.waiting({"pattern": ["*/2"]}) == 2
    assert control.waiting({"url": ["http://B.example/2"]}) == 1
    assert control.registry.read().cancellations == ()


def test_dry_run_counts_only_lines_if_the_broker_cannot_be_queried(control):
    wait(control, "http://a.example/1", "a.example")
    dry_run = CancelDryRun(control.registry, control.in_flight, control.lines, admin=None)

    assert dry_run.count([Cancellation("host", "a.example", 0)]) == 1
    assert dry_run.count([Cancellation("host", "b.example", 0)]) == 0


def test_dry_run_counts_a_url_matched_by_several_rules_once(control):
    wait(control, "http://a.example/1", "a.example")
    wait(control, "http://www.a.example/2", "a.example")

    given = {"host": ["a.example"], "domain": ["a.example"], "url": ["http://a.example/1"]}

    assert control.waiting(given) == 2


def test_dry_run_excludes_cancelled_urls_still_in_line(control):
    gone, live = (
        control.registry.start("gone", {}).number,
        control.registry.start("live", {}).number,
    )
    for path, crawls in (("1", (gone,)), ("2", (gone, live)), ("3", (live,))):
        url = f"http://a.example/{path}"
        for crawl in crawls:
            control.in_flight.mark([url], for_crawl=MarkingCrawl(crawl))
            control.in_flight.confirm([url])
        payload = b'{"url":"%s","c":%d}' % (url.encode(), crawls[0])
        control.lines.park([LineEntry("a.example", 5, payload, share=crawls[0])])

    assert control.waiting({"host": ["a.example"]}) == 3
    control.cancel("gone")
    assert control.waiting({"host": ["a.example"]}) == 2
    control.cancel_urls("url", ["http://a.example/3"])
    assert control.waiting({"host": ["a.example"]}) == 1


def test_url_enqueued_after_a_cancellation_is_not_cancelled_before_confirmation(control):
    """A worker may have the message before its producer has confirmed the entry."""
    url = "http://a.example/1"
    crawl = control.registry.start("docs", {}).number
    at_s = control.registry.cancel("url", [url])[0].at_s
    wait_until_after(control, at_s)

    control.in_flight.mark([url], for_crawl=MarkingCrawl(crawl))
    replies = control.in_flight.stop(
        [CancelQuery(url, crawl, cancelled_until_s=at_s)], ended=(), paused=()
    )

    assert replies == [NextStep.CONTINUES]


def wait_until_after(control, at_s):
    """Wait past a cancellation: they have a resolution of one second."""
    wait_until(lambda: control.registry.read().now_ms // 1000 > at_s)


@pytest.mark.parametrize(("kind", "values"), [("host", []), ("port", ["80"]), ("pattern", [""])])
def test_invalid_cancellation_is_refused(control, kind, values):
    with pytest.raises(BadInput):
        control.cancel_urls(kind, values)


def test_number_of_cancellations_is_limited(control):
    urls = [f"http://a.example/{n}" for n in range(MAX_CANCELLATIONS)]
    control.cancel_urls("url", urls)

    with pytest.raises(BadInput, match="cancellations"):
        control.cancel_urls("host", ["b.example"])


PROVENANCE = {"page.title": "title"}
FIELDS = {"page.title": b'"T"'}
URL = "http://a.example/1"


def watched(store, _settings):
    store.schedule.watch(URL, "me")


def in_another_crawl(store, _settings):
    store.crawls.add("news", {URL: NOW_MS})


def in_unnamed_crawl(store, _settings):
    store.crawls.add("enqueued", {URL: NOW_MS})


def written_by_an_application(store, _settings):
    store.put(URL, {"team.note": b"x"})


def imported(store, _settings):
    record = UrlRecord(url=URL, fields=FIELDS, provenance=PROVENANCE)
    writer = BulkWriter(store, store.zen, StoreSettings())
    assert import_urls([(1, record)], writer, on_problem=print).written == 1


def imported_from_an_archive(store, settings):
    fetch = FetchRecord(
        url=URL, outcome=OutcomeKind.FETCHED, final_url=URL, status=200,
        content_type="text/html", fetched_at_ms=NOW_MS + 1,
    )  # fmt: skip
    assert import_archive([(1, ArchivedPage(fetch, b"<title>T</title>"))], store, settings).written


REASONS = {
    watched: "it is watched",
    in_another_crawl: "it belongs to another crawl",
    in_unnamed_crawl: "it belongs to another crawl",
    written_by_an_application: "an application wrote its fields",
    imported: "it was imported",
    imported_from_an_archive: "it was imported",
}


@pytest.mark.parametrize("claim", REASONS, ids=lambda claim: claim.__name__)
def test_crawl_deletion_keeps_pages_that_belong_to_others(control, pipeline_harness, claim):
    store, mine = pipeline_harness.store, "http://a.example/mine"
    store.write_pages([page(url, fields=FIELDS, provenance=PROVENANCE) for url in (URL, mine)])
    control.start("docs", {})
    store.crawls.add("docs", dict.fromkeys([URL, mine], NOW_MS))
    claim(store, pipeline_harness.settings)

    done = control.delete("docs")

    assert (done.deleted, done.kept) == (1, {REASONS[claim]: 1})
    assert store.get(URL) is not None
    assert store.get(mine) is None
    assert store.crawls.among("docs", [URL, mine]) == set()
    assert [status.record.name for status in control.all()] == ["enqueued", "refresh"]


class DyingCounters(CrawlCounters):
    def delete(self, numbers):
        raise Killed


def test_crawl_has_no_seeds_of_one_with_its_name_whose_deletion_was_killed(control, redis_client):
    control.start("docs", {})
    control.seeds.add("docs", [URL], {})
    dying = replace(control, counts=DyingCounters(redis_client, prefix="t:"))
    with suppress(Killed):
        dying.delete("docs")

    control.start("docs", {"every_s": 86_400})

    assert control.seeds.count("docs") == 0


def test_waiting_urls_of_a_deleted_crawl_stay_cancelled(control, redis_client):
    in_flight = InFlightSet(redis_client, prefix="t:")
    number = control.start("docs", {}).record.number
    in_flight.mark(["http://a.example/"], for_crawl=MarkingCrawl(number))
    control.delete("docs")

    assert number in control.registry.read().ended
    assert in_flight.sweep(control.registry.read().ended).cancelled == 1
    CrawlUpkeep(control.registry, control.counts).run()
    assert not redis_client.exists(f"t:crawl:{number}")


def over(control, name):
    """Start a crawl and let its deadline pass; returns its number."""
    control.start(name, {"until_ms": int(time.time() + 3600) * 1000})
    return control.registry.update_fields(control.registry.get(name), until_ms=1).number


def test_deadline_in_the_past_is_refused_and_starts_no_crawl(control):
    """`crawl start --until 2020-01-01T00:00Z` reported `running` and fetched nothing."""
    with pytest.raises(BadInput, match=r"until: 2020-01-01T00:00:00Z is in the past"):
        control.start("docs", {"until_ms": 1_577_836_800_000})

    assert "docs" not in control.registry.read().records


def test_restarted_crawl_has_no_expired_deadline(control):
    number = over(control, "docs")

    record = control.start("docs", {}).record

    assert (record.state, record.until_ms) == (CrawlPhase.RUNNING, None)
    assert record.number != number


def test_upkeep_frees_waiting_urls_of_ended_crawls_and_counts_them_once(control, redis_client):
    in_flight = InFlightSet(redis_client, prefix="t:")
    number = over(control, "docs")
    other = control.start("news", {}).record.number
    urls = [f"http://a.example/{n}" for n in range(10)]
    in_flight.mark(urls, for_crawl=MarkingCrawl(number))
    in_flight.confirm(urls)
    in_flight.mark(urls[:3], for_crawl=MarkingCrawl(other, depth=2))
    before = control.status("docs").counts

    CrawlUpkeep(control.registry, control.counts).run()
    in_flight.sweep(control.registry.read().ended)

    assert control.status("docs").record.state is CrawlPhase.ENDED
    assert before.outcomes == control.status("docs").counts.outcomes == {"cancelled": 10}
    assert control.status("news").counts.waiting == in_flight.count() == 3


def test_concurrent_changes_of_a_record_are_all_kept(control, redis_client):
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


@pytest.mark.parametrize(
    ("changes", "depth", "priority"), [({}, 5, 2), ({"depth": 1, "priority": 0}, 1, 0)]
)
def test_continued_run_changes_only_what_it_sets(redis_url, tmp_path, changes, depth, priority):
    settings = Settings(data_dir=tmp_path, redis=RedisSettings(url=redis_url))
    registry = SharedState.from_settings(settings).crawls
    registry.start("docs", {"depth": 5, "priority": 2})

    options = RunOptions(
        **{"depth": 0, "include": (), "exclude": (), "refresh": False, "crawl": "docs", **changes}
    )
    Crawl(
        settings=settings, urls=(), line_sources=(), options=options, console=SafeConsole()
    )._start()

    record = registry.read().records["docs"]
    assert (record.depth, record.priority) == (depth, priority)
