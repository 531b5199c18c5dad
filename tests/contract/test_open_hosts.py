"""
Breadth-first crawls: a limited number of hosts is open, and each gets a turn before any gets two.
"""

from collections import Counter

import pytest

from aragog.crawl.politeness.open_hosts import TURN_URLS, OpenHosts, SentUrls
from tests.support.waiting import wait_until

CRAWL, MAX_OPEN = 12, 3
HOSTS = [f"h{n}.com" for n in range(10)]


@pytest.fixture
def places(redis_client):
    return OpenHosts(redis_client, prefix="t:", tail_ms=0)


def test_open_hosts_are_limited(places):
    assert places.open(CRAWL, MAX_OPEN, HOSTS[:5]) == (set(HOSTS[:3]), [])
    assert places.open(CRAWL, MAX_OPEN, HOSTS) == (set(HOSTS[:3]), [])
    assert places.open(CRAWL + 1, MAX_OPEN, HOSTS[5:]).open == set(HOSTS[5:8])


def test_place_of_an_empty_host_goes_to_the_one_that_waited_longest(places):
    places.open(CRAWL, MAX_OPEN, HOSTS)

    places.report_sent(CRAWL, [SentUrls("h1.com", 1, is_empty=True)])

    found = []
    wait_until(lambda: found.extend(places.open(CRAWL, MAX_OPEN, []).others) or found)
    assert found == ["h3.com"]


def test_empty_host_keeps_its_place_until_its_requests_end(redis_client):
    places = OpenHosts(redis_client, prefix="t:", tail_ms=60_000)
    places.open(CRAWL, MAX_OPEN, HOSTS)

    places.report_sent(CRAWL, [SentUrls("h1.com", 1, is_empty=True)])

    assert places.open(CRAWL, MAX_OPEN, []).others == []


def test_huge_host_gives_way_after_its_turn(places):
    places.open(CRAWL, 1, ["large.com", "small.com"])
    places.report_sent(CRAWL, [SentUrls("large.com", TURN_URLS - 1, is_empty=False)])
    assert places.open(CRAWL, 1, ["large.com", "small.com"]).open == {"large.com"}

    places.report_sent(CRAWL, [SentUrls("large.com", 1, is_empty=False)])

    wait_until(lambda: places.open(CRAWL, 1, ["large.com", "small.com"]).open == {"small.com"})
    places.report_sent(CRAWL, [SentUrls("small.com", 1, is_empty=True)])
    wait_until(lambda: places.open(CRAWL, 1, ["large.com"]).open == {"large.com"})


def test_every_host_gets_one_turn_before_any_gets_two(places):
    turns = Counter()
    for _ in range(3 * len(HOSTS)):
        opened = []
        wait_until(lambda opened=opened: opened.extend(places.open(CRAWL, 1, HOSTS).open) or opened)
        (host,) = opened
        turns[host] += 1
        places.report_sent(CRAWL, [SentUrls(host, TURN_URLS, is_empty=False)])
        assert max(turns[h] for h in HOSTS) - min(turns[h] for h in HOSTS) <= 1


def test_host_stays_open_if_no_others_wait(places):
    places.open(CRAWL, 2, HOSTS[:2])

    places.report_sent(CRAWL, [SentUrls(HOSTS[0], 10 * TURN_URLS, is_empty=False)])

    assert places.open(CRAWL, 2, HOSTS[:2]).open == set(HOSTS[:2])


def test_places_of_a_dead_process_are_freed(places, redis_client):
    places.open(CRAWL, MAX_OPEN, HOSTS)

    redis_client.zadd("t:hosts:12:open", dict.fromkeys(HOSTS[:3], 1))  # ten seconds later

    assert places.open(CRAWL, MAX_OPEN, []).others == HOSTS[3:6]
