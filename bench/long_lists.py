"""
Measure the CPU of merging and reading a long list of inlinks, such as that of a start page.

    python -m bench.long_lists [--links 100000] [--rounds 5]

Each compaction adds 250 links, which are merged into segments, in memory. It prints the CPU per
link of merging, and of reading the first 20 links, 20 in the middle, and all.
"""

from __future__ import annotations

import argparse
import random
import time
from itertools import islice
from statistics import median

from bench.quick import add_quick
from zengraph._naming import Naming
from zengraph.links._inlinks.delta_names import delta_column, delta_name
from zengraph.links._inlinks.postings import pack
from zengraph.links._inlinks.segments import Segments
from zengraph.tables.memory import MemoryTables

TARGET = bytes(16)
BATCH = 250
VERSIONS = 4


def url(number: int) -> bytes:
    version = number % VERSIONS
    return b"https://docs.example/en/3.%d/some/folder/page-%08d.html" % (version, number)


def merged(links: int) -> tuple[Segments, MemoryTables, float]:
    """Return a list with this many links, and the CPU in us that each took."""
    tables, rng, cpu_s = MemoryTables(), random.Random(1), 0.0
    lists = Segments(tables, Naming())
    for number in range(1, links // BATCH + 1):
        sources = (url(rng.randrange(10**8)) for _ in range(BATCH))
        lines = [b"%s\t%013d\t+\t\tStart page" % (source, number) for source in sources]
        column = delta_column(delta_name(0, number))
        tables["l"].put(TARGET, {column: pack(BATCH, lines)}, at_ms=number)
        before_s = time.thread_time()
        lists.tidy([TARGET], number)
        cpu_s += time.thread_time() - before_s
    return lists, tables, 1e6 * cpu_s / links


def read_us(lists: Segments, tables: MemoryTables, count: int, start: bytes = b"") -> float:
    """Return the CPU in us of reading this many links."""
    row, before_s = tables["l"].get(TARGET), time.thread_time()
    for _ in islice(lists.lines(TARGET, row, (), start), count):
        pass
    return 1e6 * (time.thread_time() - before_s)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    add_quick(parser, links=2000, rounds=1)
    args = parser.parse_args()
    found = []
    for _ in range(args.rounds):
        lists, tables, merging_us = merged(args.links)
        middle = url(args.links * VERSIONS // 2 + 1)
        reads = ((20, b""), (20, middle), (args.links, b""))
        found.append((merging_us, *(read_us(lists, tables, *read) for read in reads)))
    names = ("merging a link", "reading the first 20", "20 in the middle", "all")
    for name, values in zip(names, zip(*found, strict=True), strict=True):
        print(f"{name}: {median(values):.1f} us of CPU, {min(values):.1f} at least")


if __name__ == "__main__":
    main()
