"""A bounded slice of the fuzz run."""

from tests.fuzz.fuzz_pages import mutations, one_input


def test_mutated_pages_are_read():
    for data in mutations(seed=7, count=300):
        one_input(data)
