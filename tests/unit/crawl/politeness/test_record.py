"""The record of the limiter's ring."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.nodes.addresses import NodeAddresses
from aragog.crawl.politeness.nodes.record import RingRecord
from aragog.errors import BadInput, LimiterUnavailable

NODES = [f"redis://10.0.0.{n}:6379/0" for n in range(4)]
DOMAINS = [f"site-{n}.example" for n in range(200)]


def test_record_round_trips():
    record = RingRecord.create_first(NODES[:2]).with_active(NODES[2]).with_lost(NODES[0])

    assert RingRecord.parse(record.pack()) == record


@given(st.lists(st.tuples(st.sampled_from("adlrs"), st.sampled_from(NODES)), max_size=12))
def test_versions_grow_and_every_domain_has_an_owner(changes):
    record = RingRecord.create_first(NODES[:2])
    for what, node in changes:
        try:
            changed = {
                "a": record.with_active, "d": record.with_drained, "l": record.with_lost, "r": record.without_drained,
                "s": lambda _, record=record: record.with_moves_done(),
            }[what](node)  # fmt: skip
        except BadInput:
            continue
        assert changed is record or changed.epoch == record.epoch + 1
        assert changed.version < 2**53
        assert set(changed.active).isdisjoint(changed.drained)
        assert set(changed.members).isdisjoint(changed.lost)
        record = changed

    assert {record.ring.node_for(domain) for domain in DOMAINS} <= set(record.active)


def test_only_domains_with_a_new_owner_move():
    before = RingRecord.create_first(NODES[:3])
    record = before.with_active(NODES[3])

    moved = {domain for domain in DOMAINS if record.has_former_owner(domain)}

    assert moved == {d for d in DOMAINS if record.ring.node_for(d) == NODES[3]}
    assert all(record.get_former_owners(d) == (before.ring.node_for(d),) for d in DOMAINS)
    assert not any(record.with_moves_done().has_former_owner(domain) for domain in DOMAINS)


def test_unfinished_moves_keep_all_previous_owners():
    record = RingRecord.create_first(NODES[:2]).with_active(NODES[2]).with_lost(NODES[0])

    assert record.exporters == (NODES[1], NODES[2])
    assert any(NODES[0] in record.get_former_owners(domain) for domain in DOMAINS)
    assert any(len(record.get_former_owners(domain)) == 2 for domain in DOMAINS)


def test_two_changes_of_one_record_have_different_versions():
    record = RingRecord.create_first(NODES[:2])

    assert len({record.with_active(NODES[2]).version for _ in range(8)}) > 1


def test_last_node_cannot_leave():
    record = RingRecord.create_first(NODES[:1])

    for leave in (record.with_drained, record.with_lost):
        with pytest.raises(BadInput, match="the only active node"):
            leave(NODES[0])


def test_node_names_have_no_password_and_urls_get_it_back():
    urls = ["rediss://me:one@10.0.0.1:6379/0", "unix:///run/a.sock?db=0"]
    addresses = NodeAddresses([*urls, "rediss://me:two@main/0"], "rediss://me:two@main/0")

    assert addresses.names_in_settings == (
        "rediss://10.0.0.1:6379/0", "unix:///run/a.sock?db=0", "redis.url"
    )  # fmt: skip
    assert [addresses.url(name) for name in addresses.names_in_settings][:2] == urls
    assert addresses.url("redis.url") == "rediss://me:two@main/0"
    assert addresses.url("rediss://10.0.0.1:7/0") == "rediss://me:two@10.0.0.1:7/0"
    assert addresses.name("redis.url") == "redis.url"


def test_field_of_a_newer_version_is_ignored():
    record = RingRecord.create_first(NODES[:2])
    newer = json.dumps({**json.loads(record.pack()), "from_the_future": 1}).encode()

    assert RingRecord.parse(newer) == record


GOOD = json.loads(RingRecord.create_first(NODES[:2]).pack())
WRONG = {
    "not JSON": b"{",
    "a list": b"[]",
    "no nodes": {"active": []},
    "a node that is not a string": {"active": [1]},
    "nodes as a string": {"active": NODES[0]},
    "a node with a login": {"active": ["redis://user:password@evil.test:1"]},
    "a node with another protocol": {"active": ["http://evil.test/"]},
    "a duplicate node": {"active": [NODES[0], NODES[0]]},
    "a contradictory node": {"drained": NODES[:1]},
    "a long name": {"active": [f"redis://{'a' * 1000}"]},
    "many nodes": {"active": [f"redis://h{n}" for n in range(2000)]},
    "a version as a string": {"version": "9"},
    "a version beyond 2^53": {"version": 2**53},
    "a lease without an end": {"lease_s": 1e308},
    "an expired lease": {"lease_s": -1},
    "an invalid lease": {"lease_s": float("nan")},
    "invalid former nodes": {"former": [["x"]]},
    "no version": {"version": None},
}


@pytest.mark.parametrize("malformed", WRONG.values(), ids=WRONG)
def test_malformed_record_is_refused(malformed):
    """Regression: it was accepted, and led to a traceback in every worker or a permanent lease."""
    packed = malformed if isinstance(malformed, bytes) else json.dumps(GOOD | malformed).encode()

    with pytest.raises(LimiterUnavailable, match="record of the limiter's ring: is invalid"):
        RingRecord.parse(packed)


def test_record_of_a_later_release_is_accepted():
    assert RingRecord.parse(json.dumps(GOOD | {"more": [1]}).encode()).active == tuple(NODES[:2])


def test_only_hosts_of_the_settings_get_a_login():
    """Regression: any node in the record got the login of `redis.url`."""
    addresses = NodeAddresses(["redis://me:one@limiter:1/0"], "redis://me:two@main/0")

    assert addresses.url("redis://limiter:2/0") == "redis://me:two@limiter:2/0"
    assert addresses.url("redis://main:7/0") == "redis://me:two@main:7/0"
    for name in ("redis://evil.test/0", "redis://main.evil.test/0", "rediss://10.0.0.9:6379/0"):
        assert addresses.url(name) == name
    sentinels = NodeAddresses([], "sentinel://me:two@a:1,b:1/main")
    assert sentinels.url("sentinel://a:2,b/other") == "sentinel://me:two@a:2,b/other"
    assert sentinels.url("sentinel://a:2,evil.test/x") == "sentinel://a:2,evil.test/x"
