"""
Measure how fast several processes compact the link journal together.

    python -m bench.compactors [--engine sqlite|postgres|hbase] [--pages 4000] [--compactors 1,2]

Each number of processes compacts the links of as many pages of 185 links, of 40 pages a site, in
turn, `--rounds` times. Wall-clock and CPU are those of the fastest round; CPU is that of the
compactors, without a server's.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time

from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from aragog.zen.tables import Tables
from bench.quick import add_quick
from bench.urlstore import BATCH, ENGINES, pages_of

FORK = multiprocessing.get_context("fork")
_PAUSE_S = 0.01


def opened(tables: Tables) -> UrlStore:
    return UrlStore(tables, MemoryContent(), StoreSettings(compactions=64))


def compact(tables: Tables) -> None:
    """Compact until nothing is left, beside others."""
    maintenance = opened(tables).maintenance
    while (report := maintenance.compact_links(1000)).left:
        if not report.journal_rows:
            time.sleep(_PAUSE_S)


def measured(tables: Tables, compactors: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds until so many processes have compacted everything."""
    processes = [FORK.Process(target=compact, args=(tables,)) for _ in range(compactors)]
    before, start = children_cpu_s(), time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert not any(process.exitcode for process in processes)
    return time.perf_counter() - start, children_cpu_s() - before


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--compactors", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    add_quick(parser, pages=200, rounds=1)
    options = parser.parse_args()
    counts = [int(count) for count in options.compactors.split(",")]
    best: dict[int, tuple[float, float]] = {}
    for round_ in range(options.rounds):
        pages = pages_of(options.pages, seed=round_ + 1)
        for compactors in counts:
            with ENGINES[options.engine]() as (tables, _):
                store = opened(tables)
                for at in range(0, len(pages), BATCH):
                    store.write_pages(pages[at : at + BATCH])
                result = measured(tables, compactors)
                best[compactors] = min(result, best.get(compactors, result))
    print(f"{options.engine}, {options.pages} pages, {os.cpu_count()} cores")
    first_wall, first_cpu = best[counts[0]]
    for compactors, (wall, cpu) in best.items():
        print(
            f"{compactors} compactors: {wall / options.pages * 1e3:.3f} ms a page, "
            f"{cpu / options.pages * 1e3:.3f} ms of CPU; {first_wall / wall:.2f} times as fast as "
            f"{counts[0]}, {cpu / first_cpu:.2f} times the CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
