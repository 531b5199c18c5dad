"""
Measure the CPU of writing packs and nodes for a page, as `store` does, and the kernel's part of it.

    python -m bench.store_cpu [--set docs news large] [--rounds 7]

Each round writes 1,000 real pages in batches of 25 to a new store on SQLite and a folder, twice:
into memory that Linux has not used before, and into memory that it has just freed. On a virtual
machine, the host assigns memory when it is first used, which Linux counts as CPU of the process
that writes. So the first figure depends on the machine. Crawls write into both kinds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from os import times
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.settings import Settings
from aragog.urlstore.records import PageWrite
from bench.crawl import page_sets
from bench.packs import collect_like_a_worker, pages, write_packed
from bench.quick import add_quick

MEMORY = ("new", "used before")
_FREED_BYTES = 64_000_000
"""More than 1,000 large pages take."""


def write(folder: Path, some: Sequence[PageWrite]) -> tuple[float, float]:
    """Write pages to a new store. Returns the CPU of a page in ms: all of it, and the kernel's."""
    with closing(url_store(replace(Settings(), data_dir=folder))) as store:
        before_s, before = time.process_time(), times()
        write_packed(store, some)
        cpu_s, kernel_s = time.process_time() - before_s, times().system - before.system
    return 1e3 * cpu_s / len(some), 1e3 * kernel_s / len(some)


def free_memory(folder: Path) -> None:
    """Write a file and delete it, so that Linux uses its memory for the next files."""
    file = folder / "freed"
    file.write_bytes(b"x" * _FREED_BYTES)
    file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=page_sets.ALL, nargs="+", default=[*page_sets.ALL])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pages", type=int, default=1000)
    add_quick(parser, set=["docs"], rounds=1, pages=50)
    options = parser.parse_args()
    made = {kind: pages(options.pages, 0, kind) for kind in options.set}
    collect_like_a_worker()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="aragog-store-") as name:
        folder = Path(name)
        for number in range(-1, options.rounds):  # the first round imports modules
            for memory in MEMORY:
                for kind, some in made.items():
                    if memory == "used before":
                        free_memory(folder)
                    cost = write(folder / f"{kind}{number}{memory}", some)
                    if number >= 0:
                        found.setdefault((kind, memory), []).append(cost)
    table = Table("pages", "memory", "CPU ms a page", "least", "of it the kernel")
    for (kind, memory), costs in found.items():
        cpu, kernel = zip(*costs, strict=True)
        cells = (median(cpu), min(cpu), median(kernel))
        table.add_row(kind, memory, *(f"{ms:.3f}" for ms in cells))
    Console().print(table)


if __name__ == "__main__":
    main()
