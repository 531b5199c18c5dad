"""A fixed slice of the fuzzing in tests/fuzz/fuzz_http.py."""

from __future__ import annotations

from tests.fuzz.fuzz_http import run


def test_mutated_answers_are_answers_or_faults():
    assert run(30, seed=1, rounds=4000) > 100
