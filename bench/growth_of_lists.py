"""
Measure what the inlinks of one host cost while it grows: the lists alone, without pages.

    python -m bench.growth_of_lists [--pages 60000] [--step 5000] [--batch 500]
    python -m bench.growth_of_lists --fill 125000 --pages 190000

Adds the links within the host that `bench.growth_in_turn --one-host` writes (140 a page), one
compaction for each batch of pages, to an empty SQLite store. For each step it prints the CPU and
the bytes written to disk per page, and the CPU of reading all inlinks of a random page. `--fill`
first adds pages in large batches, which takes less time. To compare two commits, run it in a
checkout of each at the same time.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.growth import written_bytes
from bench.quick import add_quick
from bench.urlstore import NAMING, NOW_MS, of_one_host, pages_of
from zengraph.links import LinkChanges, PostingLists
from zengraph.tables.sqlite import SqliteTables

HOST = b"https://www.one.example/"
READS = 300
FILL_BATCH = 5_000


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
        self.lists = PostingLists(self._tables, NAMING)
        self._number = 0
        self._cpu_s, self._written = 0.0, written_bytes()

    def add(self, lines: dict[bytes, bytes]) -> None:
        """Add the lines as one compaction."""
        self._number += 1
        groups, before_s = NAMING.by_group(lines), time.process_time()
        depths = self.lists.depths(self.lists.deepest(groups))
        self.lists.add(LinkChanges(self._number, NOW_MS + self._number, groups, {}, depths))
        self._cpu_s += time.process_time() - before_s

    def taken(self, pages: int) -> tuple[float, float]:
        """CPU ms and KB written per page since the last call."""
        written, cpu_s = written_bytes() - self._written, self._cpu_s
        self._cpu_s, self._written = 0.0, written_bytes()
        return 1e3 * cpu_s / pages, written / 1e3 / pages

    def read_us(self, targets: Sequence[bytes]) -> float:
        """CPU us of reading all lines of a list."""
        ids = [NAMING.list_id(target) for target in targets]
        before_s = time.process_time()
        for list_id in ids:
            sum(1 for _ in self.lists.lines(list_id))
        return 1e6 * (time.process_time() - before_s) / len(ids)

    def close(self) -> None:
        self._tables.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=60_000)
    parser.add_argument("--step", type=int, default=5_000, help="pages between two reports")
    parser.add_argument("--batch", type=int, default=500, help="pages of a compaction")
    parser.add_argument("--fill", type=int, default=0, help="pages that are added first, faster")
    add_quick(parser, pages=1000, step=500)
    args = parser.parse_args()
    table = Table("pages", "CPU ms a page", "KB a page", "reading a list, CPU us")
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="aragog-lists-") as folder:
        host = GrowingLists(Path(folder))
        for first in range(0, args.fill, FILL_BATCH):
            host.add(lines_of(first, FILL_BATCH))
        host.taken(1)
        for first in range(args.fill, args.pages, args.batch):
            host.add(lines_of(first, args.batch))
            stored = first + args.batch
            if stored % args.step == 0:
                cpu_ms, kb = host.taken(args.step)
                read_us = host.read_us([url_of(rng.randrange(stored)) for _ in range(READS)])
                table.add_row(f"{stored:,}", f"{cpu_ms:.3f}", f"{kb:.1f}", f"{read_us:.0f}")
                print(f"{stored:,}: {cpu_ms:.3f} ms, {kb:.1f} KB, {read_us:.0f} us", flush=True)
        host.close()
    Console().print(table)


if __name__ == "__main__":
    main()
