"""The parts of Zen used by the UrlStore, on every engine."""

from __future__ import annotations

import pytest

from zengraph import IN, OUT, Edge, MultiGraph, Schema
from zengraph.links import Naming
from zengraph.records import (
    ID_BYTES,
    Lease,
    append_log,
    put_number,
    put_order,
    put_properties,
    put_record,
)

A, B = "a", "b"
node_id = Naming().node_id
NOW_MS = 1_700_000_000_000
LIKES = 7


@pytest.fixture
def zen(tables):
    return MultiGraph(tables)


def test_batch_of_mutations_writes_nodes_edges_and_indexes(zen):
    a, b = node_id(A), node_id(B)
    zen.mutate(
        [
            put_number(a, NOW_MS, {b"i:u": A.encode()}, NOW_MS),
            put_order(a, b"x\0", {b"i:u": A.encode()}, NOW_MS),
            *zen.edge_rows(b, LIKES, a, {"u": B.encode()}, NOW_MS),
            put_properties(a, {b"m:title": b"x"}, NOW_MS),
        ]
    )
    assert zen.by_number.has(a, NOW_MS)
    assert zen.by_order.has(a, b"x\0")
    assert zen.get_edge(b, LIKES, a).properties == {"u": B.encode()}
    assert zen.nodes.get(a)[b"m:title"] == (b"x", NOW_MS)


def test_due_times_are_listed_soonest_first_before_an_instant(zen):
    a = node_id(A)
    zen.mutate([put_number(a, at, {b"i:u": b"u"}, NOW_MS) for at in (30, 10, 20)])
    bucket = next(n for n in zen.by_number.buckets if list(zen.by_number.until(n, 100)))
    assert [entry.number for entry in zen.by_number.until(bucket, 30)] == [10, 20]
    zen.by_number.delete_many([(a, 10, NOW_MS + 1)])
    assert [entry.number for entry in zen.by_number.until(bucket, 100)] == [20, 30]


def test_entry_is_claimed_by_one_caller_until_the_claim_expires(zen):
    zen.mutate([put_number(node_id(A), 10, {b"i:u": b"u"}, NOW_MS)])
    (entry,) = zen.by_number.walk()
    assert zen.by_number.claim([entry], Lease.until(NOW_MS, b"one")) == [True]
    assert zen.by_number.claim([entry], Lease.until(NOW_MS, b"two")) == [False]
    (claimed,) = zen.by_number.walk()
    assert claimed.is_claimed(NOW_MS - 1)
    assert not claimed.is_claimed(NOW_MS)
    assert zen.by_number.claim([claimed], Lease.until(NOW_MS, b"two")) == [True]


def test_one_ended_edge_is_listed_only_at_its_target(tables):
    zen = MultiGraph(tables, Schema(one_ended=frozenset({LIKES})))
    a, b = node_id(A), node_id(B)
    zen.put_edge(b, LIKES, a, properties={"u": b"1"}, at_ms=NOW_MS)

    assert zen.edges(a, IN, LIKES).items == [Edge(b, 0, {"u": b"1"}, NOW_MS)]
    assert zen.edges(b, OUT, LIKES).items == []
    assert zen.get_edge(b, LIKES, a) == Edge(a, 0, {"u": b"1"}, NOW_MS)
    assert zen.count_edges(a, IN, LIKES) == 1
    zen.remove_edge(b, LIKES, a)
    assert list(zen.walk_all_edges()) == []


def test_nodes_are_found_by_the_prefix_of_their_ordering_keys(zen):
    orders = {A: b"example.a\0", B: b"example.a.b\0"}
    zen.mutate(
        [put_order(node_id(name), at, {b"i:u": b"u"}, NOW_MS) for name, at in orders.items()]
    )

    rows = dict(zen.by_order.rows([b"example.a\0", b"example.a."]))

    assert {at[-ID_BYTES:] for at in rows} == {node_id(A), node_id(B)}
    assert len(list(zen.by_order.rows([b"example.a\0"]))) == 1
    zen.by_order.delete(node_id(A), orders[A], at_ms=NOW_MS)
    assert not zen.by_order.has(node_id(A), orders[A])


@pytest.mark.parametrize("prefix", [b"\xff\xff", b"\x07"])
def test_sample_has_the_first_nodes_of_all_buckets_and_wraps_around(zen, prefix):
    """It had equally many of each bucket, and so few of the nodes of a full bucket."""
    orders = [prefix + bytes([n]) for n in range(60)]
    ids = [bytes([n % 3 * n % 5]) + bytes([n]) * 15 for n in range(60)]
    rows = [*zip(ids, orders, strict=True), (ids[0], b"\x06x"), (ids[0], b"\x08x")]
    zen.mutate([put_order(key, order, {b"i:s": b"1"}, NOW_MS) for key, order in rows])

    assert zen.by_order.sample(prefix, bytes([50]), 9) == ids[50:59]
    assert zen.by_order.sample(prefix, bytes([50]), 15) == ids[50:] + ids[:5]
    assert zen.by_order.sample(prefix, bytes([50]), 99) == ids[50:] + ids[:50]
    assert zen.by_order.sample(prefix, b"", 0) == []


def test_one_ended_edges_are_purged_by_type(tables):
    zen = MultiGraph(tables, Schema(one_ended=frozenset({LIKES, LIKES + 1})))
    a = node_id(A)
    for edge_type, other in ((LIKES, B), (LIKES + 1, A)):
        zen.mutate(zen.edge_rows(node_id(other), edge_type, a, {"u": b"x"}, NOW_MS))
    assert [edge.other for edge in zen.walk_edges(a, IN, LIKES)] == [node_id(B)]
    zen.purge_edges(a, LIKES, at_ms=NOW_MS + 1)
    assert list(zen.walk_edges(a, IN, LIKES)) == []
    assert len(list(zen.walk_edges(a, IN, LIKES + 1))) == 1


def test_log_entries_are_read_in_order_of_time(zen):
    for at_ms in (20, 10):
        zen.mutate([append_log(3, at_ms, bytes(8), {b"l:v": b"%d" % at_ms})])
    assert [row[b"l:v"].value for _, row in zen.log.all(3)] == [b"10", b"20"]
    (position, _), *_ = zen.log.between(3, b"", (15).to_bytes(8))
    zen.log.delete_many(3, [(position, 10)])
    assert [row[b"l:v"].value for _, row in zen.log.all(3)] == [b"20"]


def test_registry_records_are_listed_by_name_prefix(zen):
    zen.registry.put_many([(b"\0x\0a", {b"i:v": b"1"}, NOW_MS), (b"\0y", {b"i:v": b"2"}, NOW_MS)])
    assert [name for name, _ in zen.registry.beginning_with(b"\0x\0")] == [b"\0x\0a"]
    zen.registry.delete(b"\0x\0a", at_ms=NOW_MS)
    assert zen.registry.beginning_with(b"\0x\0") == []


def test_registry_records_are_walked_from_a_name_and_deleted_in_batches(zen):
    names = [b"\0x\0a", b"\0x\0b", b"\0x\0c"]
    zen.mutate([put_record(name, {b"i:v": name}, NOW_MS) for name in names])

    assert [name for name, _ in zen.registry.walk(b"\0x\0", start_after=names[0])] == names[1:]
    assert [name for name, _ in zen.registry.walk(b"\0x\0", 1, start_after=names[0])] == names[1:2]
    zen.registry.delete_many([(names[0], NOW_MS), (names[1], NOW_MS - 1)])
    assert [name for name, _ in zen.registry.walk(b"\0x\0")] == names[1:]


def test_each_label_is_walked_once_and_a_walk_can_skip_ahead(zen):
    labels = ["example.a", "example.a.b", "test.c"]
    zen.mutate(
        [
            put_order(node_id(f"{label}{n}"), label.encode() + b"\0", {b"i:u": b"u"}, NOW_MS)
            for label in labels
            for n in range(60)
        ]
    )
    zen.mutate([put_order(node_id("no label"), b"\xff" + b"other\0", {b"i:u": b"u"}, NOW_MS)])

    walk, found = zen.by_order.labels(), []
    while (label := walk.first()) is not None:
        found.append(label)
        walk.skip_to(label + "!")

    assert found == labels
    assert zen.by_order.labels("example.a/").first() == "test.c"
    assert zen.by_order.labels("test.c!").first() is None
