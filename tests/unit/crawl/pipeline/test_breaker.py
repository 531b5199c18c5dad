"""When a server leaves the rotation, and when it is probed again."""

from aragog.crawl.pipeline.breaker import Breaker


def test_server_leaves_the_rotation_after_three_errors_in_a_row():
    breaker = Breaker()
    breaker.record_failure(0.0)
    breaker.record_failure(0.0)
    assert breaker.is_healthy
    breaker.record_failure(0.0)

    assert not breaker.is_healthy
    assert not breaker.can_call(4.9)
    assert breaker.can_call(5.0)
    breaker.record_success(0.01, 5.0)
    assert breaker.is_healthy


def test_success_between_errors_resets_the_count():
    breaker = Breaker()
    for _ in range(5):
        breaker.record_failure(0.0)
        breaker.record_failure(0.0)
        breaker.record_success(0.01, 0.0)

    assert breaker.is_healthy


def test_one_timeout_or_slow_response_is_enough():
    timeout, slow = Breaker(), Breaker()
    timeout.record_failure(0.0, is_fatal=True)
    slow.record_success(1.5, 0.0)

    assert not timeout.is_healthy
    assert not slow.is_healthy


def test_unreachable_server_is_probed_every_five_seconds():
    breaker, now_s, rests = Breaker(), 0.0, []
    for _ in range(6):
        breaker.record_failure(now_s, is_fatal=True)
        rests.append(breaker.probe_at_s - now_s)
        now_s = breaker.probe_at_s

    assert rests == [5] * 6
    assert breaker.out_since_s == 0.0


def test_wait_doubles_up_to_its_limit_and_resets_after_a_response():
    breaker, waits = Breaker(max_errors=1, first_wait_s=1, max_wait_s=10), []
    for _ in range(200):
        breaker.record_failure(100.0)
        waits.append(breaker.probe_at_s - 100.0)
    breaker.record_success(0.0, 101.0)
    breaker.record_failure(101.0)

    assert waits[:6] == [1, 2, 4, 8, 10, 10]
    assert waits[-1] == 10
    assert breaker.probe_at_s == 102.0
