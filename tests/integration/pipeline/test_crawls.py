"""Crawls on a real Redis and an origin: what is fetched for which crawl, and the counts."""

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.pipeline.in_flight import MAX_URLS_PER_CALL
from aragog.crawl.pipeline.in_flight_values import CancelQuery, MarkingCrawl, NextStep, UrlEnding
from aragog.crawl.pipeline.messages import FetchBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.politeness.lines import TAKEN_LEASE_MS, LineEntry, LineServer
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.release import MAX_TAKEN_WITHOUT_SLOTS
from aragog.errors import BadInput
from aragog.settings import RedisSettings
from aragog.transfer.import_export import NodeSelection, export_urls
from aragog.urlstore.crawl_members import kept_because
from tests.support.crawl_harness import HarnessCrawls, apart
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis


def site(request, _wire):
    """A home page with ten pages, each with links to one deeper page and to the home page."""
    path = request.path.rstrip("/")
    if path == "":
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(10))
        return answer(200, f"<title>home</title>{links}".encode(), content_type="text/html")
    if path.startswith("/gone"):
        return answer(404)
    body = f'<title>{path}</title><a href="{path}/deep">deep</a><a href="/">home</a>'
    return answer(200, body.encode(), content_type="text/html")


@pytest.fixture
def crawls(crawl_harness):
    harness = crawl_harness({"/*": site}, qps=1000)
    harness.know_rules("a.test", "b.test")
    return HarnessCrawls(harness)


def test_crawl_counts_each_url_once_by_outcome(crawls):
    crawls.start("docs", depth=1)

    crawls.harness.crawl(
        ["http://a.test/", "http://a.test/gone"], EnqueueOptions(depth=1, crawl="docs")
    )

    counts = crawls.of("docs")
    assert counts.outcomes == {"stored": 11, "gone: 404": 1}
    assert (counts.enqueued, counts.waiting, counts.repeated) == (12, 0, 0)
    assert counts.is_exact
    assert counts.bytes > 0


def test_url_already_stored_for_the_crawl_counts_as_repeated(crawls):
    crawls.start("docs", depth=2)
    options = EnqueueOptions(depth=2, crawl="docs")

    crawls.harness.crawl(["http://a.test/"], options)
    first = crawls.of("docs")
    fetched = len(crawls.paths())
    crawls.harness.crawl(["http://a.test/"], options)

    second = crawls.of("docs")
    assert first.stored == second.stored == fetched == len(crawls.paths())
    assert second.repeated > first.repeated
    assert first.is_exact
    assert second.is_exact


def test_url_in_several_crawls_is_fetched_once_and_counted_in_each(crawls):
    harness = crawls.harness
    crawls.start("deep", depth=1)
    crawls.start("flat")
    harness.enqueue(["http://a.test/"], EnqueueOptions(crawl="flat"))
    harness.enqueue(["http://a.test/"], EnqueueOptions())

    harness.crawl(["http://a.test/"], EnqueueOptions(depth=1, crawl="deep"))

    assert crawls.of("flat").outcomes == {"stored": 1}
    assert crawls.of("deep").outcomes == {"stored": 11}
    assert crawls.of("enqueued").enqueued == 1
    assert crawls.of("enqueued").waiting == 0
    assert sorted(crawls.paths()) == sorted(["/", *(f"/p{n}" for n in range(10))])
    for name in ("flat", "deep", "enqueued"):
        assert crawls.of(name).is_exact


def test_failure_is_one_request_and_an_outcome_of_every_crawl(crawls):
    harness, gone = crawls.harness, ["http://a.test/gone"]
    crawls.start("one")
    crawls.start("two")
    harness.enqueue(gone, EnqueueOptions(crawl="one"))

    harness.crawl(gone, EnqueueOptions(crawl="two"))

    assert crawls.paths() == ["/gone"]
    assert crawls.of("one").outcomes == crawls.of("two").outcomes == {"gone: 404": 1}


def test_cancelled_crawl_sends_nothing(crawls):
    harness = crawls.harness
    crawls.start("docs")
    urls = [f"http://a.test/p{n}" for n in range(50)]
    harness.enqueue(urls, EnqueueOptions(crawl="docs"))
    crawls.state("docs", CrawlPhase.CANCELLED)
    at_once = crawls.of("docs")

    harness.crawl(["http://a.test/other"], EnqueueOptions())

    assert crawls.paths() == ["/other"]
    assert at_once.outcomes == crawls.of("docs").outcomes == {"cancelled": 50}
    assert harness.pipeline.store.in_flight.count() == 0


def test_line_check_takes_few_urls_of_a_cancelled_crawl(crawl_harness, redis_client):
    """
    A check of 200 lines asked Redis for 40,000 URLs in one script, which blocked it for 0.75 s.
    """
    crawls, of_slots = HarnessCrawls(crawl_harness({}, qps=2)), 2
    release, number = crawls.harness.pipeline.release, crawls.start("docs").number
    crawls.state("docs", CrawlPhase.CANCELLED)
    payload = b'{"url":"http://h%d.test/%d","request_id":"r","c":%d}'
    each, hosts = 2 * MAX_TAKEN_WITHOUT_SLOTS // 30, 30
    release.lines.park(
        [
            LineEntry(f"h{host}.test", 5, payload % (host, n, number), share=number)
            for host in range(hosts)
            for n in range(each)
        ]
    )
    assert release.lines.total() == each * hosts
    noted = NotedServer(redis_client, RedisSettings().prefix, TAKEN_LEASE_MS)
    release.lines.servers = (noted,)
    release.run()

    assert release.lines.total() == 0
    assert hosts * of_slots < max(noted.asked) <= MAX_TAKEN_WITHOUT_SLOTS + hosts * of_slots


class NotedServer(LineServer):
    """Notes how many entries each call requests."""

    def __init__(self, *args):
        super().__init__(*args)
        self.asked = []

    def take(self, counts, costs=None):
        self.asked.append(sum(counts.values()))
        return super().take(counts, costs)


def test_many_urls_are_ended_in_small_batches(crawls, redis_client):
    in_flight = crawls.harness.pipeline.store.in_flight
    urls = [f"http://a.test/{n}" for n in range(3 * MAX_URLS_PER_CALL)]
    number = crawls.start("docs").number
    in_flight.mark(urls, for_crawl=MarkingCrawl(number))

    with scripts_run(redis_client) as stopped:
        held = in_flight.stop([CancelQuery(url, number) for url in urls], ended=[number], paused=())
    with scripts_run(redis_client) as ended:
        in_flight.end([UrlEnding(url, number, "stored") for url in urls])

    assert set(held) == {NextStep.ENDS}
    assert (stopped, ended) == ([3], [3])
    assert crawls.counts.totals([number]).outcomes == {"cancelled": len(urls)}


@contextmanager
def scripts_run(client):
    """Count the scripts that the server runs in this block; the list gets the number at its end."""

    def run():
        stats, names = client.info("commandstats"), ("cmdstat_evalsha", "cmdstat_eval")
        done = [stats[name] for name in names if name in stats]
        return sum(one["calls"] - one["failed_calls"] for one in done)

    found, before = [], run()
    yield found
    found.append(run() - before)


def test_urls_of_another_crawl_continue_while_one_is_paused(crawls):
    harness, urls = crawls.harness, [f"http://a.test/p{n}" for n in range(6)]
    for name in ("first", "second"):
        crawls.start(name)
    harness.enqueue(urls, EnqueueOptions(crawl="first", depth=1))
    harness.enqueue(urls[:2], EnqueueOptions(crawl="second"))
    crawls.state("first", CrawlPhase.PAUSED)

    for message in harness.taken():
        harness.sent.messages += harness.step(message)
    while harness.sent.messages:
        harness.sent.messages += apart(harness.step(harness.sent.messages.pop(0)))
        harness.pipeline.release.run()
    assert sorted(crawls.paths()) == ["/p0", "/p1"]
    assert crawls.of("second").outcomes == {"stored": 2}
    assert crawls.of("first").waiting == 6

    crawls.state("first", CrawlPhase.RUNNING)
    harness.pipeline.release.lines.check(["paused://2"], 0)
    harness.crawl([], EnqueueOptions())
    assert len(crawls.paths()) == len(set(crawls.paths())) == 13
    assert crawls.of("first").outcomes == {"stored": 13}


def test_urls_of_another_crawl_continue_when_one_is_cancelled(crawls):
    harness, urls = crawls.harness, [f"http://a.test/p{n}" for n in range(10)]
    for name in ("first", "second"):
        crawls.start(name, depth=1)
    harness.enqueue(urls, EnqueueOptions(crawl="first"))
    harness.enqueue(urls[:4], EnqueueOptions(crawl="second", depth=1))
    crawls.state("first", CrawlPhase.CANCELLED)

    harness.crawl([], EnqueueOptions())

    deep = [f"/p{n}{rest}" for n in range(4) for rest in ("", "/deep")]
    assert sorted(crawls.paths()) == ["/", *deep]
    assert crawls.of("first").outcomes == {"cancelled": 10}
    assert crawls.of("second").outcomes == {"stored": 9}
    assert crawls.of("second").is_exact


def test_page_fetched_when_its_crawl_is_cancelled_is_not_stored(crawls):
    harness = crawls.harness
    crawls.start("docs")
    harness.enqueue(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    (fetch,) = harness.taken()
    (canonicalize,) = harness.step(fetch)
    (store,) = harness.step(canonicalize)
    crawls.state("docs", CrawlPhase.CANCELLED)

    assert harness.step(store) == []
    assert harness.step(canonicalize) == []

    assert harness.urls.get("http://a.test/p1") is None
    assert crawls.of("docs").outcomes == {"cancelled": 1}
    assert harness.pipeline.store.spool.state().used_bytes == 0


def test_paused_crawl_sends_nothing_until_resumed(crawls):
    harness = crawls.harness
    crawls.start("docs")
    urls = [f"http://a.test/p{n}" for n in range(30)]
    harness.enqueue(urls, EnqueueOptions(crawl="docs"))
    crawls.state("docs", CrawlPhase.PAUSED)

    for message in harness.taken():
        assert harness.step(message) == []
    harness.pipeline.release.run()
    assert (crawls.paths(), harness.sent.messages) == ([], [])
    assert crawls.of("docs").waiting == 30

    crawls.state("docs", CrawlPhase.RUNNING)
    harness.pipeline.release.lines.check(["paused://2"], 0)
    harness.crawl([], EnqueueOptions())

    assert len(crawls.paths()) == 30
    assert crawls.of("docs").outcomes == {"stored": 30}


def test_crawl_restarted_after_a_cancel_fetches_new_urls_only(crawls):
    harness = crawls.harness
    crawls.start("docs")
    old = [f"http://a.test/p{n}" for n in range(10)]
    harness.enqueue(old, EnqueueOptions(crawl="docs"))
    crawls.state("docs", CrawlPhase.CANCELLED)
    with pytest.raises(BadInput, match="starts it again"):
        harness.enqueue(old, EnqueueOptions(crawl="docs"))
    crawls.start("docs")

    harness.crawl(old[:3], EnqueueOptions(crawl="docs"))

    assert sorted(crawls.paths()) == ["/p0", "/p1", "/p2"]
    assert crawls.of("docs").outcomes == {"cancelled": 10, "stored": 3}
    assert crawls.of("docs").is_exact


def test_second_delivery_counts_nothing(crawls):
    harness = crawls.harness
    crawls.start("docs")
    harness.enqueue(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    (fetch,) = harness.taken()
    (canonicalize,) = harness.step(fetch)
    (store,) = harness.step(canonicalize)
    harness.step(store)
    before = crawls.of("docs")

    (again,) = harness.step(store)
    harness.step(fetch)

    assert again.destination is Destination.FETCH
    assert before.outcomes == {"stored": 1}
    assert crawls.of("docs") == before


def test_crawl_ends_at_its_deadline(crawls):
    harness = crawls.harness
    crawls.start("docs", until_ms=int(time.time() + 3600) * 1000)
    crawls.registry.update_fields(crawls.registry.get("docs"), until_ms=1)
    urls = [f"http://a.test/p{n}" for n in range(5)]
    harness.enqueue(urls, EnqueueOptions(crawl="docs"))
    crawls.registry.read()

    harness.crawl([], EnqueueOptions())
    harness.pipeline.maintenance.sweep_crawls()

    assert crawls.paths() == []
    assert crawls.registry.get("docs").state is CrawlPhase.ENDED
    assert crawls.of("docs").outcomes == {"cancelled": 5}


def test_crawl_keeps_its_limits_of_urls(crawls):
    crawls.start("few", max_urls=4, depth=1)
    crawls.start("per-host", max_urls_per_host=2)
    urls = [f"http://{host}.test/p{n}" for host in "ab" for n in range(5)]

    crawls.harness.crawl(["http://a.test/"], EnqueueOptions(depth=1, crawl="few"))
    results = crawls.harness.enqueue(urls, EnqueueOptions(crawl="per-host"))

    assert crawls.of("few").stored == crawls.of("few").enqueued == 4
    accepted = [r.url for r in results if r.status == "accepted"]
    assert accepted == [f"http://{host}.test/p{n}" for host in "ab" for n in range(2)]
    assert {r.status for r in results if r.url not in accepted} == {"over budget"}
    assert crawls.of("per-host").enqueued == 4


def test_crawl_ends_at_its_byte_limit(crawls):
    crawls.start("small", max_bytes=200, depth=3)

    crawls.harness.crawl(["http://a.test/"], EnqueueOptions(depth=3, crawl="small"))

    assert crawls.registry.get("small").state is CrawlPhase.ENDED
    assert crawls.of("small").is_exact


def test_links_are_followed_within_the_scope_of_the_crawl(crawl_harness):
    links = b"".join(
        b'<a href="%s">x</a>' % url
        for url in (
            b"/docs/a",
            b"/docs/print?x=1",
            b"/blog",
            b"http://b.test/docs/b",
            b"http://c.test/",
        )
    )
    harness = crawl_harness({"/*": page(b"<title>t</title>" + links)}, qps=1000)
    harness.know_rules("a.test", "b.test", "c.test")
    crawls = HarnessCrawls(harness)
    crawls.start(
        "docs",
        depth=1,
        scope=["host:a.test", "host:b.test", "pattern:*/docs/*", "-pattern:*print*"],
    )

    harness.crawl(["http://a.test/docs/"], EnqueueOptions(depth=1, crawl="docs"))
    (out,) = harness.enqueue(["http://c.test/docs/"], EnqueueOptions(crawl="docs"))

    assert sorted(crawls.paths()) == ["/docs/", "/docs/a", "/docs/b"]
    assert (out.status, out.reason) == (
        "out of scope",
        "out of scope: no rule for domains, hosts or prefixes matches",
    )


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("host", ["a.test"]),
        ("domain", ["a.test"]),
        ("pattern", ["http://a.*"]),
        ("url", [f"http://a.test/p{n}" for n in range(10)]),
    ],
)
def test_urls_are_cancelled_for_all_crawls_and_can_be_requested_again(crawls, kind, values):
    harness = crawls.harness
    crawls.start("docs")
    mine = [f"http://a.test/p{n}" for n in range(10)]
    harness.enqueue(mine, EnqueueOptions(crawl="docs"))
    harness.enqueue(mine[:5], EnqueueOptions())
    harness.enqueue(["http://b.test/p1"], EnqueueOptions())
    crawls.registry.cancel(kind, values)
    harness.clock.sleep_s(1.1)

    harness.crawl([], EnqueueOptions())
    assert crawls.paths() == ["/p1"]
    assert crawls.of("docs").outcomes == {"cancelled": 10}
    assert crawls.of("enqueued").outcomes == {"cancelled": 5, "stored": 1}

    harness.crawl(mine[:2], EnqueueOptions(crawl="docs"))
    assert sorted(crawls.paths()) == ["/p0", "/p1", "/p1"]
    assert crawls.of("docs").outcomes == {"cancelled": 10, "stored": 2}


def test_crawl_keeps_its_rate_and_never_exceeds_that_of_the_domain(crawl_harness):
    harness = crawl_harness({"/*": site}, qps=100)
    harness.know_rules("a.test")
    crawls = HarnessCrawls(harness)
    crawls.start("slow", rate=5)

    started_ms = time.monotonic() * 1000

    harness.crawl([f"http://a.test/p{n}" for n in range(4)], EnqueueOptions(crawl="slow"))

    at_ms = [r.monotonic_ms - started_ms for r in harness.origin.seen if r.path != "/robots.txt"]
    assert len(at_ms) == 4
    # Each may arrive late, by more than an interval on a busy machine, but none before its slot.
    assert all(after_ms >= 200 * n - 10 for n, after_ms in enumerate(sorted(at_ms)))


def test_pages_are_marked_with_their_crawl_even_after_a_merge(crawls):
    crawls.start("docs")

    crawls.harness.crawl(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    members = crawls.harness.urls.crawls
    store = crawls.harness.urls
    assert members.among("docs", ["http://a.test/p1", "http://a.test/p2"]) == {"http://a.test/p1"}

    store.aliases.merge("http://a.test/p1", "http://a.test/p9")

    assert members.among("docs", ["http://a.test/p9"]) == {"http://a.test/p9"}


def test_job_without_an_entry_is_not_fetched_after_its_crawl_was_cancelled(crawls):
    harness = crawls.harness
    record = crawls.start("docs")
    harness.enqueue(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    (message,) = harness.sent.messages
    twice = replace(message.message.jobs[0], url="http://a.test/p2")
    crawls.state("docs", CrawlPhase.CANCELLED)

    assert harness.step(message) == []
    assert harness.step(OutgoingMessage(Destination.FETCH, FetchBatch((twice,)))) == []
    assert crawls.paths() == []
    assert crawls.counts.totals([record.number]).outcomes == {"cancelled": 1}


def test_page_stored_before_a_crawl_outlives_it(crawls):
    """Such as pages of version 0.1, whose nodes name no crawl."""
    store, urls = crawls.harness.urls, [f"http://a.test/p{n}" for n in range(3)]
    crawls.harness.crawl(urls[:2], EnqueueOptions())
    store.crawls.remove("enqueued", urls, crawls.harness.clock.now_ms() + 1)
    crawls.start("docs")
    crawls.start("fresh")

    crawls.harness.crawl([urls[0], urls[2]], EnqueueOptions(crawl="docs"))
    crawls.harness.crawl([urls[1]], EnqueueOptions(crawl="fresh", refresh=True))

    kept = {
        url: kept_because(row, name)
        for name in ("docs", "fresh")
        for url, row in store.crawls.walk(name)
    }
    earlier = "it was stored before any crawl"
    assert kept == {urls[0]: earlier, urls[1]: earlier, urls[2]: None}


def test_pages_that_only_one_crawl_has_are_deleted_with_it(crawls):
    crawls.start("docs")
    urls = [f"http://a.test/p{n}" for n in range(3)]
    crawls.harness.crawl(urls, EnqueueOptions(crawl="docs"))
    crawls.harness.urls.put(urls[2], {"page.title": b'"a title of ours"'})

    rows = dict(crawls.harness.urls.crawls.walk("docs"))

    assert {url: kept_because(row, "docs") for url, row in rows.items()} == {
        urls[0]: None, urls[1]: None, urls[2]: "an application wrote its fields",
    }  # fmt: skip


def test_open_domains_are_counted_as_urls_enter_and_leave(crawls):
    crawls.start("docs")
    crawls.start("other")
    number = crawls.registry.get("docs").number
    urls = [f"http://{host}.test/p{n}" for host in "ab" for n in range(3)]
    crawls.harness.enqueue(urls, EnqueueOptions(crawl="docs"))
    crawls.harness.enqueue(urls, EnqueueOptions(crawl="other"))
    before = crawls.counts.open_domains(number)
    crawls.state("other", CrawlPhase.CANCELLED)

    crawls.harness.crawl([], EnqueueOptions())

    assert before == {"a.test": 3, "b.test": 3}
    assert crawls.counts.open_domains(number) == {}
    assert crawls.counts.domains([number]) == {
        "a.test": {"stored": 3}, "b.test": {"stored": 3},
    }  # fmt: skip


def test_unchanged_duplicate_and_failed_pages_are_counted_by_day(crawl_harness):
    def versions(request, _wire):
        if request.path == "/gone":
            return answer(404)
        if request.header("If-None-Match"):
            return answer(304, headers={"ETag": '"1"'})
        if request.path == "/copy":
            return answer(301, headers={"Location": "/home"})
        return answer(200, b"<title>t</title>", headers={"ETag": '"1"'})

    harness = crawl_harness({"/*": versions}, qps=1000)
    harness.know_rules("a.test")
    crawls = HarnessCrawls(harness)
    crawls.start("docs")
    urls = [f"http://a.test/{name}" for name in ("home", "copy", "gone")]
    harness.crawl(urls, EnqueueOptions(crawl="docs"))

    harness.crawl([urls[0]], EnqueueOptions(crawl="docs", refresh=True))

    counts = crawls.of("docs")
    assert counts.outcomes == {"stored": 3, "gone: 404": 1}
    assert counts.notes == {"duplicate": 1, "unchanged": 1}
    days = crawls.counts.days([crawls.registry.get("docs").number])
    assert [dict(day) for day in days.values()] == [{("a.test", "gone: 404"): 1}]


def test_target_of_a_redirect_in_the_same_crawl_is_deleted_with_it(crawl_harness):
    """`crawl delete` kept it because "it was stored before any crawl"."""

    def site(request, _wire):
        if request.path == "/old":
            return answer(301, headers={"Location": "/about"})
        return answer(200, b"<title>t</title>")

    harness = crawl_harness({"/*": site}, qps=1000)
    harness.know_rules("a.test")
    crawls = HarnessCrawls(harness)
    crawls.start("docs")

    harness.crawl(["http://a.test/about", "http://a.test/old"], EnqueueOptions(crawl="docs"))

    rows = dict(harness.urls.crawls.walk("docs"))
    assert {url: kept_because(row, "docs") for url, row in rows.items()} == {
        "http://a.test/about": None
    }


@dataclass
class Sink:
    """Keeps the records of an export."""

    urls: list[str] = field(default_factory=list)

    def write(self, records):
        self.urls += [record.url for record in records]

    def close(self):
        pass


def test_export_of_a_crawl_has_exactly_its_pages(crawls):
    for name, pages in {"docs": (0, 1, 2), "news": (2, 3)}.items():
        crawls.start(name)
        urls = [f"http://a.test/p{n}" for n in pages]
        crawls.harness.crawl(urls, EnqueueOptions(crawl=name))
    crawls.harness.crawl(["http://a.test/p4", "http://a.test/gone"], EnqueueOptions())

    exported = {}
    for name in ("docs", "news", "none"):
        export_urls(crawls.harness.urls.zen, sink := Sink(), NodeSelection(crawl=name))
        exported[name] = sorted(url.removeprefix("http://a.test/") for url in sink.urls)

    assert exported == {"docs": ["p0", "p1", "p2"], "news": ["p2", "p3"], "none": []}


@pytest.mark.parametrize(("nofollow", "expected"), [(False, ["/"]), (True, ["/", "/a"])])
def test_nofollow_links_are_followed_only_if_set(crawl_harness, nofollow, expected):
    home = page(b'<title>t</title><a rel="nofollow" href="/a">x</a>')
    harness = crawl_harness({"/": home, "/a": page(b"<title>a</title>")}, qps=1000)
    harness.know_rules("a.test")
    crawls = HarnessCrawls(harness)
    crawls.start("docs", depth=1, nofollow=not nofollow)
    crawls.start("docs", nofollow=nofollow)

    harness.crawl(["http://a.test/"], EnqueueOptions(crawl="docs"))

    assert sorted(crawls.paths()) == expected
