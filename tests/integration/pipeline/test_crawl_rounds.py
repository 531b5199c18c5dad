"""Crawls that repeat by a schedule, on a real Redis and an origin that answers 304."""

from collections import Counter

import pytest

from aragog.crawl.pipeline.crawl_records import CrawlPhase
from aragog.crawl.stages.crawl_rounds import CrawlRounds
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from tests.support.crawl_harness import HarnessCrawls
from tests.support.origin import answer

pytestmark = pytest.mark.redis


class Site:
    """A home page with three pages; the ETag of each is its version, which a test may change."""

    def __init__(self):
        self.versions = Counter()
        self.statuses = []

    def __call__(self, request, _wire):
        path = request.path
        etag = f'"{self.versions[path]}"'
        is_same = request.header("If-None-Match") == etag
        self.statuses.append((path, 304 if is_same else 200))
        if is_same:
            return answer(304, headers={"ETag": etag})
        links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(3)) if path == "/" else ""
        body = f"<title>{path} {etag}</title>{links}".encode()
        return answer(200, body, content_type="text/html", headers={"ETag": etag})


@pytest.fixture
def site():
    return Site()


@pytest.fixture
def crawls(crawl_harness, site):
    harness = crawl_harness({"/*": site}, qps=1000)
    harness.know_rules("a.test")
    return HarnessCrawls(harness)


def rounds_of(crawls) -> CrawlRounds:
    return crawls.harness.pipeline.maintenance.rounds


def make_due(crawls, name):
    record = crawls.registry.get(name)
    crawls.registry.update_fields(record, next_round_ms=crawls.registry.read().now_ms)


def test_scheduled_crawl_repeats_with_conditional_requests(crawls, site):
    crawls.start("docs", depth=1, every_s=86_400)
    crawls.harness.crawl(["http://a.test/"], EnqueueOptions(crawl="docs"))
    first = list(site.statuses)
    rounds_of(crawls).run()
    assert site.statuses == first, "it is not due yet"
    site.statuses.clear()
    site.versions["/p1"] = 1
    make_due(crawls, "docs")

    rounds_of(crawls).run()
    crawls.harness.crawl([], EnqueueOptions())

    assert sorted(first) == [("/", 200), ("/p0", 200), ("/p1", 200), ("/p2", 200)]
    assert sorted(site.statuses) == [("/", 304), ("/p0", 304), ("/p1", 200), ("/p2", 304)]
    record = crawls.registry.get("docs")
    assert (record.round, record.is_seeding) == (1, False)
    assert 86_300_000 < record.next_round_ms - crawls.registry.read().now_ms <= 86_400_000
    assert crawls.of("docs").outcomes == {"stored": 8}
    assert crawls.of("docs").is_exact


def test_round_killed_while_enqueuing_seeds_enqueues_all_of_them(crawls, site):
    crawls.start("docs", every_s=60)
    seeds = [f"http://a.test/p{n}" for n in range(3)]
    crawls.harness.crawl(seeds, EnqueueOptions(crawl="docs"))
    site.statuses.clear()
    record = crawls.registry.get("docs")
    crawls.registry.update_fields(record, round=1, is_seeding=True)

    rounds_of(crawls).run()
    rounds_of(crawls).run()
    crawls.harness.crawl([], EnqueueOptions())

    assert sorted(path for path, _ in site.statuses) == ["/p0", "/p1", "/p2"]
    assert crawls.registry.get("docs").is_seeding is False
    assert crawls.of("docs").is_exact


@pytest.mark.parametrize("state", [CrawlPhase.PAUSED, CrawlPhase.CANCELLED])
def test_paused_or_cancelled_crawl_is_not_repeated(crawls, site, state):
    crawls.start("docs", every_s=60)
    crawls.harness.crawl(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    make_due(crawls, "docs")
    crawls.state("docs", state)
    site.statuses.clear()

    rounds_of(crawls).run()

    assert crawls.harness.sent.messages == []
    assert crawls.registry.get("docs").round == 0


def test_rounds_do_not_overlap(crawls):
    crawls.start("docs", every_s=60)
    crawls.harness.enqueue(["http://a.test/p1"], EnqueueOptions(crawl="docs"))
    make_due(crawls, "docs")

    rounds_of(crawls).run()
    assert crawls.registry.get("docs").round == 0

    crawls.harness.crawl([], EnqueueOptions())
    rounds_of(crawls).run()
    assert crawls.registry.get("docs").round == 1


def test_limits_apply_to_each_round(crawls, site):
    crawls.start("docs", depth=1, every_s=60, max_urls=2, max_urls_per_host=3)
    crawls.harness.crawl(["http://a.test/"], EnqueueOptions(crawl="docs"))
    assert len(site.statuses) == 2
    for round_number in (1, 2):
        make_due(crawls, "docs")
        rounds_of(crawls).run()
        crawls.harness.crawl([], EnqueueOptions())
        assert len(site.statuses) == 2 * (round_number + 1)


def test_round_ends_at_its_byte_limit_and_the_next_one_starts(crawls, site):
    crawls.start("docs", depth=1, every_s=60, max_bytes=1)
    crawls.harness.crawl(["http://a.test/"], EnqueueOptions(crawl="docs"))
    before, requests = crawls.of("docs"), len(site.statuses)
    site.versions["/"] = 1
    make_due(crawls, "docs")

    rounds_of(crawls).run()
    crawls.harness.crawl([], EnqueueOptions())

    assert before.waiting == 0
    assert crawls.registry.get("docs").state is CrawlPhase.RUNNING
    assert len(site.statuses) > requests
    assert crawls.of("docs").is_exact


def test_restarted_crawl_gets_its_byte_limit_again(crawls, site):
    crawls.start("docs", max_bytes=100)
    urls = [f"http://a.test/p{n}" for n in range(9)]
    crawls.harness.crawl(urls, EnqueueOptions(crawl="docs"))
    first = len(site.statuses)
    crawls.start("docs", max_bytes=100)

    crawls.harness.crawl([f"http://a.test/q{n}" for n in range(9)], EnqueueOptions(crawl="docs"))

    assert len(site.statuses) - first > 1
    assert crawls.of("docs").is_exact


def test_seeds_and_links_inherit_priority_purposes_and_depth(crawls):
    crawls.start("docs", depth=3, priority=1, purposes="ai-input search")

    crawls.harness.enqueue(["http://a.test/"], EnqueueOptions(crawl="docs"))

    (message,) = crawls.harness.sent.messages
    (job,) = message.message.jobs
    assert (job.depth, job.priority, job.purposes) == (3, 1, "ai-input search")
    assert message.priority == 1
