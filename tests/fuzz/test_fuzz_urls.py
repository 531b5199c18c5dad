"""A slice of the fuzz run, the same each time, then whatever Hypothesis thinks of."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzz_urls import SEEDS, mutations, one_input
from tests.support.examples import examples


def test_seeds_and_mutations_of_them_break_nothing():
    results = [one_input(data) for data in [*SEEDS, *mutations(seed=1, count=1_500)]]

    assert sum(map(bool, results)) > 500
    assert not all(results)


@examples(60)
@given(st.binary(max_size=80))
def test_any_bytes_break_nothing(data):
    assert all(url.startswith(("http://", "https://")) for url in one_input(data))
