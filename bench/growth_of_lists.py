"""
Measure what the inlinks of one host cost while it grows: the lists alone, without pages.

    python -m bench.growth_of_lists [--pages 60000] [--step 5000] [--batch 500]
    python -m bench.growth_of_lists --fill 125000 --pages 190000 --step 2500 --folder FOLDER
    python -m bench.growth_of_lists --pages 190000 --folder FOLDER --rounds 9

Adds the links within the host that `bench.growth_in_turn --one-host` writes (140 a page), one
compaction for each batch of pages, to a SQLite store. For each step it prints the CPU of a page,
the bytes that the process wrote to files, and the cells and bytes that it put into the table; and
for reading all inlinks of a random page, the CPU, and the cells and bytes that were read. Cells and
bytes do not depend on load. The last line is the mean of all steps. `--fill` first adds pages in
large batches, which takes less time.

`--folder` keeps the store, and a later run continues it; if it already has all pages, its lists are
only read, `--rounds` times. To compare two commits, run each in its own checkout, with a copy of
the same folder, at the same time.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.counted_tables import counted
from bench.growth import collect_garbage_as_workers_do, written_bytes
from bench.quick import add_quick
from bench.urlstore import NAMING, NOW_MS, of_one_host, pages_of
from zengraph.links import LinkChanges, PostingLists
from zengraph.tables.sqlite import SqliteTables

HOST = b"https://www.one.example/"
READS = 300
FILL_BATCH = 5_000
_NUMBERS = "numbers"
"""The file with the number of pages in a folder, and the number of its last compaction."""


class WriteCost(NamedTuple):
    """What it takes to add the links of a page."""

    cpu_ms: float
    disk_kb: float
    cells: float
    kb: float


class ReadCost(NamedTuple):
    """What it takes to read all inlinks of a page."""

    cpu_us: float
    gets: float
    cells: float
    kb: float


def lines_of(first: int, count: int) -> dict[bytes, bytes]:
    """The posting lines of some pages of one host, joined by target within the host."""
    lines: dict[bytes, list[bytes]] = {}
    for page in of_one_host(pages_of(count, seed=first, first=first)):
        start = b"%s\t%013d\t+\t" % (page.url.encode(), NOW_MS + first)
        for line in page.links.lines.split(b"\n"):
            if line.startswith(HOST):
                target, _, rest = line.partition(b"\t")
                lines.setdefault(target, []).append(start + rest)
    return {target: b"\n".join(some) for target, some in lines.items()}


def url_of(number: int) -> bytes:
    """The URL of a page, by its number."""
    return HOST + b"site%d/articles/%d/some-words-of-a-title" % (number // 40, number % 40)


class GrowingLists:
    """The lists of one host, and what adding to them took since the last report."""

    def __init__(self, folder: Path) -> None:
        self._tables = SqliteTables(folder)
        self._tables.create()
        self._counts = counted(self._tables, "l")
        self.lists = PostingLists(self._tables, NAMING)
        self._path = folder / _NUMBERS
        numbers = self._path.read_text("ascii").split() if self._path.exists() else (0, 0)
        self.pages, self._number = map(int, numbers)
        self._cpu_s, self._written = 0.0, written_bytes()

    def add(self, count: int) -> None:
        """Add the links of the next pages as one compaction."""
        lines = lines_of(self.pages, count)
        self.pages, self._number = self.pages + count, self._number + 1
        groups, before_s = NAMING.by_group(lines), time.process_time()
        depths = self.lists.depths(self.lists.deepest(groups))
        self.lists.add(LinkChanges(self._number, NOW_MS + self._number, groups, {}, depths))
        self._cpu_s += time.process_time() - before_s
        self._path.write_text(f"{self.pages} {self._number}\n", "ascii")

    def taken(self, pages: int) -> WriteCost:
        """The cost of each of these pages, which were added since the last call."""
        written, cpu_s, counts = written_bytes() - self._written, self._cpu_s, self._counts.taken()
        self._cpu_s, self._written = 0.0, written_bytes()
        cells, kb = counts.cells_written / pages, counts.bytes_written / 1e3 / pages
        return WriteCost(1e3 * cpu_s / pages, written / 1e3 / pages, cells, kb)

    def read(self, targets: Sequence[bytes]) -> ReadCost:
        """The mean cost of reading all lines of a list."""
        ids = [NAMING.list_id(target) for target in targets]
        self._counts.taken()
        before_s = time.process_time()
        for list_id in ids:
            sum(1 for _ in self.lists.lines(list_id))
        cpu_s, counts = time.process_time() - before_s, self._counts.taken()
        totals = (1e6 * cpu_s, counts.gets, counts.cells_read, counts.bytes_read / 1e3)
        return ReadCost(*[total / len(ids) for total in totals])

    def read_some(self, rng: random.Random) -> ReadCost:
        """`read` for random pages."""
        return self.read([url_of(rng.randrange(self.pages)) for _ in range(READS)])

    def close(self) -> None:
        self._tables.close()


def grow(host: GrowingLists, pages: int, step: int, batch: int) -> list[tuple[float, ...]]:
    """Add pages, and return the costs of each step."""
    rng, rows = random.Random(1), []
    host.taken(1)
    while host.pages < pages:
        host.add(batch)
        if host.pages % step == 0:
            costs = (*host.taken(step), *host.read_some(rng))
            host.taken(1)
            print(f"{host.pages:,}: " + " ".join(f"{cost:.3f}" for cost in costs), flush=True)
            rows.append((host.pages, *costs))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=60_000)
    parser.add_argument("--step", type=int, default=5_000, help="pages between two reports")
    parser.add_argument("--batch", type=int, default=500, help="pages of a compaction")
    parser.add_argument("--fill", type=int, default=0, help="pages that are added first, faster")
    parser.add_argument("--folder", type=Path, help="keep the store here, and continue it")
    parser.add_argument("--rounds", type=int, default=5, help="of reading a store that is complete")
    add_quick(parser, pages=1000, step=500, rounds=1)
    args = parser.parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="aragog-lists-")
    with nullcontext(args.folder) if args.folder else temporary as folder:
        host = GrowingLists(Path(folder))
        collect_garbage_as_workers_do()
        while host.pages < args.fill:
            host.add(FILL_BATCH)
        if rows := grow(host, args.pages, args.step, args.batch):
            report_steps(rows)
        else:
            report_reads([host.read_some(random.Random(2)) for _ in range(args.rounds + 1)][1:])
        host.close()


def report_steps(rows: Sequence[tuple[float, ...]]) -> None:
    """Print the costs of each step and their means."""
    table = Table("pages", "CPU ms a page", "KB to files", "cells put", "KB put", "reading a list: "
                  "CPU us", "gets", "cells", "KB")  # fmt: skip
    for pages, *costs in rows:
        table.add_row(f"{pages:,.0f}", *_formatted(costs))
    _, *columns = zip(*rows, strict=True)
    table.add_row("mean", *_formatted([fmean(column) for column in columns]))
    Console().print(table)


def _formatted(costs: Sequence[float]) -> list[str]:
    digits = (3, 1, 2, 1, 0, 1, 1, 1)
    return [f"{cost:.{places}f}" for cost, places in zip(costs, digits, strict=True)]


def report_reads(costs: Sequence[ReadCost]) -> None:
    """Print what reading a list took: the least CPU of all rounds, and the counts."""
    one = min(costs)
    print(f"{one.cpu_us:.0f} us, {one.gets:.1f} gets, {one.cells:.1f} cells, {one.kb:.1f} KB")


if __name__ == "__main__":
    main()
