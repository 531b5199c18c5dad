"""A bounded slice of the fuzz run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FUZZ = Path(__file__).parents[2] / "fuzz" / "fuzz_robots.py"


def test_a_slice_of_the_robots_fuzz_run():
    spec = importlib.util.spec_from_file_location("fuzz_robots", FUZZ)
    assert spec
    assert spec.loader
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)

    for data in fuzz.mutations(seed=1, count=1500):
        fuzz.target(data)
