"""A bounded slice of the fuzz run."""

from tests.fuzz.fuzz_http import mutations, one_input


def test_mutated_answers_are_answers_or_faults():
    for data in mutations(seed=1, count=4000):
        one_input(data)
