"""A bounded slice of the fuzz run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "fuzz" / "fuzz_pages.py"


def test_mutated_pages_are_read():
    spec = importlib.util.spec_from_file_location("fuzz_pages", FUZZ)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)

    for data in fuzz.mutations(seed=7, count=300):
        fuzz.target(data)
