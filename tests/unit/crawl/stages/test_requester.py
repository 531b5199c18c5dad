"""A bug during a fetch becomes the outcome of that fetch; an outage fails the whole batch."""

import logging

import pytest

from aragog.crawl.stages.requester import run_fetch
from aragog.errors import LimiterUnavailable
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.clock import ManualClock
from tests.support.stores import NOW_MS

URL, NEXT = "http://a.example/", "http://a.example/next"


def failing(error):
    def fetch():
        raise error

    return fetch


def run(fetch):
    return run_fetch(fetch, url=URL, next_url=NEXT, clock=ManualClock(NOW_MS))


def test_internal_error_becomes_an_outcome_and_is_logged(caplog):
    with caplog.at_level(logging.ERROR):
        outcome = run(failing(KeyError("x")))

    assert (outcome.kind, outcome.reason) == (UnreachableKind.INTERNAL, "KeyError: 'x'")
    assert (outcome.url, outcome.final_url, outcome.fetched_at_ms) == (URL, NEXT, NOW_MS)
    assert NEXT in caplog.text


def test_outage_is_raised():
    with pytest.raises(LimiterUnavailable):
        run(failing(LimiterUnavailable("limiter", "is unavailable")))


def test_outcome_is_passed_on():
    assert run(lambda: "outcome") == "outcome"
