"""A open_host_limits slice of the fuzz runs."""

from collections import Counter

import pytest

from tests.fuzz import fuzz_http, fuzz_http2


@pytest.mark.parametrize("target", [fuzz_http, fuzz_http2])
def test_mutated_answers_are_answers_or_faults(target):
    outcomes = Counter(target.one_input(data) for data in target.mutations(seed=1, count=4000))

    assert set(outcomes) == {"answer", "fault"}
    assert min(outcomes.values()) > 400
