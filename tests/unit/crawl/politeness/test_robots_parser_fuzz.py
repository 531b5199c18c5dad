"""A short part of the fuzz run."""

from collections import Counter

from tests.fuzz.fuzz_robots import mutations, one_input


def test_robots_parser_survives_a_short_fuzz_run():
    outcomes = Counter(one_input(data) for data in mutations(seed=1, count=1500))

    assert outcomes[True] > 100
    assert outcomes[False] > 100
