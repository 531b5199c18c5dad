"""The lines in which requests wait for slots: order, leases, and recovery from a dead process."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.lines import LineEntry, Lines
from tests.support.examples import examples
from tests.support.waiting import wait_until


@pytest.fixture
def lines(redis_client):
    return Lines(redis_client, prefix="t:")


@pytest.fixture
def server(lines):
    (one,) = lines.servers
    return one


def due(server):
    return {key: line.waiting for key, line in server.claim_due(10).items()}


def payloads(entries):
    return [entry.payload.decode() for entry in entries]


def test_most_urgent_come_first_and_the_rest_in_order(lines, server):
    lines.park(
        [LineEntry("a.com", p, name) for p, name in [(5, b"b"), (9, b"d"), (5, b"c"), (0, b"a")]]
    )

    _, taken = server.take({"a.com": 3})

    assert payloads(taken) == ["a", "b", "c"]
    assert lines.waiting(["a.com", "b.com"]) == {"a.com": 1, "b.com": 0}


def test_returned_entries_keep_their_place(lines, server):
    lines.park([LineEntry("a.com", 5, name) for name in (b"a", b"b", b"c", b"d")])
    token, taken = server.take({"a.com": 3})

    server.settle(token, taken[1:], {"a.com": 0})

    assert payloads(server.take({"a.com": 9})[1]) == ["b", "c", "d"]


def test_entry_that_had_a_slot_goes_to_the_front(lines, server):
    lines.park([LineEntry("a.com", 5, b"second"), LineEntry("a.com", 5, b"first", to_front=True)])

    assert payloads(server.take({"a.com": 2})[1]) == ["first", "second"]


def test_crawl_delay_stays_with_its_entry(lines, server):
    lines.park([LineEntry("a.com", 5, b'{"u|rl":1}', 2.5), LineEntry("a.com", 5, b"x")])

    _, taken = server.take({"a.com": 2})

    assert [(entry.crawl_delay_s, entry.payload) for entry in taken] == [
        (2.5, b'{"u|rl":1}'), (None, b"x"),
    ]  # fmt: skip


def test_one_process_at_a_time_checks_a_line(lines, server):
    lines.park([LineEntry("a.com", 5, b"a"), LineEntry("late.com", 5, b"b", check_after_ms=60_000)])

    assert due(server) == {"a.com": 1}
    assert due(server) == {}


def test_line_whose_rate_changed_is_checked_at_once(lines, server):
    lines.park([LineEntry("a.com", 5, b"a", check_after_ms=60_000)])

    server.check_now(["a.com", "no-line.com"])

    assert due(server) == {"a.com": 1}
    assert list(server.domains()) == ["a.com"]


def test_empty_line_leaves_no_keys_behind(lines, server, redis_client):
    lines.park([LineEntry("a.com", 5, b"a")])
    server.claim_due(10)
    token, taken = server.take({"a.com": 1})

    server.settle(token, [], {"a.com": 0})

    assert redis_client.keys("t:*") == []
    assert len(taken) == 1


def test_entries_taken_by_a_dead_process_return_to_their_line(redis_client):
    lines = Lines(redis_client, prefix="t:", lease_ms=0)
    (server,) = lines.servers
    lines.park([LineEntry("a.com", 3, b"a"), LineEntry("a.com", 5, b"b")])
    server.take({"a.com": 2})

    wait_until(lambda: due(server) == {"a.com": 2})

    assert payloads(server.take({"a.com": 2})[1]) == ["a", "b"]


def test_settling_after_the_lease_duplicates_nothing(redis_client):
    lines = Lines(redis_client, prefix="t:", lease_ms=0)
    (server,) = lines.servers
    lines.park([LineEntry("a.com", 3, b"a")])
    token, taken = server.take({"a.com": 1})
    wait_until(lambda: due(server) == {"a.com": 1})

    server.settle(token, taken, {"a.com": 0})

    assert lines.waiting(["a.com"]) == {"a.com": 1}


def test_longest_lines_are_listed(lines):
    lines.park([LineEntry(f"d{n % 3}.com", 5, b"") for n in range(10)])

    assert lines.longest(1) == {"d0.com": 4}
    assert lines.total() == 10


entries = st.tuples(st.sampled_from(["a.com", "b.com"]), st.integers(0, 9))
steps = st.lists(
    st.one_of(
        st.lists(entries, min_size=1, max_size=5),
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    ),
    max_size=12,
)


@examples(40)
@given(steps)
def test_each_entry_leaves_once_and_in_order_of_urgency_in_any_history(redis_client, history):
    redis_client.flushdb()
    lines = Lines(redis_client, prefix="t:")
    (server,) = lines.servers
    inside: Counter[tuple[str, int, bytes]] = Counter()
    number = 0
    for step in history:
        if isinstance(step, list):
            parked = []
            for key, priority in step:
                number += 1
                parked.append(LineEntry(key, priority, str(number).encode()))
            lines.park(parked)
            inside.update((entry.key, entry.priority, entry.payload) for entry in parked)
        else:
            token, taken = server.take({"a.com": step[0], "b.com": step[1]})
            back = taken[len(taken) - min(step[2], len(taken)) :]
            for key in ("a.com", "b.com"):
                left_priorities = [entry.priority for entry in taken if entry.key == key]
                remaining_priorities = [
                    p for (k, p, _), count in inside.items() if k == key and count
                ]
                assert left_priorities == sorted(remaining_priorities)[: len(left_priorities)]
            server.settle(token, back, {"a.com": 0, "b.com": 0})
            gone = taken[: len(taken) - len(back)]
            inside.subtract((entry.key, entry.priority, entry.payload) for entry in gone)
            assert min(inside.values(), default=0) >= 0
        inside += Counter()
        expected = Counter(key for key, _, _ in inside.elements())
        assert lines.waiting(["a.com", "b.com"]) == {k: expected[k] for k in ("a.com", "b.com")}
