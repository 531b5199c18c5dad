"""The checks of the fleet detect violations."""

from tests.chaos.origin import Arrival
from tests.fleet.laws import early_requests

PLAIN, DELAYED, BUSY = "d0-fleet.test", "d1-fleet.test", "d3-fleet.test"


def requests(host, *at_ms, path="/0", status=200):
    return [Arrival(at, host, path, status) for at in at_ms]


def test_request_within_the_interval_is_a_short_gap():
    assert list(early_requests(requests(PLAIN, 0.0, 500.0, 990.0))) == [
        f"{PLAIN}/0 came 490.0 ms after /0",
    ]


def test_crawl_delay_counts_from_the_first_page():
    rules = requests(DELAYED, 0.0, path="/robots.txt")

    assert not list(early_requests(rules + requests(DELAYED, 500.0, 1500.0)))
    assert len(list(early_requests(rules + requests(DELAYED, 500.0, 1200.0)))) == 1


def test_request_during_the_pause_after_a_503_is_early():
    turned_away = requests(BUSY, 0.0, path="/9", status=503)

    assert not list(early_requests(turned_away + requests(BUSY, 5000.0)))
    assert list(early_requests(turned_away + requests(BUSY, 2500.0))) == [
        f"{BUSY}/0 came 2498 ms before the end of a Retry-After"
    ]
