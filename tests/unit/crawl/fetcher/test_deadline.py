"""How long a fetch may wait in one step."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import TransportError
from aragog.runtime.clock import ManualClock


def _deadline(clock: ManualClock) -> Deadline:
    return Deadline(
        clock, deadline_s=30, connect_timeout_s=5, read_timeout_s=10, min_bytes_per_s=100
    )


def test_no_wait_exceeds_the_remaining_time():
    clock = ManualClock()
    deadline = _deadline(clock)
    assert (deadline.connect_timeout_s(), deadline.read_timeout_s()) == (5, 10)

    clock.sleep_s(28)
    assert (deadline.connect_timeout_s(), deadline.read_timeout_s()) == pytest.approx((2, 2))
    deadline.extend(3)
    assert deadline.connect_timeout_s() == pytest.approx(5)

    clock.sleep_s(6)
    with pytest.raises(TransportError, match="longer than 30 s"):
        deadline.read_timeout_s()


def test_body_below_the_minimum_rate_is_aborted_after_five_seconds():
    clock = ManualClock()
    deadline = _deadline(clock)
    clock.sleep_s(8)
    deadline.start_body()
    deadline.count_received(10)

    clock.sleep_s(5)
    assert deadline.read_timeout_s() > 0
    clock.sleep_s(0.1)
    with pytest.raises(TransportError, match="slower than 100 bytes/s"):
        deadline.read_timeout_s()
    deadline.count_received(1000)
    assert deadline.read_timeout_s() > 0


def test_shortened_deadline_ends_with_its_block():
    clock = ManualClock()
    deadline = _deadline(clock)

    with deadline.shorten(0.5):
        assert deadline.read_timeout_s() == pytest.approx(0.5)

    assert deadline.read_timeout_s() == 10
