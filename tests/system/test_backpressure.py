"""A stage that stands still stops fetching before the spool is full; nothing is asked for twice."""

import time
from collections import Counter

import pytest
import redis

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.pinlater.admin import Admin
from tests.support.origin import Origin, answer, page
from tests.support.standalone import standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOSTS, PAGES = 60, 20
SPOOL = 1_000_000
WORDS = " ".join(str(n * n * 2_654_435_761) for n in range(900)).encode()


def article(request, _wire):
    if request.path == "/robots.txt":
        return answer(404)
    return page(f"<!doctype html><title>{request.host}{request.path}</title><p>".encode() + WORDS)


def environment(origin, **more):
    return {
        "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_PIPELINE__SPOOL_MAX_BYTES": str(SPOOL),
        **more,
    }


class Crawl:
    """A system, its client and its queues."""

    def __init__(self, system, origin):
        self.system, self.origin = system, origin
        resolved = system.settings.resolved()
        self.admin = Admin.connect(resolved.broker.url)
        self.redis = redis.Redis.from_url(resolved.redis.url)

    def spool_bytes(self):
        return int(self.redis.hget("aragog:spool", "bytes") or 0)

    def held_back(self):
        """Fetching has stopped by itself: nothing runs although there is work."""
        sizes = self.admin.status("fetch").sizes
        closed = self.redis.hget("aragog:spool", "closed")
        return closed and sizes.due and not sizes.running

    def stored(self, urls):
        """How many have their content."""
        store = url_store(self.system.settings)
        try:
            return sum(bool(r and r.content_key) for r in store.get_many(urls, fields=[]))
        finally:
            store.close()

    def asked(self):
        """How often each page was asked for."""
        return Counter(r.host + r.path for r in self.origin.seen if r.path != "/robots.txt")


@pytest.mark.parametrize("stage", ["canonicalize", "store"])
def test_fetching_stops_by_itself_while_a_later_stage_stands_still(stage):
    urls = [f"http://h{h}-{stage}.test/{p}" for p in range(PAGES) for h in range(HOSTS)]
    with Origin({"/*": article}) as origin, standalone(environment(origin)) as system:
        crawl = Crawl(system, origin)
        crawl.admin.pause(stage)
        with Aragog(system.settings) as client:
            client.enqueue(urls)
            wait_until(crawl.held_back, 120)
            asked = len(crawl.asked())
            assert asked < len(urls)
            assert crawl.spool_bytes() <= SPOOL

            crawl.admin.resume(stage)
            system.finish(client)
        assert crawl.stored(urls) == len(urls)
        assert set(crawl.asked().values()) == {1}
        assert len(crawl.asked()) == len(urls)
        assert crawl.spool_bytes() == 0


def test_an_urgent_url_is_stored_while_ordinary_ones_wait_for_room():
    urls = [f"http://h{h}-urgent.test/{p}" for p in range(PAGES) for h in range(HOSTS)]
    with Origin({"/*": article}) as origin, standalone(environment(origin)) as system:
        crawl = Crawl(system, origin)
        crawl.admin.pause("canonicalize")
        with Aragog(system.settings) as client:
            client.enqueue(urls)
            wait_until(crawl.held_back, 120)
            client.enqueue(["http://now.test/"], priority=0)
            wait_until(lambda: crawl.asked()["now.test/"], 60)
            wait_until(lambda: crawl.admin.status("canonicalize").sizes.by_priority[0], 60)

            # It stands before everything that waits for canonicalize, and goes before it.
            crawl.admin.resume("canonicalize")
            wait_until(lambda: not client._in_flight.contains("http://now.test/"), 60)
            assert client.counters()["stored"] < len(urls)
            system.finish(client)


def test_a_full_redis_fails_no_job_and_the_crawl_goes_on_when_there_is_room():
    urls = [f"http://h{h}-full.test/{p}" for p in range(10) for h in range(HOSTS)]
    with Origin({"/*": article}) as origin, standalone(environment(origin)) as system:
        crawl = Crawl(system, origin)
        with Aragog(system.settings) as client:
            client.enqueue(urls)
            wait_until(lambda: client.counters().get("stored", 0) > 50, 120)
            crawl.redis.config_set("maxmemory", 1)
            # What was fetched is stored although nothing new is taken.
            wait_until(lambda: crawl.spool_bytes() == 0, 120)
            time.sleep(3)
            crawl.redis.config_set("maxmemory", 0)
            system.finish(client)

        assert crawl.stored(urls) == len(urls)
        failed = {q: crawl.admin.status(q).sizes.failed for q in crawl.admin.queues()}
        assert set(failed.values()) == {0}, failed


def test_other_domains_do_not_wait_for_the_first_visits_of_a_large_one():
    large = [f"http://large.test/{n}" for n in range(30_000)]
    others = [f"http://o{n}-other.test/" for n in range(50)]
    with Origin({"/*": article}) as origin, standalone(environment(origin)) as system:
        crawl = Crawl(system, origin)
        crawl.admin.pause("fetch")
        with Aragog(system.settings) as client:
            client.enqueue(large)
            client.enqueue(others)
            crawl.admin.resume("fetch")
            wait_until(lambda: crawl.stored(others) == len(others), 120)

            # Messages of the large one that nobody has looked at yet.
            assert crawl.admin.status("fetch").sizes.by_priority[6] > 0
        # Its own slots are used meanwhile, once each.
        of_large = [
            r.path for r in origin.seen if r.host == "large.test" and r.path != "/robots.txt"
        ]
        assert of_large
        assert len(of_large) == len(set(of_large))
