"""
Misbehavior that only HTTP/2 allows: an outcome within bounded time, bytes and memory, or no effect
at all.
"""

from __future__ import annotations

import pytest
import requests

from aragog.crawl.fetcher.gate import OpenGate
from aragog.fetch_record import outcome as o
from tests.support.cases import cases
from tests.support.http2_origin import http2_misbehaviour
from tests.support.origin import HELLO, page
from tests.support.tls import client_context
from tests.support.waiting import wait_until


@pytest.fixture
def version():
    return "2"


class _Counting(OpenGate):
    def __init__(self):
        self.permits = []

    def acquire_permit(self, url):
        self.permits.append(url)


@pytest.mark.parametrize(
    ("path", "kind", "reason"),
    cases("""
        /h2/continuations  protocol  CONTINUATION
        /h2/resets         reset     reset by peer: CANCEL
        /h2/refused        reset     reset by peer: REFUSED_STREAM
        /h2/push-resets    protocol  not valid HTTP/2
        /h2/pings          protocol  frames
        /h2/settings       protocol  frames
        /h2/empty-data     protocol  frames with only 0 bytes of the page
        /h2/overflow       protocol  FLOW_CONTROL_ERROR
        /h2/zero-window    protocol  not valid HTTP/2
        /h2/goaway         reset     is closing the connection
        /h2/crlf           protocol  not a valid HTTP/2 response
        /h2/upper          protocol  not a valid HTTP/2 response
        /h2/too-much       protocol  not a valid HTTP/2 response
    """),
)
def test_attack_is_unreachable_with_its_reason(origin, fetcher, path, kind, reason):
    outcome = fetcher.fetch(origin.url(path))

    assert isinstance(outcome, o.Unreachable), outcome
    assert (outcome.kind, reason in outcome.reason) == (kind, True), outcome.reason
    assert len(origin.seen) == 1


@pytest.mark.parametrize("path", ["/h2/hpack-bomb", "/h2/many-headers"])
def test_headers_over_the_cap_after_decompression_are_too_large(origin, fetcher, path):
    assert isinstance(fetcher.fetch(origin.url(path)), o.TooLarge)


def test_each_request_on_a_shared_connection_takes_its_own_permit(origin, fetcher):
    gate = _Counting()

    for _ in range(3):
        outcome = fetcher.fetch(origin.url("/kept"), gate=gate)
        assert (type(outcome), outcome.http_version) == (o.Fetched, "2")

    assert len(gate.permits) == 3
    assert {request.connection for request in origin.seen} == {1}


def test_control_frames_between_data_have_no_effect(origin, fetcher):
    outcome = fetcher.fetch(origin.url("/h2/pause-ping"))

    assert isinstance(outcome, o.Fetched)
    assert (outcome.body, outcome.truncated) == (HELLO, False)


@pytest.mark.parametrize(
    ("path", "connections"), [("/h2/idle-ping", [1, 1]), ("/h2/idle-goaway", [1, 2])]
)
def test_frames_between_requests_decide_whether_the_connection_is_kept(
    origin, fetcher, path, connections
):
    fetcher.fetch(origin.url(path))
    ((idle,),) = fetcher.adapter.connections._idle.values()
    wait_until(lambda: idle._poll.poll(0))

    assert isinstance(fetcher.fetch(origin.url("/kept")), o.Fetched)
    assert [request.connection for request in origin.seen] == connections


def test_body_that_cannot_be_sent_ends_at_the_deadline(origin, fetcher_with):
    with fetcher_with(deadline_s=2.0).session() as session, pytest.raises(requests.Timeout):
        session.post(origin.url("/h2/closed-window"), data=b"x" * 200_000)

    assert origin.seen == []


def test_large_body_is_sent_within_the_window(origin, fetcher):
    with fetcher.session() as session:
        response = session.post(origin.url("/echo"), data=b"x" * 500_000)

    assert response.text.startswith("POST /echo")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/h2/http11", "requires HTTP/1.1"), ("/h2/upper", "not a valid HTTP/2 response")],
)
def test_host_with_broken_http2_gets_http11_from_the_next_request_on(origin, fetcher, path, reason):
    first = fetcher.fetch(origin.url(path))
    second = fetcher.fetch(origin.url("/echo"))

    assert (first.kind, reason in first.reason) == ("protocol", True)
    assert b"\nHost: " in second.body  # HTTP/2 has :authority and lowercase names
    assert [request.path for request in origin.seen] == [path, "/echo"]


def test_refused_request_on_a_kept_connection_is_repeated_on_a_new_one(origin, fetcher):
    gate = _Counting()
    answers = iter([http2_misbehaviour()["/h2/refused"], page(HELLO)])
    origin.handlers["/second"] = lambda request, wire: (
        answer if isinstance(answer := next(answers), bytes) else answer(request, wire)
    )

    fetcher.fetch(origin.url("/kept"))
    outcome = fetcher.fetch(origin.url("/second"), gate=gate)

    assert isinstance(outcome, o.Fetched), outcome
    assert len(gate.permits) == 2
    assert [request.connection for request in origin.seen] == [1, 1, 2]


@pytest.mark.parametrize("path", ["/h2/resets", "/h2/http11"])
def test_processed_request_is_not_repeated(origin, fetcher, path):
    fetcher.fetch(origin.url("/kept"))
    outcome = fetcher.fetch(origin.url(path))

    assert isinstance(outcome, o.Unreachable)
    assert [request.path for request in origin.seen] == ["/kept", path]


def test_host_without_http2_gets_http11(origin, fetcher_with):
    fetcher = fetcher_with(tls=client_context(), http2_hosts=())

    assert b"\nHost: " in fetcher.fetch(origin.url("/echo")).body
