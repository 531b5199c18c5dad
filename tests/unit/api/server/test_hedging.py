"""Hedged reads: the policy under simulated latencies, and two real stores of which one stalls."""

import random
import statistics
import threading

import pytest

from aragog.api.operations.large_reads import (
    MAX_BYTES,
    MAX_CONCURRENT,
    MIN_LIMITED_BYTES,
    ReadAbandoned,
    TooManyReads,
)
from aragog.api.server.hedging import (
    INITIAL_DELAY_S,
    MAX_DOWN_S,
    MIN_DOWN_S,
    HedgedReads,
    HedgePolicy,
    Latencies,
)
from aragog.errors import InvalidUrl, SizeExceeded, StoreUnavailable
from aragog.runtime.clock import ManualClock
from tests.support.stores import store_harness
from tests.support.waiting import wait_until
from zengraph.records import counted_rows
from zengraph.tables.memory import MemoryTables

URL = "http://shop.example/"


def simulated(latency_s, reads=50_000, seed=7):
    """The policy, and the latencies seen by callers once it has learned."""
    rng, policy, seen = random.Random(seed), HedgePolicy(), []
    for _ in range(reads):
        policy.count_read()
        primary_s = latency_s(rng)
        policy.count_response(primary_s)
        if primary_s > policy.delay_s and policy.hedge():
            seen.append(min(primary_s, policy.delay_s + rng.lognormvariate(-6.9, 0.3)))
        else:
            seen.append(primary_s)
            policy.try_mirror()
    return policy, seen[reads // 10 :]


def healthy(rng):
    """A latency of about 1 ms."""
    return rng.lognormvariate(-6.9, 0.3)


def stalling(share):
    return lambda rng: healthy(rng) + (0.1 if rng.random() < share else 0)


def p(percent, latencies):
    return statistics.quantiles(latencies, n=1000)[int(percent * 10) - 1]


def test_one_percent_of_stalls_is_hidden_by_two_percent_of_extra_reads():
    assert p(99, simulated(stalling(0.01))[1]) < 0.010

    policy, seen = simulated(stalling(0.01))

    assert p(99.9, seen) < 0.015
    assert policy.hedged + policy.mirrored <= 0.02 * policy.reads + 1
    assert policy.delay_s < 0.006


def test_healthy_primary_is_rarely_hedged_and_the_standby_kept_warm():
    policy, _ = simulated(healthy)

    assert policy.hedged / policy.reads < 0.005
    assert (policy.hedged + policy.mirrored) / policy.reads == pytest.approx(0.01, abs=0.001)


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_often_stalling_primary_does_not_double_the_load(share):
    policy, _ = simulated(stalling(share))

    assert policy.hedged + policy.mirrored <= 0.02 * policy.reads + 1


def test_policy_adapts_to_a_change_of_latency():
    rng, policy = random.Random(7), HedgePolicy()
    for scale in (1, 20, 1):
        for _ in range(60_000):
            policy.count_read()
            policy.count_response(scale * healthy(rng))
        assert 0.001 * scale < policy.delay_s < 0.006 * scale


def test_quantiles_are_accurate_within_10_percent():
    latencies = Latencies()
    for n in range(1, 1001):
        latencies.add(n / 1000)

    for share, quantile in zip((0.5, 0.99), latencies.quantiles(0.5, 0.99), strict=True):
        assert share <= quantile <= share * 1.1


class Gated:
    """A store whose reads wait for a gate, or raise."""

    def __init__(self, store, gate=None, error=None):
        self._store, self._gate, self._error = store, gate, error
        self.reads = 0

    def get(self, url):
        self.reads += 1
        if self._gate is not None:
            assert self._gate.wait(60)
        if self._error is not None:
            raise self._error
        return self._store.get(url)


@pytest.fixture
def gate():
    event = threading.Event()
    yield event
    event.set()


def a_store(**fields):
    store = store_harness(MemoryTables(ManualClock())).store
    for url, value in fields.items():
        store.put(f"http://{url}.example/", {"of": value})
    return store


def reading(primary, standby, **options):
    return HedgedReads(primary, standby, **{"threads": 4, **options})


def test_stalled_read_is_answered_by_the_standby(gate):
    hedged = reading(Gated(a_store(shop=b"primary"), gate), Gated(a_store(shop=b"standby")))

    record = hedged.read(lambda store: store.get(URL))

    assert (record.value.fields["of"], record.from_standby) == (b"standby", True)
    assert hedged.policy.hedged == 1
    hedged.close()


def test_timely_read_is_answered_only_by_the_primary():
    standby = Gated(a_store())
    hedged = reading(a_store(shop=b"primary"), standby)
    hedged.policy.delay_s = 60

    record = hedged.read(lambda store: store.get(URL))

    assert (record.value.fields["of"], record.from_standby) == (b"primary", False)
    assert standby.reads == 0
    hedged.close()


def test_late_reads_over_the_budget_wait_for_the_primary(gate):
    primary, standby = Gated(a_store(shop=b"primary"), gate), Gated(a_store(shop=b"standby"))
    hedged = reading(primary, standby, deadline_s=240)
    hedged.policy.down_after_s = 120
    results = []
    reads = [
        threading.Thread(target=lambda: results.append(hedged.read(lambda store: store.get(URL))))
        for _ in range(3)
    ]
    for each in reads:
        each.start()
    wait_until(lambda: len(results) == 1 and primary.reads == 3)
    gate.set()
    for each in reads:
        each.join(60)

    assert sorted(answer.from_standby for answer in results) == [False, False, True]
    assert standby.reads == 1
    hedged.close()


@pytest.mark.parametrize(
    ("down_after_s", "deadline_s"), [(0.05, 240), (120, 0.5)], ids=["no response", "deadline"]
)
def test_no_read_waits_for_an_unresponsive_primary(gate, down_after_s, deadline_s):
    # Regression: 10 of 29 reads ended with DeadlineExceeded, since those over the budget waited a
    # second.
    clients, each = 10, 5
    hedged = reading(
        Gated(a_store(shop=b"primary"), gate), a_store(shop=b"standby"), deadline_s=deadline_s
    )
    hedged.policy.down_after_s = down_after_s
    results = []

    def client():
        results.extend(hedged.read(lambda store: store.get(URL)) for _ in range(each))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(results) == clients * each
    assert all(answer.from_standby for answer in results)
    hedged.close()


def test_primary_that_was_idle_for_a_while_is_not_considered_down(gate):
    primary = Gated(a_store(shop=b"primary"), gate)
    hedged = reading(primary, a_store(shop=b"standby"), deadline_s=240)
    hedged.policy.down_after_s = 120
    hedged._last_response_s -= 600
    hedged.policy.hedge()  # the budget is spent
    opened = threading.Thread(target=lambda: (wait_until(lambda: primary.reads), gate.set()))
    opened.start()

    assert not hedged.read(lambda store: store.get(URL)).from_standby

    opened.join(60)
    hedged.close()


def test_primary_is_down_after_ten_times_its_99th_percentile():
    policy, _ = simulated(healthy)
    assert policy.down_after_s == MIN_DOWN_S
    policy, _ = simulated(lambda rng: 20 * healthy(rng))
    assert policy.down_after_s == MAX_DOWN_S


@pytest.mark.parametrize("error", [None, StoreUnavailable("standby", "is unavailable")])
def test_standby_without_the_record_does_not_answer_for_the_primary(gate, error):
    standby = Gated(a_store(), error=error)
    hedged = reading(Gated(a_store(shop=b"primary"), gate), standby)
    opened = threading.Thread(target=lambda: (wait_until(lambda: standby.reads), gate.set()))
    opened.start()

    record = hedged.read(lambda store: store.get(URL))

    opened.join(60)
    assert (record.value.fields["of"], record.from_standby) == (b"primary", False)
    hedged.close()


def test_primary_outage_is_hidden_for_any_budget():
    unavailable = StoreUnavailable("hbase", "is unavailable")
    hedged = reading(Gated(a_store(), error=unavailable), a_store(shop=b"standby"))

    record = [hedged.read(lambda store: store.get(URL)) for _ in range(100)]

    assert all(answer.from_standby and answer.value.fields["of"] == b"standby" for answer in record)
    with pytest.raises(StoreUnavailable, match="is unavailable"):
        hedged.read(lambda store: store.get("http://unknown.example/"))
    hedged.close()


def test_bad_input_is_not_sent_to_the_standby():
    standby = Gated(a_store())
    hedged = reading(a_store(), standby)
    hedged.policy.delay_s = 60

    with pytest.raises(InvalidUrl):
        hedged.read(lambda store: store.get("nonsense"))

    assert standby.reads == 0
    hedged.close()


def test_standby_is_read_occasionally_to_stay_warm():
    standby = Gated(a_store())
    hedged = reading(a_store(shop=b"primary"), standby)
    hedged.policy.delay_s = 60

    for _ in range(50):
        hedged.policy.count_read()
        hedged.policy.count_read()
    hedged.read(lambda store: store.get(URL))

    wait_until(lambda: standby.reads == 1)
    assert (hedged.policy.mirrored, hedged.policy.hedged) == (1, 0)
    assert INITIAL_DELAY_S == 0.02
    hedged.close()


class Counted:
    """A store whose reads report a number of bytes, and may wait for a gate before the last row."""

    def __init__(self, name, gate=None):
        self.name, self._gate = name, gate
        self.began, self.ended, self.stopped = [], [], threading.Event()

    def get(self, size):
        self.began.append(size)
        try:
            counted_rows().add(size)
            if self._gate is not None:
                assert self._gate.wait(60)
            counted_rows().add(1)
        except (ReadAbandoned, TooManyReads):
            self.stopped.set()
            raise
        self.ended.append(size)
        return self.name


def test_reads_with_a_standby_are_bounded():
    """Regression: only reads of servers without a standby were bounded."""
    hedged = reading(Counted("primary"), standby := Counted("standby"))
    hedged.policy.delay_s = 60

    with pytest.raises(SizeExceeded, match="select the fields to read"):
        hedged.read(lambda store: store.get(MAX_BYTES + 1))

    assert standby.began == [], "the record on the standby has the same size"
    hedged.close()


def test_stalled_large_reads_do_not_use_up_the_permits_of_the_standby(gate):
    primary, standby = Counted("primary", gate), Counted("standby")
    hedged = reading(primary, standby, deadline_s=60)
    hedged.policy.down_after_s = 0.05

    results = [
        hedged.read(lambda store: store.get(MIN_LIMITED_BYTES + 1))
        for _ in range(MAX_CONCURRENT + 1)
    ]

    assert [answer.value for answer in results] == ["standby"] * (MAX_CONCURRENT + 1)
    hedged.close()


def test_large_reads_take_turns(gate):
    hedged = reading(Counted("primary", gate), Counted("standby", gate))
    hedged.policy.delay_s = 60
    first = [
        threading.Thread(target=hedged.read, args=[lambda store: store.get(MIN_LIMITED_BYTES + 1)])
        for _ in range(MAX_CONCURRENT)
    ]
    for each in first:
        each.start()
    wait_until(lambda: hedged._permits[0]._value == 0, otherwise="a permit is free")

    with pytest.raises(TooManyReads):
        hedged.read(lambda store: store.get(MIN_LIMITED_BYTES + 1))

    gate.set()
    for each in first:
        each.join(60)
    assert hedged._permits[0]._value == MAX_CONCURRENT
    hedged.close()


def test_slower_store_stops_when_the_other_has_answered(gate):
    """Regression: it read to the end although the result was discarded."""
    hedged = reading(primary := Counted("primary", gate), Counted("standby"))

    assert hedged.read(lambda store: store.get(1)).from_standby
    gate.set()

    assert primary.stopped.wait(60)
    assert primary.ended == []
    hedged.close()


def test_large_read_is_not_repeated_to_keep_the_standby_warm():
    hedged = reading(Counted("primary"), standby := Counted("standby"))
    hedged.policy.delay_s = 60
    for _ in range(100):
        hedged.policy.count_read()

    hedged.read(lambda store: store.get(MIN_LIMITED_BYTES + 1))

    assert standby.stopped.wait(60)
    assert (hedged.policy.mirrored, standby.ended) == (1, [])
    hedged.close()
