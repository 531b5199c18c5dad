"""A run learns which URLs the workers enqueued for it."""

import pytest

from aragog.pipeline.followed_urls import FollowedUrls
from aragog.pipeline.in_flight import InFlightSet
from aragog.redis_kit.connect import connect

pytestmark = pytest.mark.redis


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as opened:
        yield opened


def test_urls_are_given_once_to_the_run_that_they_were_enqueued_for(client):
    followed = FollowedUrls(client, prefix="t1:")
    one, other = followed.begin(), followed.begin()
    followed.note(one, ["http://a.test/1", "http://a.test/ü"])
    followed.note(other, ["http://b.test/"])

    assert followed.take(one) == ["http://a.test/1", "http://a.test/ü"]
    assert followed.take(one) == []
    followed.note(one, ["http://a.test/2"])
    assert followed.take(one) == ["http://a.test/2"]
    assert followed.take(other) == ["http://b.test/"]


def test_nothing_is_kept_for_calls_that_nobody_waits_for(client):
    followed = FollowedUrls(client, prefix="t2:")
    ended = followed.begin()
    followed.end(ended)

    followed.note(ended, ["http://a.test/"])
    followed.note("order-4711", ["http://a.test/"])

    assert client.keys("t2:*") == []


def test_urls_in_flight_are_told_from_others_in_one_call(client):
    in_flight = InFlightSet(client, prefix="t3:")
    urls = [f"http://a.test/{n}" for n in range(5)]
    in_flight.mark(urls[:3])
    in_flight.confirm(urls[:3])
    in_flight.clear(urls[:1])

    assert in_flight.among(urls) == set(urls[1:3])
    assert in_flight.among([]) == set()
