"""
Run a fuzz target: under atheris where it is installed, else over a bounded slice of mutated seeds.

    python -m tests.fuzz.fuzz_robots [COUNT]                 the slice
    python -m tests.fuzz.fuzz_robots -max_total_time=60      with atheris: its options
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable


def fuzz(
    target: Callable[[bytes], object], mutations: Callable[[int, int], Iterable[bytes]]
) -> None:
    """
    Hand inputs to `target` until it raises or they are used up.

    Args:
        target: must not raise.
        mutations: of a seed and a count, that many inputs; 20,000 unless the command line says.
    """
    try:
        import atheris
    except ImportError:
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
        for data in mutations(random.randrange(2**32), count):
            try:
                target(data)
            except BaseException:
                print(f"one_input({data!r})", file=sys.stderr)
                raise
        print(f"{count} inputs, nothing raised")
        return
    atheris.instrument_all()
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
