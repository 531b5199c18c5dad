"""A bounded slice of the fuzz run."""

from collections import Counter

from tests.fuzz.fuzz_http import mutations, one_input


def test_mutated_answers_are_answers_or_faults():
    outcomes = Counter(one_input(data) for data in mutations(seed=1, count=4000))

    assert set(outcomes) == {"answer", "fault"}
    assert min(outcomes.values()) > 400
