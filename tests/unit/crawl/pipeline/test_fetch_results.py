"""Fetch results as passed to the next stage."""

import hashlib

import pytest

from aragog.crawl.pipeline.fetch_results import make_result, result_without_fetch
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.packed_body import pack
from aragog.fetch_record import outcome as o
from tests.support.memory_ports import fetched

URL, NEXT = "http://a.example/", "http://b.example/"
JOB = UrlJob(url=URL)


def test_page_has_its_token_and_the_hash_and_size_of_its_body():
    page = fetched(URL, "<p>text")

    result = make_result(JOB, page, "token", pack(page.body))

    assert (result.fetch.outcome, result.token) == (o.OutcomeKind.FETCHED, "token")
    assert result.body_hash == hashlib.sha256(page.body).hexdigest()
    assert (result.fetch.body_bytes, result.fetch.content_type) == (7, "text/html")


@pytest.mark.parametrize(
    "outcome",
    [
        o.Refused(url=URL, cause=o.RefusalCause.ROBOTS, reason="why"),
        o.Blocked(url=URL, cause=o.RefusalCause.ADDRESS, reason="why"),
        o.Gone(url=URL, status=404, reason="why"),
        o.Unreachable(url=URL, kind=o.UnreachableKind.DNS, reason="why"),
        o.TooLarge(url=URL, reason="why"),
    ],
    ids=lambda outcome: type(outcome).__name__,
)
def test_other_outcomes_have_a_reason_and_no_body(outcome):
    result = make_result(JOB, outcome, "token")

    assert result.fetch.outcome is outcome.outcome
    assert (result.fetch.status, result.fetch.reason) == (outcome.status, "why")
    assert (result.token, result.body_hash, result.fetch.body_bytes) == (None, None, 0)


def test_final_url_defaults_to_the_requested_one():
    assert make_result(JOB, o.NotModified(url=URL)).fetch.final_url == URL
    assert make_result(JOB, o.NotModified(url=URL, final_url=NEXT)).fetch.final_url == NEXT


def test_times_are_kept_in_tenths_of_a_millisecond():
    times = {"dns_ms": None, "connect_ms": 1.26, "first_byte_ms": 3.04, "total_ms": 9.99}

    fetch = make_result(JOB, o.NotModified(url=URL, **times)).fetch

    assert [getattr(fetch, name) for name in times] == [None, 1.3, 3.0, 10.0]


def test_refused_url_keeps_the_redirects_that_led_to_it():
    hops = (o.Hop(URL, 301, NEXT),)

    result = result_without_fetch(
        UrlJob(url=URL, target=NEXT, hops=hops), o.OutcomeKind.REFUSED, "why", 7
    )

    assert (result.fetch.final_url, result.fetch.hops) == (NEXT, hops)
    assert (result.fetch.outcome, result.fetch.reason) == (o.OutcomeKind.REFUSED, "why")
    assert (result.fetch.fetched_at_ms, result.fetch.status, result.token) == (7, None, None)
