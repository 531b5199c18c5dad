"""A fixed part of the fuzz run, then examples from Hypothesis."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.fuzz_urls import SEEDS, mutations, one_input
from tests.support.examples import examples


def test_seeds_and_their_mutations_are_read():
    results = [one_input(data) for data in [*SEEDS, *mutations(seed=1, count=1_500)]]

    assert sum(map(bool, results)) > 500
    assert not all(results)


@examples(60)
@given(st.binary(max_size=80))
def test_any_bytes_are_read(data):
    assert all(url.startswith(("http://", "https://")) for url in one_input(data))
