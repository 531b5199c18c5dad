"""Entries of the in-flight set: their size, and entries written by an earlier version."""

import pytest

from aragog.crawl.pipeline.in_flight import NAMED_ENTRY_TTL_S, InFlightSet, expiry_s
from aragog.crawl.pipeline.in_flight_values import Mark, MarkingCrawl, NextCrawl, UrlEnding
from aragog.crawl.shared_redis.leases import field

pytestmark = pytest.mark.redis
URL = "http://a.example/"
DOCS, NEWS = MarkingCrawl(101, depth=3), MarkingCrawl(202, depth=2)


@pytest.fixture
def in_flight(redis_client):
    return InFlightSet(redis_client, prefix="entries:")


def test_second_crawl_adds_at_most_16_bytes_to_a_waiting_url(in_flight, redis_client):
    urls = [f"http://www.site-{n % 10}.example/articles/{n}" for n in range(2_000)]

    def size() -> int:
        return redis_client.memory_usage("entries:in_flight", samples=0)

    in_flight.mark(urls, for_crawl=DOCS)
    in_flight.confirm(urls)
    of_one = size()
    assert set(in_flight.mark(urls, for_crawl=NEWS)) == {Mark.JOINED}

    assert size() - of_one <= 16 * len(urls)


def test_entry_expires_when_its_crawl_sets_it_to(in_flight, redis_client):
    in_flight.mark([URL], for_crawl=DOCS)
    in_flight.confirm([URL])

    now_s = redis_client.time()[0]
    entry = redis_client.hget("entries:in_flight", field(URL))
    assert abs(expiry_s(entry) - now_s - NAMED_ENTRY_TTL_S) <= 2


def test_entries_with_decimal_times_are_still_read(in_flight, redis_client):
    now_s = redis_client.time()[0]
    redis_client.hset("entries:in_flight", field(URL), f"{now_s + NAMED_ENTRY_TTL_S}:101")
    expired = "http://b.example/"
    redis_client.hset("entries:in_flight", field(expired), f"{now_s - 1}:101")

    assert in_flight.intersection([URL, expired]) == {URL}
    assert in_flight.sweep().expired == 1
    assert in_flight.mark([URL], for_crawl=DOCS) == [Mark.WAITING]
    assert in_flight.mark([URL], for_crawl=NEWS) == [Mark.JOINED]
    assert in_flight.end([UrlEnding(URL, 101, "stored")]) == [NextCrawl(202, 2)]
    assert in_flight.end([UrlEnding(URL, 202, "stored")]) == [None]
    assert in_flight.count() == 0
