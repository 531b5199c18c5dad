"""A blocked stage stops fetching before the spool is full, and nothing is requested twice."""

from collections import Counter
from dataclasses import dataclass

import pytest
import redis

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from pinlater.admin import Admin
from tests.support.origin import Origin, answer, page
from tests.support.standalone import Standalone, standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

SPOOL = 500_000
URLS = 80
"""More than the 64 that fill the spool. The others are retried ten seconds later."""
WORDS = " ".join(str(n * n * 2_654_435_761) for n in range(900)).encode()


def article(request, _wire):
    if request.path == "/robots.txt":
        return answer(404)
    return page(f"<!doctype html><title>{request.host}{request.path}</title><p>".encode() + WORDS)


@dataclass
class Crawl:
    """A system, its client and its queues."""

    system: Standalone
    origin: Origin
    client: Aragog
    admin: Admin
    redis: redis.Redis

    def spool_bytes(self):
        return int(self.redis.hget("aragog:spool", "bytes") or 0)

    def held_back(self):
        """Whether fetching has stopped by itself: nothing runs although there is work."""
        sizes = self.admin.status("fetch").sizes
        closed = self.redis.hget("aragog:spool", "closed")
        return closed and sizes.due and not sizes.running

    def stored(self, urls):
        """The number of URLs that have their content."""
        store = url_store(self.system.settings)
        try:
            return sum(bool(r and r.content_key) for r in store.get_many(urls, fields=[]))
        finally:
            store.close()

    def count_requests(self, name):
        """Count the requests for each page, on hosts whose names end in `name`."""
        pages = (r for r in self.origin.seen if r.path != "/robots.txt")
        return Counter(r.host + r.path for r in pages if r.host.endswith(f"{name}.test"))


@pytest.fixture(scope="module")
def crawl():
    """One system with a small spool for all tests here; each test has its own hosts."""
    with Origin({"/*": article}) as origin:
        environ = {
            "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
            "ARAGOG_PIPELINE__SPOOL_MAX_BYTES": str(SPOOL),
        }
        with standalone(environ) as system, Aragog(system.settings) as client:
            resolved = system.settings.resolved()
            admin = Admin.connect(resolved.broker.url)
            with redis.Redis.from_url(resolved.redis.url) as connection:
                yield Crawl(system, origin, client, admin, connection)


def urls_of(name):
    return [f"http://h{n}-{name}.test/" for n in range(URLS)]


@pytest.mark.parametrize("stage", ["canonicalize", "store"])
def test_fetching_stops_by_itself_while_a_later_stage_is_blocked(crawl, stage):
    urls = urls_of(stage)
    crawl.admin.pause(stage)
    crawl.client.enqueue(urls)
    wait_until(crawl.held_back)
    assert len(crawl.count_requests(stage)) < len(urls)
    assert crawl.spool_bytes() <= SPOOL

    crawl.admin.resume(stage)
    crawl.system.finish(crawl.client)

    assert crawl.stored(urls) == len(urls)
    assert set(crawl.count_requests(stage).values()) == {1}
    assert len(crawl.count_requests(stage)) == len(urls)
    assert crawl.spool_bytes() == 0


def test_urgent_url_is_stored_while_ordinary_ones_wait_for_space(crawl):
    urls, before = urls_of("urgent"), crawl.client.counters()["stored"]
    crawl.admin.pause("canonicalize")
    crawl.client.enqueue(urls)
    wait_until(crawl.held_back)
    crawl.client.enqueue(["http://now.test/"], priority=0)
    wait_until(lambda: crawl.count_requests("now"))
    wait_until(lambda: crawl.admin.status("canonicalize").sizes.by_priority[0])

    # It is ahead of everything that waits for canonicalize and is processed first.
    crawl.admin.resume("canonicalize")
    counts = []

    def is_stored():
        counts.append(crawl.client.counters()["stored"] - before)
        return crawl.stored(["http://now.test/"])

    wait_until(is_stored)
    # A busy machine may store the others before the next check, too.
    assert counts[-1] < len(urls)
    crawl.system.finish(crawl.client)


def test_full_redis_fails_no_job_and_the_crawl_continues_when_space_is_free(crawl):
    urls, before = urls_of("full"), crawl.client.counters()["stored"]
    crawl.client.enqueue(urls)
    wait_until(lambda: crawl.client.counters()["stored"] - before > 25)
    crawl.redis.config_set("maxmemory", 1)
    refused = commands_refused(crawl.redis)
    # Fetched pages are stored although nothing new is accepted, and refused jobs are retried.
    wait_until(lambda: crawl.spool_bytes() == 0)
    wait_until(lambda: commands_refused(crawl.redis) > refused)
    crawl.redis.config_set("maxmemory", 0)
    crawl.system.finish(crawl.client)

    assert crawl.stored(urls) == len(urls)
    failed = {q: crawl.admin.status(q).sizes.failed for q in crawl.admin.queues()}
    assert set(failed.values()) == {0}, failed


def commands_refused(connection):
    """The number of commands that the server has refused because its memory is full."""
    return int(connection.info("errorstats").get("errorstat_OOM", {}).get("count", 0))


def test_other_domains_do_not_wait_for_the_first_urls_of_a_large_one(crawl):
    # The last test here, because the system stops before it has crawled the large domain.
    large = [f"http://large.test/{n}" for n in range(30_000)]
    others = [f"http://o{n}-other.test/" for n in range(50)]
    crawl.admin.pause("fetch")
    crawl.client.enqueue(large)
    crawl.client.enqueue(others)
    crawl.admin.resume("fetch")
    wait_until(lambda: crawl.stored(others) == len(others), 300, every_s=0.5)

    # Messages of the large domain that were not processed yet.
    assert crawl.admin.status("fetch").sizes.by_priority[6] > 0
    # Its own slots are used in the meantime, once each.
    of_large = crawl.count_requests("large")
    assert of_large
    assert set(of_large.values()) == {1}
