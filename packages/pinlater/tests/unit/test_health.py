from pinlater.health import ReapGuard

MINUTE_MS = 60_000


def test_nothing_is_reaped_before_the_first_contact():
    assert ReapGuard(MINUTE_MS).reap_before_ms(0) == 0


def test_old_server_is_reaped_immediately_and_a_new_one_after_a_claim_timeout():
    old, new = ReapGuard(MINUTE_MS), ReapGuard(MINUTE_MS)
    old.record_connection(10**12, 10 * MINUTE_MS, 0)
    new.record_connection(10**12, 1000, 0)

    assert old.reap_before_ms(0) >= 10**12
    assert new.reap_before_ms(58_000) == 0
    assert new.reap_before_ms(59_000) >= 10**12 + 59_000


def test_nothing_is_reaped_for_a_claim_timeout_after_an_outage():
    guard = ReapGuard(MINUTE_MS)
    guard.record_connection(10**12, 10 * MINUTE_MS, 0)
    guard.record_loss()
    guard.record_connection(10**12 + 5000, 10 * MINUTE_MS, 5000)

    assert guard.reap_before_ms(64_000) == 0
    assert guard.reap_before_ms(65_000) > 0


def test_nothing_is_reaped_after_a_clock_jump_until_claims_could_be_extended():
    guard = ReapGuard(MINUTE_MS)
    guard.record_connection(10**12, 10 * MINUTE_MS, 0)
    before_leap = guard.reap_before_ms(1000)
    guard.observe_clock(10**12 + 3_600_000, 1000)

    assert before_leap < 10**12 + 5000
    assert guard.reap_before_ms(2000) == 0
    assert guard.reap_before_ms(62_000) > 10**12 + 3_600_000
