"""A run learns which URLs the workers enqueued for it."""

from itertools import dropwhile, islice

import pytest

from aragog.crawl.pipeline.followed_urls import FollowedUrl, FollowedUrls
from aragog.crawl.pipeline.in_flight import InFlightSet
from pinlater.redis.connect import connect

pytestmark = pytest.mark.redis


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as opened:
        yield opened


def test_urls_are_returned_once_to_the_run_that_they_were_enqueued_for(client):
    followed = FollowedUrls(client, prefix="t1:")
    one, other = followed.create_list(), followed.create_list()
    followed.add_enqueued(one, ["http://a.test/1", "http://a.test/ü"], 2)
    followed.add_enqueued(other, ["http://b.test/"], 0)

    assert followed.take(one) == [
        FollowedUrl("http://a.test/1", 2),
        FollowedUrl("http://a.test/ü", 2),
    ]
    assert followed.take(one) == []
    followed.add_enqueued(one, ["http://a.test/2"], 1)
    assert followed.take(one) == [FollowedUrl("http://a.test/2", 1)]
    assert followed.take(other) == [FollowedUrl("http://b.test/")]


def test_nothing_is_kept_for_calls_without_a_waiting_run(client):
    followed = FollowedUrls(client, prefix="t2:")
    ended = followed.create_list()
    followed.delete_list(ended)

    followed.add_enqueued(ended, ["http://a.test/"], 1)
    followed.add_enqueued("order-4711", ["http://a.test/"], 1)
    followed.add_in_flight("order-4711", ["http://a.test/"], 1)

    assert client.keys("t2:*") == []


def test_urls_in_flight_are_found_in_one_call(client):
    in_flight = InFlightSet(client, prefix="t3:")
    urls = [f"http://a.test/{n}" for n in range(5)]
    in_flight.mark(urls[:3])
    in_flight.confirm(urls[:3])
    in_flight.clear(urls[:1])

    assert in_flight.intersection(urls) == set(urls[1:3])
    assert in_flight.intersection([]) == set()


def test_urls_already_in_flight_are_named_once_per_depth(client):
    followed = FollowedUrls(client, prefix="t4:")
    run = followed.create_list()

    for depth in (1, 1, 2):
        followed.add_in_flight(run, ["http://a.test/"], depth)

    assert followed.take(run) == [
        FollowedUrl("http://a.test/", depth, was_in_flight=True) for depth in (1, 2)
    ]


def test_list_of_a_version_0_1_worker_can_be_read(client):
    followed = FollowedUrls(client, prefix="t5:")
    run = followed.create_list()

    client.rpushx(f"t5:followed:{run}", "http://a.test/")

    assert followed.take(run) == [FollowedUrl("http://a.test/")]


def written_together(client, write):
    """The first commands of the next transaction that `write` sends."""
    with client.monitor() as monitor:
        write()
        named = (each["command"].split()[0].upper() for each in monitor.listen())
        return list(islice(dropwhile(lambda name: name != "MULTI", named), 3))


def test_killed_run_leaves_no_list_without_expiry(client):
    followed = FollowedUrls(client, prefix="t9:")

    assert written_together(client, followed.create_list) == ["MULTI", "RPUSH", "EXPIRE"]
