"""A open_host_limits slice of the fuzz run."""

from collections import Counter

from tests.fuzz.fuzz_robots import mutations, one_input


def test_a_slice_of_the_robots_fuzz_run():
    outcomes = Counter(one_input(data) for data in mutations(seed=1, count=1500))

    assert outcomes[True] > 100
    assert outcomes[False] > 100
