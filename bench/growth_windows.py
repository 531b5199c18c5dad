"""
Measure the parts of a page's cost while one store grows, in windows of many pages.

    python -m bench.growth_windows --one-host --folder FOLDER --pages 1000000 --window 50000
    python -m bench.growth_windows --one-host --pages 60000 --window 10000

One process writes pages as `bench.growth_in_turn` does, one compaction for each 500, and prints the
means of each window. A window has to be long, because lists of one host are passed on at some
compactions and not at others. `--folder` keeps the store, and a later run continues it; a folder of
`bench.growth_in_turn` works as well.

For each page it prints, first, the CPU in ms: of all threads (`all`); of looking up what is stored,
of storing pages, and of compaction, in the thread that does them; and of other threads, nearly all of
it for moving SQLite's logs into its files (`files`). Then the KB written to files, in the same parts,
so those of the first thread are written to logs. Then the CPU in us of SQLite's statements by table,
without commits (letters as in docs/design/tables.md), and of reading a page with `get_many`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean
from typing import Any

from aragog.bootstrap.stores import url_store
from aragog.settings import ContentSettings, Settings, StoreSettings
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from bench.growth import CHUNK, collect_garbage_as_workers_do, written_bytes
from bench.growth_in_turn import compact, made, read_sites
from bench.packs import write_packed
from bench.quick import add_quick
from bench.urlstore import BATCH
from zengraph.tables.sqlite.layout import Layout
from zengraph.tables.sqlite.layouts import LAYOUTS

_STATEMENTS = (
    "get", "get_many", "get_many_names", "get_many_needed", "fetch", "put", "check_and_put", "delete",
    "scan",
)  # fmt: skip
_READS_PER_WINDOW = 10


class StatementTimes:
    """CPU seconds of SQLite's statements in this thread, by table."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)
        self._is_inside = False
        for name, layout in LAYOUTS.items():
            for method in _STATEMENTS:
                self._time(name, layout, method)

    def _time(self, table: str, layout: Layout, method: str) -> None:
        inner: Callable[..., Any] = getattr(layout, method)

        def timed(*args: Any, **options: Any) -> Any:
            if self._is_inside:
                return inner(*args, **options)
            self._is_inside, before_s = True, time.thread_time()
            try:
                return inner(*args, **options)
            finally:
                self._is_inside = False
                self.seconds[table] += time.thread_time() - before_s

        setattr(layout, method, timed)


class Usage:
    """CPU and bytes of this process, and of the calling thread, from one moment to another."""

    def __init__(self) -> None:
        self.all_s, self.own_s = time.process_time(), time.thread_time()
        self.all_bytes = written_bytes()
        self.own_bytes = written_bytes(f"self/task/{threading.get_native_id()}")

    def until_now(self) -> tuple[float, float, int, int]:
        """Return CPU seconds of all threads and of this one, and bytes of all and of this one."""
        now = Usage()
        return (
            now.all_s - self.all_s,
            now.own_s - self.own_s,
            now.all_bytes - self.all_bytes,
            now.own_bytes - self.own_bytes,
        )


def add_costs(store: UrlStore, pages: Sequence[PageWrite], costs: dict[str, float]) -> None:
    """Write pages, and add what that takes to `costs`."""

    def look_up() -> None:
        for at in range(0, len(pages), BATCH):
            store.get_many([page.url for page in pages[at : at + BATCH]], fields=[])

    steps: dict[str, Callable[[], None]] = {
        "lookup": look_up,
        "store": lambda: write_packed(store, pages, BATCH),
        "compaction": lambda: compact(store),
    }
    for name, step in steps.items():
        usage = Usage()
        step()
        all_s, own_s, all_bytes, own_bytes = usage.until_now()
        costs["all ms"] += 1e3 * all_s
        costs[f"{name} ms"] += 1e3 * own_s
        costs["files ms"] += 1e3 * (all_s - own_s)
        costs["all KB"] += all_bytes / 1e3
        costs[f"{name} KB"] += own_bytes / 1e3
        costs["files KB"] += (all_bytes - own_bytes) / 1e3


def window(
    store: UrlStore, first: int, count: int, times: StatementTimes, *, one_host: bool
) -> dict[str, float]:
    """Write `count` pages. Returns the mean cost of each."""
    costs, reads_us = defaultdict[str, float](float), list[float]()
    by_table = defaultdict[str, float](float)
    every = max(CHUNK, count // _READS_PER_WINDOW // CHUNK * CHUNK)
    for at in range(first, first + count, CHUNK):
        times.seconds.clear()
        add_costs(store, made(at, CHUNK, one_host=one_host), costs)
        for table, cpu_s in times.seconds.items():
            by_table[table] += cpu_s
        if (at - first) % every == 0:
            reads_us.append(read_sites(store, at, one_host=one_host))
    means = {name: cost / count for name, cost in costs.items()}
    means |= {f"{table} us": 1e6 * cpu_s / count for table, cpu_s in sorted(by_table.items())}
    return means | {"get_many us": fmean(reads_us)}


def grow(folder: Path, pages: int, size: int, *, one_host: bool) -> None:
    """Write pages until the store has this many, and print the costs of each window."""
    times, counter = StatementTimes(), folder / "data" / "pages"
    counter.parent.mkdir(parents=True, exist_ok=True)
    first = int(counter.read_text("ascii")) if counter.exists() else 0
    settings = Settings(data_dir=counter.parent, store=StoreSettings(), content=ContentSettings())
    store = url_store(settings)
    collect_garbage_as_workers_do()
    while first < pages:
        means = window(store, first, min(size, pages - first), times, one_host=one_host)
        first = min(first + size, pages)
        counter.write_text(f"{first}\n", "ascii")
        costs = ", ".join(f"{name} {cost:.3f}" for name, cost in means.items())
        print(f"{first:,} pages, load {os.getloadavg()[0]:.0f}: {costs}", flush=True)
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--one-host", action="store_true", help="all pages of one host")
    parser.add_argument("--pages", type=int, default=60_000)
    parser.add_argument("--window", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="keep the store here, and continue it")
    add_quick(parser, pages=1000, window=500)
    args = parser.parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="aragog-growth-")
    with nullcontext(args.folder) if args.folder else temporary as folder:
        grow(Path(folder), args.pages, args.window, one_host=args.one_host)


if __name__ == "__main__":
    main()
