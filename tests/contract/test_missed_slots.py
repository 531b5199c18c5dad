"""A slot in which nothing was sent does not delay its domain's next request."""

import pytest

from aragog.crawl.politeness.latencies import NO_LATENCY
from aragog.crawl.politeness.nodes.scripts import (
    PermitReport,
    SlotArguments,
    acquire_permit,
    release_permits,
    reserve,
)
from aragog.crawl.politeness.slots import Slot
from bench.latency import DOMAIN, VirtualNode

MINUTES_US = 200e6
WINDOW_US = 1e6


@pytest.fixture
def node(redis_url):
    node = VirtualNode(redis_url)
    node.client.flushall()
    yield node
    node.close()


def reserved_at_us(node, token=0):
    _, replies = reserve(node, [DOMAIN], [SlotArguments(MINUTES_US, 1e12, token, False)])
    return next(iter(replies)).at_us


def send(node, at_us):
    """Send a request in its slot."""
    slot = Slot(DOMAIN, at_us, 0, MINUTES_US, 7, node=node.name)
    decision = acquire_permit(node, slot, max_concurrent=0, window_us=WINDOW_US)
    assert decision.verdict == "go"
    release_permits(node, [PermitReport(slot, decision.at_us, NO_LATENCY, 1.0)])


def test_domain_with_one_request_in_minutes_does_not_wait_minutes_for_a_missed_slot(node):
    missed_us = reserved_at_us(node)
    node.at_us = missed_us + node.hold_us + 1

    assert reserved_at_us(node) == node.at_us


def test_slot_whose_window_is_open_counts_as_used(node):
    slot_us = reserved_at_us(node)
    node.at_us = slot_us + WINDOW_US

    assert reserved_at_us(node) == slot_us + MINUTES_US


def test_pre_granted_slot_counts_as_used(node):
    slot_us = reserved_at_us(node, token=5)
    node.at_us = slot_us + 3 * node.hold_us

    assert reserved_at_us(node) >= slot_us + MINUTES_US


def test_request_after_a_missed_slot_keeps_the_interval_to_the_last_one(node):
    first_us = reserved_at_us(node)
    send(node, first_us)
    node.at_us = first_us + MINUTES_US
    missed_us = reserved_at_us(node)
    node.at_us = missed_us + 3 * node.hold_us
    late_us = reserved_at_us(node)
    send(node, late_us)

    assert late_us == node.at_us
    assert reserved_at_us(node) == pytest.approx(late_us + MINUTES_US, abs=1e4)
