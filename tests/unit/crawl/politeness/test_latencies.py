"""Latencies waiting to be reported to the limiter."""

import math

from aragog.crawl.politeness.latencies import NO_LATENCY, PendingLatencies
from aragog.crawl.politeness.slots import MIN_LATENCY_MS


def test_responses_since_the_last_report_are_reported_once_as_their_mean():
    pending = PendingLatencies()
    pending.record("a.example", 100.0, "192.0.2.1")
    pending.record("a.example", 400.0, "192.0.2.1")

    latency = pending.take("a.example")

    assert math.isclose(MIN_LATENCY_MS * math.exp(latency.log_ms), 200.0)
    assert latency.servers.bit_count() == 1
    assert pending.take("a.example") == NO_LATENCY


def test_each_address_has_a_bit():
    pending = PendingLatencies()
    for number in range(100):
        pending.record("a.example", 100.0, f"192.0.2.{number}")

    assert 1 < pending.take("a.example").servers.bit_count() <= 12


def test_quick_responses_count_alike():
    pending = PendingLatencies()
    pending.record("a.example", 0.0, None)

    assert pending.take("a.example").log_ms == 0.0


def test_domain_that_waited_longest_is_dropped_first():
    pending = PendingLatencies(max_domains=2)
    for key in ("a.example", "b.example", "c.example"):
        pending.record(key, 100.0, None)

    assert [pending.contains(key) for key in ("a.example", "b.example", "c.example")] == [
        False, True, True
    ]  # fmt: skip
