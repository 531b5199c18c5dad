"""Crawls share the slots of a domain by weight, however many URLs one of them has in line."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.politeness.lines import CLOSED, USUAL_COST, LineEntry, Lines
from aragog.crawl.stages.line_shares import share_costs
from tests.support.examples import examples
from tests.support.waiting import wait_until

BULK, SMALL = 12, 13


@pytest.fixture
def lines(redis_client):
    return Lines(redis_client, prefix="t:")


@pytest.fixture
def server(lines):
    (one,) = lines.servers
    return one


def entries(share, count, priority=5, key="a.com"):
    return [LineEntry(key, priority, b"%d.%d" % (share, n), share=share) for n in range(count)]


def sent(server, count, costs=None, key="a.com"):
    """Send the next requests; returns the number that each crawl got."""
    token, taken = server.take({key: count}, {key: costs or {}})
    server.settle(token, [], {key: 0})
    return Counter(int(entry.payload.split(b".")[0]) for entry in taken)


def test_small_crawl_does_not_wait_behind_a_bulk_crawl(lines, server):
    lines.park(entries(BULK, 1000))
    lines.park(entries(SMALL, 10))

    assert sent(server, 20) == {BULK: 10, SMALL: 10}


def test_slots_taken_one_by_one_are_shared_too(lines, server):
    lines.park(entries(BULK, 1000))
    lines.park(entries(SMALL, 100))

    found = sum((sent(server, 1) for _ in range(40)), Counter())

    assert found == {BULK: 20, SMALL: 20}


def test_triple_weight_gets_triple_the_slots(lines, server):
    lines.park(entries(BULK, 1000) + entries(SMALL, 1000))

    found = sum((sent(server, 4, {SMALL: USUAL_COST // 3}) for _ in range(25)), Counter())

    assert found[SMALL] == pytest.approx(75, abs=1)


def test_each_step_of_priority_halves_the_share(lines, server):
    lines.park(entries(BULK, 1000, priority=7) + entries(SMALL, 1000, priority=5))

    assert sent(server, 50)[SMALL] == pytest.approx(40, abs=1)


def test_priorities_0_to_2_go_before_every_share(lines, server):
    lines.park(entries(BULK, 1000) + entries(SMALL, 100, priority=2) + entries(7, 5, priority=0))

    assert sent(server, 5) == {7: 5}
    assert sent(server, 100) == {SMALL: 100}
    assert sent(server, 3) == {BULK: 3}


def test_crawl_with_one_url_at_a_time_gets_no_more_than_its_share(lines, server):
    lines.park(entries(BULK, 1000))

    found, last = Counter(), Counter({SMALL: 1})
    for _ in range(40):
        if last[SMALL]:
            lines.park(entries(SMALL, 1))
        last = sent(server, 1)
        found += last

    assert found[SMALL] == pytest.approx(20, abs=1)


def test_crawl_that_starts_later_does_not_catch_up(lines, server):
    lines.park(entries(BULK, 1000))
    sent(server, 500)

    lines.park(entries(SMALL, 1000))

    assert sent(server, 100) == {BULK: 50, SMALL: 50}


def test_returned_entries_cost_nothing_and_keep_their_place(lines, server):
    lines.park(entries(BULK, 10) + entries(SMALL, 10))
    token, taken = server.take({"a.com": 8})

    server.settle(token, taken, {"a.com": 0})

    _, again = server.take({"a.com": 8})
    assert [entry.payload for entry in again] == [entry.payload for entry in taken]


def test_entries_taken_by_a_dead_process_keep_their_share(redis_client):
    lines = Lines(redis_client, prefix="t:", lease_ms=0)
    (server,) = lines.servers
    lines.park(entries(BULK, 3) + entries(SMALL, 3))
    server.take({"a.com": 6})

    wait_until(lambda: server.claim_due(10).get("a.com") == (6, {BULK, SMALL}))

    assert sent(server, 2) == {BULK: 1, SMALL: 1}


def test_closed_share_keeps_its_entries(lines, server):
    lines.park(entries(BULK, 10) + entries(SMALL, 3))

    assert sent(server, 10, {BULK: CLOSED}) == {SMALL: 3}
    assert lines.waiting(["a.com"]) == {"a.com": 10}
    assert sent(server, 10) == {BULK: 10}


def test_reopened_share_does_not_catch_up(lines, server):
    lines.park(entries(BULK, 1000) + entries(SMALL, 1000))
    sent(server, 200, {BULK: CLOSED})
    sent(server, 1, {BULK: CLOSED})

    assert sent(server, 100)[BULK] == pytest.approx(50, abs=1)


def test_line_has_a_bounded_number_of_shares(lines, server, redis_client):
    lines.park([one for share in range(1, 301) for one in entries(share, 2)])

    text = redis_client.hget("t:lines2:shares", "a.com").decode()
    assert len(text.split()) == 201
    assert sent(server, 600).total() == 600
    assert redis_client.keys("t:*") == []


def test_lines_of_version_0_1_are_served_and_leave_nothing_behind(lines, server, redis_client):
    """As the scripts of 0.1 left them: two lists, one of them taken by a process that died."""
    redis_client.rpush("t:line:5:a.com", *(b"|0.%d" % n for n in range(2500)))
    redis_client.rpush("t:line:2:a.com", b"2.5|0.first")
    redis_client.rpush("t:line:5:b.com", b"|0.b")
    redis_client.zadd("t:lines:due", {"a.com": 0, "b.com": 9e15})
    redis_client.zadd("t:lines:waiting", {"a.com": 2501, "b.com": 1})
    packed = b"\x92\xaet:line:5:a.com\xa7|0.dead"  # MessagePack of a list and an entry
    redis_client.hset("t:lines:taken", "token", packed)
    redis_client.zadd("t:lines:leases", {"token": 1})
    lines.park(entries(0, 5) + entries(SMALL, 2))

    wait_until(lambda: server.claim_due(10) is not None and not redis_client.keys("t:line:*"))

    assert lines.waiting(["a.com", "b.com"]) == {"a.com": 2509, "b.com": 1}
    token, (first, *_) = server.take({"a.com": 3000, "b.com": 10})
    assert (first.payload, first.crawl_delay_s) == (b"0.first", 2.5)
    server.settle(token, [], {"a.com": 0, "b.com": 0})
    assert redis_client.keys("t:*") == []


def test_waiting_entries_of_all_crawls_are_listed(lines):
    lines.park(entries(SMALL, 2, priority=6) + entries(BULK, 1500, priority=7))

    (server,) = lines.servers
    assert lines.contents("a.com", 3) == [b"13.0", b"13.1", b"12.0"]
    assert len(list(server.walk("a.com"))) == 1502


@examples(60)
@given(
    st.dictionaries(st.integers(2, 6), st.floats(0.1, 10), min_size=2, max_size=5),
    st.lists(st.integers(1, 9), min_size=10, max_size=40),
)
def test_shares_stay_within_one_request_of_each_other(redis_client, weights, looks):
    """Fair queuing: a share lags by at most one request of each of the two."""
    redis_client.flushdb()
    lines = Lines(redis_client, prefix="t:")
    (server,) = lines.servers
    lines.park([one for share in weights for one in entries(share, 400)])
    costs = {share: round(USUAL_COST / weight) for share, weight in weights.items()}
    found = Counter()
    for count in looks:
        found += sent(server, count, costs)
        used = {share: found[share] / weights[share] for share in weights}
        for a in weights:
            for b in weights:
                assert abs(used[a] - used[b]) <= 1 / weights[a] + 1 / weights[b] + 0.01


class TestCosts:
    @staticmethod
    def of(weights, *records):
        crawls = Crawls.from_records({r.name: r for r in records}, frozenset(), (), 0)
        return share_costs([r.number for r in records], crawls, weights)

    def test_token_with_many_crawls_gets_no_more_than_another(self):
        many = [CrawlRecord(name=f"m{n}", number=10 + n, token="ana") for n in range(4)]
        costs = self.of({}, *many, CrawlRecord(name="one", number=2, token="bob"))

        assert {costs[r.number] for r in many} == {4 * costs[2]}

    def test_weights_of_tokens_and_crawls_multiply(self):
        costs = self.of(
            {"ana": 2.0},
            CrawlRecord(name="a", number=2, token="ana", weight=3.0),
            CrawlRecord(name="b", number=3, token="ana"),
            CrawlRecord(name="c", number=4),
        )

        assert USUAL_COST / costs[2] == pytest.approx(1.5, rel=0.01)
        assert USUAL_COST / costs[3] == pytest.approx(0.5, rel=0.01)
        assert costs[4] == USUAL_COST

    def test_low_rate_crawl_uses_no_more_of_a_domains_time(self):
        records = {
            "slow": CrawlRecord(name="slow", number=2, rate=0.1),
            "fast": CrawlRecord(name="fast", number=3, rate=100.0),
            "usual": CrawlRecord(name="usual", number=4),
        }
        crawls = Crawls.from_records(records, frozenset(), (), 0)

        costs = share_costs([2, 3, 4], crawls, {}, interval_s=0.1)

        assert costs[3] == costs[4]
        assert costs[2] == 100 * costs[4]
