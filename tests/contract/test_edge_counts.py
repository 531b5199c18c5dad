"""Edge counts in the store's tables, which its repair corrects."""

from zengraph import IN, OUT, MultiGraph, Schema

KNOWS, LIKES = 3, 500
SCHEMA = Schema(unique=("email",), indexed=("city",), counted=(KNOWS,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))


def test_repair_fixes_counts_that_a_killed_writer_left_wrong(harness):
    zen = MultiGraph(harness.tables, SCHEMA, harness.clock)
    zen.put_edge(A, KNOWS, B)
    zen.put_edge(A, KNOWS, C)
    zen.put_edge(A, LIKES, B)
    harness.tables["n"].incr(A, b"c:3o", 5)
    # As if killed after writing the edge: C's count is one too low and B's is missing.
    MultiGraph(harness.tables, Schema(), harness.clock).put_edge(B, KNOWS, C)
    harness.clock.advance_ms(3_600_000)

    assert harness.store.maintenance.repair(grace_s=60).repaired == {"edges counted wrongly": 3}

    assert zen.count_edges(A, OUT, KNOWS) == zen.count_edges(C, IN, KNOWS) == 2
    assert zen.count_edges(B, IN, KNOWS) == zen.count_edges(B, OUT, KNOWS) == 1
    assert harness.store.maintenance.repair(grace_s=60).repaired == {}


def test_repair_ignores_counts_of_edges_being_written(harness):
    zen = MultiGraph(harness.tables, SCHEMA, harness.clock)
    zen.put_edge(A, KNOWS, B)
    harness.tables["n"].incr(A, b"c:3o", 5)

    assert harness.store.maintenance.repair(grace_s=60).repaired == {}
