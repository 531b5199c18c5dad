"""The simulated limiter computes the same slots and backoff as the limiter's scripts."""

import random

import pytest

from aragog.crawl.politeness.limiter import ERRORS_BEFORE_BACKOFF, MAX_BACKOFF_PERCENT
from aragog.crawl.politeness.nodes.scripts import SlotArguments, report, reserve
from aragog.crawl.politeness.slots import unpack_state
from bench.latency import DOMAIN, VirtualNode
from bench.simulate.limits import DomainLimit

INTERVAL_US = 100_000.0


@pytest.fixture
def node(redis_url):
    node = VirtualNode(redis_url)
    node.client.flushall()
    node.hold_us = 10**15  # every simulated slot is used, although no permit is requested here
    yield node
    node.close()


def reserved(node, within_us):
    """The slot returned by the script; None if it refused."""
    now_us, replies = reserve(node, [DOMAIN], [SlotArguments(INTERVAL_US, within_us, 0, False)])
    reply = next(iter(replies))
    return None if reply.at_us - now_us > within_us else reply.at_us


def reported(node, well):
    """The backoff factor after a response, in percent; 0 for none."""
    return report(
        node, [(DOMAIN, well)], errors_to_slow=ERRORS_BEFORE_BACKOFF, max_factor=MAX_BACKOFF_PERCENT
    )[0]


@pytest.mark.parametrize("seed", range(4))
def test_slots_and_backoff_match_the_scripts(node, seed):
    rng, twin = random.Random(seed), DomainLimit(INTERVAL_US)
    for _ in range(400):
        node.at_us += rng.choice((0, 1_000, 50_000, 400_000))
        if rng.random() < 0.5:
            within_us = rng.choice((1_030_000.0, 1_500_000.0))
            assert twin.reserve(node.at_us, within_us) == reserved(node, within_us)
        elif reserved(node, 1e12) is not None:
            twin.reserve(node.at_us, 1e12)
            well = rng.random() < 0.6
            factor = reported(node, well)
            twin.report(succeeded=well)
            assert factor in (0, twin.factor)
            state = unpack_state(node.get_many([node.key("slot", DOMAIN)])[0])
            assert (state.factor, state.errors_in_a_row) == (twin.factor, twin.errors_in_a_row)
