"""Entries of sitemaps over ports in memory: walks, and entries that have changed."""

import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aragog.crawl.pipeline.crawl_records import REFRESHED
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.sitemap_reading import MAX_NEW_FILES
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.refresh_policy import Seen
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

A = "http://www.shop.test/"
SAME, OTHER = "http://www.shop.test/p", "http://other.test/p"


def result(**job):
    return fetch_result(
        job=UrlJob(url=A, **job), outcome=OutcomeKind.FETCHED, final_url=A, fetched_at_ms=NOW_MS
    )


def at(ms):
    """That instant as a lastmod."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def sitemap(*entries):
    items = "".join(f"<url><loc>{url}</loc><lastmod>{at}</lastmod></url>" for url, at in entries)
    return f"<urlset>{items}</urlset>".encode()


@pytest.mark.parametrize("chunk", [1, 2, 500])
def test_sitemap_enqueues_new_and_changed_urls(ports, chunk):
    unknown, stored, changed = SAME, f"{SAME}/stored", f"{SAME}/changed"
    ports.store.write_pages(
        [page(url, facts={"fetched_at_ms": NOW_MS}, content=body("x")) for url in (stored, changed)]
    )
    discovery = replace(ports.discovery, chunk=chunk)
    ports.clock.advance_ms(3_600_000)
    entries = ((unknown, "2020-01-01"), (stored, "2020-01-01"), (changed, at(NOW_MS + 60_000)))

    count = discovery.sitemaps.read(result(), sitemap(*entries, (OTHER, "2020-01-01"))).enqueued

    assert (count, set(ports.sent.urls())) == (2, {unknown, changed})


def test_unreadable_filter_accepts_nothing(ports):
    count = ports.discovery.sitemaps.read(
        result(url_filter="{"), sitemap((SAME, "2020-01-01"))
    ).enqueued

    assert (count, ports.sent.urls()) == (0, [])


DAY_MS = 86_400_000


def walked_at(ports, now_ms, lastmod):
    """Whether a walk at `now_ms` fetches a page last seen at NOW_MS."""
    ports.clock.advance_ms(now_ms - ports.clock.now_ms())
    return ports.discovery.sitemaps.read(result(), sitemap((SAME, lastmod))).enqueued == 1


def test_future_lastmod_makes_no_page_due(ports):
    ports.store.write_pages([page(SAME, facts={"fetched_at_ms": NOW_MS}, content=body("x"))])

    assert not any(
        walked_at(ports, NOW_MS + minutes * 60_000, lastmod)
        for minutes in (0, 1, 60)
        for lastmod in ("2100-01-01", "2100", at(NOW_MS + DAY_MS))
    )


def test_date_without_a_time_counts_to_the_end_of_that_day(ports):
    ports.store.write_pages([page(SAME, facts={"fetched_at_ms": NOW_MS}, content=body("x"))])
    day = at(NOW_MS)[:10]
    midnight_ms = NOW_MS - NOW_MS % DAY_MS + DAY_MS

    assert not walked_at(ports, midnight_ms - 1_000, day)
    assert walked_at(ports, midnight_ms, day)


INDEX_A, INDEX_B, PAGES = A + "a.xml", A + "b.xml", A + "pages.xml"


def index(*urls):
    items = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{items}</sitemapindex>".encode()


FILES = {
    INDEX_A: index(INDEX_B, PAGES),
    INDEX_B: index(INDEX_A, PAGES, INDEX_B),
    PAGES: sitemap((SAME, "2020-01-01")),
}


def walk(ports, depth=30, request_id="walk"):
    """The requests of a walk that starts at INDEX_A."""
    options = EnqueueOptions(sitemap=True, refresh=True, depth=depth, request_id=request_id)
    list(ports.enqueuer.enqueue([INDEX_A], options))
    requests = []
    while ports.sent.messages:
        for job in ports.sent.messages.pop(0).message.jobs:
            requests.append(job.url)
            ports.in_flight.clear([job.url])
            if job.sitemap:
                fetched = replace(result(), job=job)
                fetched = replace(fetched, fetch=replace(fetched.fetch, final_url=job.url))
                ports.discovery.sitemaps.read(fetched, FILES[job.url])
    return requests


def test_two_indexes_that_list_each_other_are_requested_once_each(ports):
    assert sorted(walk(ports)) == sorted([INDEX_A, INDEX_B, PAGES, SAME])


def test_later_call_with_the_same_request_id_walks_again(ports):
    assert sorted(walk(ports)) == sorted(walk(ports))


def test_index_read_twice_enqueues_its_files_once(ports):
    job = replace(result(sitemap=True, depth=1))

    assert ports.discovery.sitemaps.read(job, FILES[INDEX_A]).enqueued == 2
    ports.in_flight.clear([INDEX_B, PAGES])

    assert ports.discovery.sitemaps.read(job, FILES[INDEX_A]).enqueued == 0


@pytest.mark.parametrize(
    ("setting", "listed"),
    [
        ("sitemap_max_files", index(*(f"{A}{n}.xml" for n in range(9)))),
        ("sitemap_max_urls", sitemap(*((f"{A}{n}", "2020") for n in range(9)))),
    ],
)
def test_sitemap_walk_is_limited_and_logs_the_setting(ports, caplog, setting, listed):
    pipeline = replace(ports.settings.pipeline, **{setting: 5})
    discovery = replace(ports.discovery, settings=replace(ports.settings, pipeline=pipeline))
    caplog.set_level(logging.WARNING)

    first = discovery.sitemaps.read(result(sitemap=True, depth=1), listed).enqueued
    other = UrlJob(url=A + "2.xml", sitemap=True, depth=1)
    second = discovery.sitemaps.read(
        replace(result(), job=other), listed.replace(b".test/", b".test/x")
    ).enqueued

    assert first + second <= 5
    assert first >= 4
    assert f"over the limit pipeline.{setting}" in caplog.text


def reread(**job):
    """The result of a file reread by the refresh schedule."""
    return fetch_result(
        job=UrlJob(url=INDEX_A, sitemap=True, refresh=True, depth=1, crawl=REFRESHED, **job),
        outcome=OutcomeKind.FETCHED,
        final_url=INDEX_A,
        fetched_at_ms=NOW_MS,
        body_hash="a" * 64,
    )


def test_reread_index_adds_its_newest_files_a_few_at_a_time(ports):
    count = MAX_NEW_FILES + 5
    listed = "".join(
        f"<sitemap><loc>http://www.shop.test/{n}.xml</loc><lastmod>{at(NOW_MS - n * 1000)}</lastmod>"
        "</sitemap>"
        for n in reversed(range(count))
    )

    ports.discovery.sitemaps.read(reread(), f"<sitemapindex>{listed}</sitemapindex>".encode())

    newest = {f"http://www.shop.test/{n}.xml" for n in range(MAX_NEW_FILES)}
    assert set(ports.sent.urls()) == newest


def test_unchanged_sitemap_is_not_read_again(ports):
    ports.store.write_pages(
        [
            page(
                INDEX_A,
                NOW_MS - 1000,
                seen=Seen(
                    outcome="Fetched",
                    fetched_at_ms=NOW_MS - 1000,
                    source="sitemap",
                    body_hash="a" * 64,
                ),
                facts={"outcome": "Fetched"},
            )
        ]
    )

    ports.discovery.sitemaps.read(reread(), index("http://www.shop.test/new.xml"))

    assert ports.sent.urls() == []


def test_links_of_entries_obey_the_filter_of_the_call(ports):
    """Regression: in a crawl with a depth, a sitemap entry led to pages matched by `exclude`."""
    wire = UrlFilter(exclude=("*/private/*",)).wire()

    ports.discovery.sitemaps.read(
        result(url_filter=wire, request_id="r"), sitemap((SAME, "2020-01-01"))
    )

    (message,) = ports.sent.messages
    (job,) = message.message.jobs
    assert (job.url, job.url_filter, job.depth, job.refresh) == (SAME, wire, 0, True)
    assert job.request_id == "r"
