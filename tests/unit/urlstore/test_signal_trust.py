"""How much the dates of a host are trusted, based on evidence."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.urlstore.signal_trust import (
    HALF_LIFE_MS,
    MAX_FETCHES,
    MIN_BELIEF,
    UNPROVEN_BELIEF,
    Evidence,
    HostTrust,
    add_evidence,
    decayed,
    from_cell,
    to_cell,
    with_feed,
)

NOW_MS = 1_700_000_000_000
evidence = st.builds(
    Evidence, st.floats(0, 1), st.booleans(), st.booleans(), st.floats(0, 1, exclude_max=True)
)


def seen(*, named, changed, expected=0.1, times=1):
    return [Evidence(changed, named, covered=True, expected=expected)] * times


def test_new_host_is_half_trusted_and_its_silence_is_not():
    assert HostTrust().belief == UNPROVEN_BELIEF
    assert HostTrust().stretch == 1


def test_host_with_correct_dates_is_trusted_and_so_is_its_silence():
    trust = add_evidence(HostTrust(), seen(named=True, changed=1, times=30), NOW_MS)
    trust = add_evidence(trust, seen(named=False, changed=0, times=30), NOW_MS)

    assert trust.belief > 0.7
    assert trust.recall > 0.9
    assert trust.stretch > 1.7


def test_dates_no_better_than_chance_are_not_trusted():
    """Pages change between half of all fetches, and all are listed each time."""
    rng = random.Random(1)
    found = [Evidence(float(rng.random() < 0.5), True, True, 0.5) for _ in range(100)]

    trust = add_evidence(HostTrust(), found, NOW_MS)

    assert (trust.is_proven, trust.belief, trust.stretch) == (True, 0.0, 1.0)


def test_wrong_dates_are_not_trusted():
    trust = add_evidence(HostTrust(), seen(named=True, changed=0, times=20), NOW_MS)

    assert trust.belief == 0


def test_silence_of_a_host_that_hides_changes_is_not_trusted():
    trust = add_evidence(HostTrust(), seen(named=True, changed=1, times=20), NOW_MS)
    concealing = add_evidence(trust, seen(named=False, changed=1, times=60), NOW_MS)

    assert concealing.recall < 0.3
    assert concealing.stretch < trust.stretch


def test_evidence_fades_so_a_distrusted_host_is_tried_again():
    trust = add_evidence(HostTrust(), seen(named=True, changed=0, times=20), NOW_MS)

    later = decayed(trust, NOW_MS + 4 * HALF_LIFE_MS)

    assert trust.belief < MIN_BELIEF
    assert later.belief == UNPROVEN_BELIEF


def test_host_keeps_up_to_three_feeds():
    trust = HostTrust()
    for key in "aabcd":
        trust = with_feed(trust, key)

    assert trust.feeds == ("a", "b", "c")


@given(st.lists(evidence, max_size=50), st.integers(0, 10**12))
def test_fractions_and_evidence_are_bounded(found, passed_ms):
    trust = add_evidence(HostTrust(at_ms=NOW_MS), found * 8, NOW_MS)
    trust = decayed(trust, NOW_MS + passed_ms)

    assert 0 <= trust.precision <= 1
    assert 0 <= trust.recall <= 1
    assert 1 <= trust.stretch <= 4.5
    assert max(trust.checked, trust.silent) <= MAX_FETCHES + 1e-6


@given(st.lists(evidence, max_size=20))
def test_trust_round_trips(found):
    trust = with_feed(add_evidence(HostTrust(), found, NOW_MS), "a")

    assert from_cell(to_cell(trust)) == trust


@pytest.mark.parametrize("cell", [None, b"", b"[2, 1, 2]", b"[1, 5]"])
def test_cell_of_another_version_is_a_new_host(cell):
    assert from_cell(cell) == HostTrust()


def test_unknown_numbers_in_a_cell_are_ignored():
    assert from_cell(to_cell(HostTrust(checked=3.0))[:-1] + b", 17]") == HostTrust(checked=3.0)
