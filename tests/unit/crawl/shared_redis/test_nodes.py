import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.shared_redis.nodes import Ring
from aragog.errors import ConfigError

NODES = [f"redis://10.0.0.{n}:6379" for n in range(4)]
DOMAINS = [f"site-{n}.example" for n in range(4000)]


def test_node_of_a_domain_does_not_depend_on_the_order_of_nodes():
    one, other = Ring(NODES), Ring(NODES[::-1])

    assert all(one.node_for(d) == other.node_for(d) for d in DOMAINS)


def test_adding_a_node_moves_only_its_share():
    before, after = Ring(NODES[:3]), Ring(NODES)

    moved = [d for d in DOMAINS if before.node_for(d) != after.node_for(d)]

    assert all(after.node_for(d) == NODES[3] for d in moved)
    assert 0.15 < len(moved) / len(DOMAINS) < 0.35


def test_every_node_has_a_fair_share():
    ring = Ring(NODES)

    shares = [sum(ring.node_for(d) == node for d in DOMAINS) / len(DOMAINS) for node in NODES]

    assert min(shares) > 0.15


@given(st.lists(st.sampled_from(DOMAINS)))
def test_grouping_loses_nothing_and_keeps_the_order(domains):
    ring = Ring(NODES)

    grouped = ring.group((d, (d, n)) for n, d in enumerate(domains))

    assert sorted(n for group in grouped.values() for _, n in group) == list(range(len(domains)))
    for node, group in grouped.items():
        assert [n for _, n in group] == sorted(n for _, n in group)
        assert all(ring.node_for(d) == node for d, _ in group)


@pytest.mark.parametrize("nodes", [[], [NODES[0], NODES[0]]])
def test_ring_without_nodes_or_with_duplicates_is_refused(nodes):
    with pytest.raises(ConfigError, match=r"politeness\.limiter_urls"):
        Ring(nodes)
