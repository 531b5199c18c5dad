"""
Measure how fast several processes compact the link journal together.

    python -m bench.compactors [--engine sqlite|postgres|hbase] [--pages 4000] [--compactors 1,2]

Each number of processes in turn compacts the links of the same number of pages (185 links per page,
40 pages per site), `--rounds` times. The ceiling is the same number of single compactors at once,
each with its own store and server, which shows how much this machine allows. The fastest round
counts. CPU is that of the compactors; `server` is that of PostgreSQL or HBase with its gateway.
`others` is the share of the machine that other programs used in that round.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

import psutil

from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from bench.open_loop import busy_s
from bench.quick import add_quick
from bench.urlstore import BATCH, ENGINES, pages_of
from zengraph.tables import Tables

FORK = multiprocessing.get_context("fork")
_PAUSE_S = 0.01


class Round(NamedTuple):
    """The results of one round, in seconds."""

    wall: float
    cpu: float
    """CPU of the compactors."""
    server: float
    """CPU of the engine's processes."""
    others: float
    """Share of the machine that other programs used."""


def open_store(tables: Tables) -> UrlStore:
    return UrlStore(tables, MemoryContent(), StoreSettings(compactions=64))


def compact(tables: Tables, start: object) -> None:
    """Compact until nothing is left, together with others."""
    start.wait()  # type: ignore[attr-defined]
    maintenance = open_store(tables).maintenance
    while (report := maintenance.compact_links(1000)).left:
        if not report.journal_rows:
            time.sleep(_PAUSE_S)


def measure(stores: Sequence[Tables], compactors: int, pages: Sequence[PageWrite]) -> Round:
    """Measure how long `compactors` processes per store take to compact these pages."""
    start = FORK.Event()
    # Forked before anything is written, because a store that has written has a thread, which may
    # hold a SQLite lock during the fork.
    processes = [
        FORK.Process(target=compact, args=(tables, start))
        for tables in stores
        for _ in range(compactors)
    ]
    for process in processes:
        process.start()
    for tables in stores:
        store = open_store(tables)
        for offset in range(0, len(pages), BATCH):
            store.write_pages(pages[offset : offset + BATCH])
    servers, compactors_before, started = (
        servers_cpu_s(processes),
        children_cpu_s(),
        time.perf_counter(),
    )
    busy, total = busy_s()
    start.set()
    for process in processes:
        process.join()
    wall = time.perf_counter() - started
    busy, total = busy_s()[0] - busy, busy_s()[1] - total
    cpu, server = children_cpu_s() - compactors_before, servers_cpu_s(processes) - servers
    assert not any(process.exitcode for process in processes)
    assert not any(open_store(tables).maintenance.compaction_lag_ms() for tables in stores)
    return Round(wall, cpu, server, max(0.0, busy - cpu - server) / total)


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def servers_cpu_s(excluded: Sequence[object]) -> float:
    """Return the CPU of all descendants, including ended ones, without the compactors."""
    pids = {process.pid for process in excluded}  # type: ignore[attr-defined]
    usage = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # its time now counts for its parent
            usage += sum(process.cpu_times()[:4]) if process.pid not in pids else 0.0
    return usage


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
    # (stores, compactors per store)
    plan = [(1, count) for count in counts] + [(count, 1) for count in counts if count > 1]
    best: dict[tuple[int, int], Round] = {}
    for round_ in range(options.rounds):
        pages = pages_of(options.pages, seed=round_ + 1)
        for stores, compactors in plan:
            with ExitStack() as stack:
                engines = [stack.enter_context(ENGINES[options.engine]()) for _ in range(stores)]
                result = measure([tables for tables, _ in engines], compactors, pages)
            key = stores, compactors
            best[key] = min(result, best.get(key, result))
    print(f"{options.engine}, {options.pages} pages, {os.cpu_count()} cores")
    report(best, options.pages)


def report(best: dict[tuple[int, int], Round], pages: int) -> None:
    """Print a row for each number of compactors, and one for its ceiling."""
    first = next(iter(best.values()))
    for (stores, compactors), result in best.items():
        wall, cpu, server = (s / stores / pages * 1e3 for s in result[:3])
        speed, ceiling = first.wall / result.wall * stores, best.get((compactors, 1))
        text = f"{compactors} compactors" if stores == 1 else f"ceiling of {stores}"
        text += (
            f": {wall:.3f} ms per page, {cpu:.3f} ms of CPU, server {server:.3f}; {speed:.2f} times "
            f"as fast as 1, {result.cpu / stores / first.cpu:.2f} times the CPU"
        )
        if stores == 1 and compactors > 1 and ceiling:
            text += f", {ceiling.wall / result.wall / compactors:.0%} of the ceiling"
        print(f"{text}; others {result.others:.0%}", flush=True)


if __name__ == "__main__":
    main()
