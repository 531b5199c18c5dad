"""The enqueue stage over ports in memory: messages for the URLs of a caller."""

import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.enqueue_refusals import TAKEN_DOWN, make_result
from aragog.errors import BrokerUnavailable

A, B = "http://a.example/", "http://b.example/"


def enqueue(ports, urls, **options):
    return list(ports.enqueuer.enqueue(urls, EnqueueOptions(**options)))


def test_each_input_has_a_result_in_order(ports):
    results = enqueue(ports, ["HTTP://A.example:80", "nonsense", A, B])

    assert [(r.input, r.status, r.url) for r in results] == [
        ("HTTP://A.example:80", EnqueueStatus.ACCEPTED, A),
        ("nonsense", EnqueueStatus.INVALID, None),
        (A, EnqueueStatus.WAITING, A),
        (B, EnqueueStatus.ACCEPTED, B),
    ]
    assert "relative" in results[1].reason
    assert sorted(ports.sent.urls()) == [A, B]
    assert ports.counters.counts[counters.ENQUEUED] == 2


def test_url_in_flight_is_sent_again_only_if_the_caller_insists(ports):
    enqueue(ports, [A])
    (second,) = enqueue(ports, [A])
    (insisted,) = enqueue(ports, [A], insist=True)

    assert [second.status, insisted.status] == [EnqueueStatus.WAITING, EnqueueStatus.ACCEPTED]
    assert ports.sent.urls() == [A, A]


def test_urls_are_sent_in_batches_with_the_priority_and_depth_of_the_call(ports):
    enqueue(ports, [f"http://h{n}.example/" for n in range(60)], priority=2, depth=3)

    jobs = [message.message.wire()["urls"] for message in ports.sent.messages]
    assert sorted(map(len, jobs)) == [10, 25, 25]
    assert {(job["priority"], job["depth"]) for batch in jobs for job in batch} == {(2, 3)}


def test_urls_rejected_by_the_broker_may_be_enqueued_again(ports):
    def refuse(_):
        raise BrokerUnavailable("broker", "is unavailable")

    ports.sent.send_all = refuse
    with pytest.raises(BrokerUnavailable):
        enqueue(ports, [A])

    assert ports.in_flight.urls == set()


def test_refused_url_has_the_reason_and_is_not_counted_as_sent():
    new_urls = {B}

    refused = make_result(A, A, new_urls, {A: TAKEN_DOWN})
    sent, repeated = (make_result(B, B, new_urls, {}) for _ in range(2))

    assert (refused.status, refused.reason) == (EnqueueStatus.TAKEN_DOWN, "it was taken down")
    assert [sent.status, repeated.status] == [EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING]
