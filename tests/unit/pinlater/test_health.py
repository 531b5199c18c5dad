from aragog.pinlater.health import Breaker, ReapGuard

MINUTE_MS = 60_000


def test_a_shard_goes_out_after_three_errors_in_a_row_and_comes_back_with_an_answer():
    breaker = Breaker()
    breaker.failed(0.0)
    breaker.failed(0.0)
    assert breaker.healthy
    breaker.failed(0.0)

    assert not breaker.healthy
    assert not breaker.worth_asking(4.9)
    assert breaker.worth_asking(5.0)
    breaker.answered(0.01, 5.0)
    assert breaker.healthy


def test_an_answer_between_errors_starts_the_count_anew():
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(0.0)
        breaker.failed(0.0)
        breaker.answered(0.01, 0.0)

    assert breaker.healthy


def test_one_timeout_or_one_slow_answer_is_enough():
    timeout, slow = Breaker(), Breaker()
    timeout.failed(0.0, at_once=True)
    slow.answered(1.5, 0.0)

    assert not timeout.healthy
    assert not slow.healthy


def test_a_shard_that_stays_away_is_asked_every_five_seconds():
    breaker, now_s, rests = Breaker(), 0.0, []
    for _ in range(6):
        breaker.failed(now_s, at_once=True)
        rests.append(breaker.probe_at_s - now_s)
        now_s = breaker.probe_at_s

    assert rests == [5] * 6
    assert breaker.out_since_s == 0.0


def test_nothing_is_reaped_before_the_server_was_heard_of():
    assert ReapGuard(MINUTE_MS).reap_before_ms(0) == 0


def test_an_old_server_is_reaped_at_once_and_a_new_one_after_a_claim_timeout():
    old, new = ReapGuard(MINUTE_MS), ReapGuard(MINUTE_MS)
    old.connected(10**12, 10 * MINUTE_MS, 0)
    new.connected(10**12, 1000, 0)

    assert old.reap_before_ms(0) >= 10**12
    assert new.reap_before_ms(58_000) == 0
    assert new.reap_before_ms(59_000) >= 10**12 + 59_000


def test_after_a_loss_nothing_is_reaped_for_a_claim_timeout():
    guard = ReapGuard(MINUTE_MS)
    guard.connected(10**12, 10 * MINUTE_MS, 0)
    guard.lost()
    guard.connected(10**12 + 5000, 10 * MINUTE_MS, 5000)

    assert guard.reap_before_ms(64_000) == 0
    assert guard.reap_before_ms(65_000) > 0


def test_a_clock_that_leaps_ahead_reaps_nothing_until_claims_could_be_extended():
    guard = ReapGuard(MINUTE_MS)
    guard.connected(10**12, 10 * MINUTE_MS, 0)
    before_leap = guard.reap_before_ms(1000)
    guard.observe_clock(10**12 + 3_600_000, 1000)

    assert before_leap < 10**12 + 5000
    assert guard.reap_before_ms(2000) == 0
    assert guard.reap_before_ms(62_000) > 10**12 + 3_600_000
