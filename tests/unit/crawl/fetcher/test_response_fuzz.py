"""A short part of the fuzz runs."""

from collections import Counter

import pytest

from tests.fuzz import fuzz_http, fuzz_http2


@pytest.mark.parametrize("target", [fuzz_http, fuzz_http2])
def test_mutated_responses_give_a_response_or_a_fault(target):
    outcomes = Counter(target.one_input(data) for data in target.mutations(seed=1, count=4000))

    assert set(outcomes) == {"answer", "fault"}
    assert min(outcomes.values()) > 400
