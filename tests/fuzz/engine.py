"""
Run a fuzz target: under atheris if it is installed, otherwise on a limited number of mutated seeds.

    python -m tests.fuzz.fuzz_robots [COUNT]                 mutated seeds
    python -m tests.fuzz.fuzz_robots -max_total_time=60      with atheris: its options
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence


def edited(
    rng: random.Random, seeds: Sequence[bytes], tokens: Sequence[bytes], *, join: bytes = b""
) -> bytes:
    """A few seeds joined, with bytes, tokens and pieces of seeds replaced, removed and inserted."""
    data = bytearray(join.join(rng.choices(seeds, k=rng.randint(1, 3))))
    for _ in range(rng.randint(0, 10)):
        data = data or bytearray(b"x")
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2:
                data[at:at] = rng.choice(tokens) * rng.randint(1, 3)
            case 3:
                data[at : at + 3] = rng.choice(tokens)
            case _:
                piece = rng.choice(seeds)
                start = rng.randrange(len(piece))
                data[at:at] = piece[start : start + rng.randint(1, 60)]
    return bytes(data)


def fuzz(
    target: Callable[[bytes], object], mutations: Callable[[int, int], Iterable[bytes]]
) -> None:
    """
    Pass inputs to `target` until it raises or none are left.

    Args:
        target: must not raise.
        mutations: returns that many inputs for a seed and a count; the count is 20,000 unless the
            command line sets it.
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
    atheris.Setup(sys.argv, lambda data: (target(data), None)[1])
    atheris.Fuzz()
