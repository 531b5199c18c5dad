"""
Reference work whose CPU time depends only on the machine, used to scale measured costs.

    python -m bench.reference

One third each is Python bytecode, small allocations, and native code over a cache-sized buffer
(JSON, SHA-256, zlib), like the work on a fetched page. `make plan-check` divides its measured CPU
times by it.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
import zlib

from bench import figures

TEXT = " ".join(str(random.Random(1).random()) for _ in range(20_000)).encode()
RECORDS = json.dumps(
    [{"url": f"https://host{n}.example/{n}", "links": [n] * 9} for n in range(900)]
)
ROUNDS = 7


def work() -> int:
    """Do about 60 ms of CPU work. The result keeps the work from being optimized away."""
    total = 0
    for n in range(150_000):
        total += n & 7
    words = {f"{n}:{n * 7 % 1000}": (n, str(n)) for n in range(15_000)}
    pieces = [key.split(":")[1] for key in words]
    total += len(set(pieces)) + len(json.loads(RECORDS)) + len(zlib.compress(TEXT, 1))
    return total + hashlib.sha256(TEXT * 8).digest()[0]


def reference_ms(rounds: int = ROUNDS) -> float:
    """
    Return the minimum CPU milliseconds of some rounds of the work, about half a second
    in all.
    """
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best * 1000


def mean_ms(rounds: int = ROUNDS) -> float:
    """Return the mean instead, which shows the machine's speed under its current load."""
    before = time.process_time()
    for _ in range(rounds):
        work()
    return (time.process_time() - before) / rounds * 1000


def main() -> None:
    best_ms, average_ms = reference_ms(), mean_ms()
    print(f"reference work: {best_ms:.1f} CPU ms at best, {average_ms:.1f} on average")
    figures.report(reference=average_ms)


if __name__ == "__main__":
    main()
