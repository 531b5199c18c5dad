"""When an egress route counts as failing, and when it is retried."""

from aragog.crawl.egress.health import MAX_RETRY_S, EgressHealth
from aragog.runtime.clock import ManualClock


def health():
    reported = []
    clock = ManualClock()
    return EgressHealth(clock, lambda *row: reported.append(row)), clock, reported


def usable(health, *names):
    return list(health.usable_routes(names))


def test_failing_route_is_skipped_until_one_request_retries_it():
    ways, clock, _ = health()
    ways.record_failure("a", "no answer")
    assert usable(ways, "a", "b") == ["b"]

    clock.advance_ms(5_000)
    assert usable(ways, "a", "b") == ["a", "b"]
    assert usable(ways, "a", "b") == ["b"]

    ways.record_success("a")
    assert usable(ways, "a", "b") == ["a", "b"]


def test_every_failed_retry_doubles_the_wait_up_to_five_minutes():
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


def test_concurrent_failures_count_once():
    ways, _, reported = health()
    for _ in range(20):
        ways.record_failure("a", "no answer")

    assert ways.retry_in_ms(["a"]) == 5_000
    assert len(reported) == 1


def test_retry_that_is_killed_does_not_block_the_route_for_long():
    ways, clock, _ = health()
    ways.record_failure("a", "no answer")
    clock.advance_ms(5_000)
    assert usable(ways, "a") == ["a"]

    clock.advance_ms(15_000)
    assert usable(ways, "a") == ["a"]


def test_failures_and_recoveries_are_reported_once_each():
    ways, _, reported = health()
    ways.record_success("a")
    ways.record_failure("a", "no answer")
    ways.record_success("a")
    ways.record_success("a")

    assert [(name, state and state.reason) for name, state in reported] == [
        ("a", "no answer"), ("a", None),
    ]  # fmt: skip


def test_unreachable_domains_count_only_in_a_row():
    ways, _, reported = health()
    for n in range(4):
        ways.record_unreachable("a", f"{n}.test", "502")
    ways.record_success("a")
    for n in range(4):
        ways.record_unreachable("a", "same.test", "502")
        ways.record_unreachable("a", f"{n % 3}.test", "502")
    assert reported == []

    ways.record_unreachable("a", "fifth.test", "502")
    assert "5 domains in a row" in ways.reason(["a"])


def test_earliest_retry_of_several_routes_counts():
    ways, clock, _ = health()
    ways.record_failure("a", "x")
    clock.advance_ms(2_000)
    ways.record_failure("b", "y")

    assert ways.retry_in_ms(["a", "b"]) == 3_000
    assert ways.reason(["a", "b"]) == "a: x; b: y"
    assert ways.retry_in_ms(["a", "c"]) == 0
