"""A bounded slice of the fuzz run."""

from tests.fuzz.fuzz_robots import mutations, one_input


def test_a_slice_of_the_robots_fuzz_run():
    for data in mutations(seed=1, count=1500):
        one_input(data)
