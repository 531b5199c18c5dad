"""When an egress route counts as failing, and when it is tried again."""

from aragog.crawl.egress.health import MAX_RETRY_S, EgressHealth
from aragog.runtime.clock import ManualClock


def health():
    told = []
    clock = ManualClock()
    return EgressHealth(clock, lambda *row: told.append(row)), clock, told


def usable(of, *names):
    return list(of.usable(names))


def test_a_failing_way_is_left_out_until_its_trial_and_one_request_tries_it():
    ways, clock, _ = health()
    ways.record_failure("a", "no answer")
    assert usable(ways, "a", "b") == ["b"]

    clock.advance_ms(5_000)
    assert usable(ways, "a", "b") == ["a", "b"]
    assert usable(ways, "a", "b") == ["b"]

    ways.record_success("a")
    assert usable(ways, "a", "b") == ["a", "b"]


def test_each_trial_that_fails_doubles_the_wait_up_to_five_minutes():
    ways, clock, _ = health()
    ways.record_failure("a", "no answer")
    waits_ms = []
    for _ in range(9):
        waits_ms.append(ways.retry_in_ms(["a"]))
        clock.advance_ms(waits_ms[-1])
        assert usable(ways, "a") == ["a"]
        ways.record_failure("a", "no answer")

    assert waits_ms[:4] == [5_000, 10_000, 20_000, 40_000]
    assert waits_ms[-1] == MAX_RETRY_S * 1000


def test_requests_that_were_under_way_when_a_way_failed_are_not_trials():
    ways, _, told = health()
    for _ in range(20):
        ways.record_failure("a", "no answer")

    assert ways.retry_in_ms(["a"]) == 5_000
    assert len(told) == 1


def test_a_request_that_is_killed_in_its_trial_holds_nobody_back_for_long():
    ways, clock, _ = health()
    ways.record_failure("a", "no answer")
    clock.advance_ms(5_000)
    assert usable(ways, "a") == ["a"]

    clock.advance_ms(15_000)
    assert usable(ways, "a") == ["a"]


def test_failures_and_recoveries_are_told_once_each():
    ways, _, told = health()
    ways.record_success("a")
    ways.record_failure("a", "no answer")
    ways.record_success("a")
    ways.record_success("a")

    assert [(name, state and state.reason) for name, state in told] == [
        ("a", "no answer"), ("a", None),
    ]  # fmt: skip


def test_domains_that_a_proxy_does_not_reach_count_in_a_row_only():
    ways, _, told = health()
    for n in range(4):
        ways.record_unreached("a", f"{n}.test", "502")
    ways.record_success("a")
    for n in range(4):
        ways.record_unreached("a", "same.test", "502")
        ways.record_unreached("a", f"{n % 3}.test", "502")
    assert told == []

    ways.record_unreached("a", "fifth.test", "502")
    assert "5 domains in a row" in ways.reason(["a"])


def test_the_soonest_trial_of_several_counts():
    ways, clock, _ = health()
    ways.record_failure("a", "x")
    clock.advance_ms(2_000)
    ways.record_failure("b", "y")

    assert ways.retry_in_ms(["a", "b"]) == 3_000
    assert ways.reason(["a", "b"]) == "a: x; b: y"
    assert ways.retry_in_ms(["a", "c"]) == 0
