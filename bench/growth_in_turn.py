"""
Measure the cost of a page in a large and a small store in turn, so that load changes no ratio.

    python -m bench.growth_in_turn [--stores 10000 100000] [--one-host]
    python -m bench.growth_in_turn --stores 10000 1000000 --minutes 60
    python -m bench.growth_in_turn --stores 10000 10000:1 100000 100000:1
    python -m bench.growth_in_turn --stores 10000 250000 --one-host --folder FOLDER
    python -m bench.growth_in_turn --stores 10000:2 10000 250000:2 250000 --one-host --few-links

Two processes fill each store to its number of pages in large batches, which create the same rows as
small ones. With `--few-links`, these pages have a tenth of the links, which takes a third of the
time. `:2` is a store of format 2 (docs/store.md). Pages of one host are written in the order of a
crawl (`bench.crawl_order`). Then one process per store in
turn does the work of the store stage with 500 pages of 185 links and 15 fields: it looks up what is
stored, puts a pack, writes batches of 25 and compacts links. It prints the medians and means of its
CPU, of the bytes per page written to files, and of the CPU of reading the 40 pages of a site (like a
getMany of the API), relative to the first store.

Bodies are small (1,100 bytes) and distinct, so that a million pages take 16 GB of disk. Filling
stops after `--minutes`; the number of pages that a store has then is printed. `--folder` keeps the
stores, and a later run continues to fill them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.settings import Settings
from aragog.urlstore.compression import compress, content_hash
from aragog.urlstore.records import ContentWrite, PageWrite
from aragog.urlstore.store import UrlStore
from bench.crawl_order import FOLDER_PAGES, fetched_of_folder
from bench.growth import (
    CHUNK,
    a_store,
    collect_garbage_as_workers_do,
    pages_at,
    written_bytes,
)
from bench.packs import fetched, write_packed
from bench.quick import add_quick
from bench.urlstore import BATCH, FIELDS, of_one_host, pages_of
from zengraph.tables import FORMAT

BODY_BYTES = 1_100
"""From 1,024 bytes on, the hash of a body is recorded for its host."""
FILLING = 2
FILL_BATCH = 250
READ_SITES = 12
_PAGES = "pages"
"""The file in the folder of a store that contains the number of its pages."""


class Size(NamedTuple):
    """The size and format of one store."""

    pages: int
    form: int

    @classmethod
    def of(cls, text: str) -> Size:
        """Parse a number of pages, optionally followed by a colon and the format."""
        pages, _, form = text.partition(":")
        return cls(int(pages), int(form or FORMAT))

    def __str__(self) -> str:
        return f"{self.pages:,}" + (f" (format {self.form})" if self.form != FORMAT else "")


class Cost(NamedTuple):
    """The cost of a page."""

    write_ms: float
    compact_ms: float
    """The part of `write_ms` that compaction takes."""
    written_kb: float
    read_us: float
    """CPU of reading one page of a site with four fields, as a getMany does."""


def made(first: int, count: int, *, one_host: bool, every_link: int = 1) -> list[PageWrite]:
    """Return pages with distinct bodies and responses."""
    pages = pages_at(first, count, one_host=one_host, every_link=every_link)
    rng = random.Random(first)
    return [fetched(replace(page, content=content_of(rng.randbytes(BODY_BYTES)))) for page in pages]


def _of_site(site: int, pages: int, *, one_host: bool) -> list[PageWrite]:
    """Return the stored pages of a site, or of a folder, of a store with this many pages."""
    if not one_host:
        return pages_of(FOLDER_PAGES, first=site * FOLDER_PAGES)
    return of_one_host(pages_of(0, numbers=fetched_of_folder(site, pages)))


def content_of(body: bytes) -> ContentWrite:
    """Return a body as a fetch stores it."""
    meta = {"content-type": "text/html"}
    return ContentWrite(compress(body), "zstd", len(body), meta, digest=content_hash(body))


def fill(settings: Settings, one_host: bool, numbers: Connection, every_link: int = 1) -> None:
    """
    The loop of a process that fills a store. Receives the first page number and sends
    it back.
    """
    store = url_store(settings)
    while (first := numbers.recv()) is not None:
        pages = made(first, CHUNK, one_host=one_host, every_link=every_link)
        write_packed(store, pages, FILL_BATCH)
        compact(store)
        numbers.send(first)
    store.close()


def write(settings: Settings, one_host: bool, numbers: Connection) -> None:
    """The loop of a measured process. Receives the first page number, sends its `Cost`."""
    store = url_store(settings)
    collect_garbage_as_workers_do()
    while (first := numbers.recv()) is not None:
        pages = made(first, CHUNK, one_host=one_host)
        before_s, written = time.process_time(), written_bytes()
        for at in range(0, CHUNK, BATCH):
            store.get_many([page.url for page in pages[at : at + BATCH]], fields=[])
        write_packed(store, pages, BATCH)
        stored_s = time.process_time()
        compact(store)
        end_s, written = time.process_time(), written_bytes() - written
        read_us = read_sites(store, first, one_host=one_host)
        numbers.send(
            Cost(
                write_ms=1e3 * (end_s - before_s) / CHUNK,
                compact_ms=1e3 * (end_s - stored_s) / CHUNK,
                written_kb=written / 1e3 / CHUNK,
                read_us=read_us,
            )
        )
    store.close()


def read_sites(store: UrlStore, pages: int, *, one_host: bool) -> float:
    """Return the CPU in us per URL of reading the sites of a store with this many pages."""
    sites = random.Random(pages).choices(range(max(1, pages // FOLDER_PAGES)), k=READ_SITES)
    urls = [[page.url for page in _of_site(site, pages, one_host=one_host)] for site in sites]
    before_s = time.process_time()
    for some in urls:
        store.pages.values(some, tuple(FIELDS))
    return 1e6 * (time.process_time() - before_s) / sum(map(len, urls))


def compact(store: UrlStore) -> None:
    while (report := store.maintenance.compact_links(1000)).left and report.journal_rows:
        pass


class Workers:
    """Processes that have one store open."""

    def __init__(self, loop, settings: Settings, count: int, *, one_host: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipes: list[Connection] = []
        self._processes = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=loop, args=(settings, one_host, theirs))
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self._processes.append(process)

    def stop(self) -> None:
        for pipe, process in zip(self.pipes, self._processes, strict=True):
            pipe.send(None)
            process.join()


def filled(
    settings: Settings, pages: int, until_s: float, *, one_host: bool, first: int, every_link: int
) -> int:
    """
    Write pages until there are enough or time is up. Returns the number of pages.

    `first` is the number of pages that the store already has.
    """
    loop = partial(fill, every_link=every_link)
    workers = Workers(loop, settings, FILLING, one_host=one_host)
    sent = stored = first
    busy = dict.fromkeys(workers.pipes, False)
    while stored < sent or (sent < pages and time.monotonic() < until_s):
        for pipe in workers.pipes:
            if not busy[pipe] and sent < pages and time.monotonic() < until_s:
                pipe.send(sent)
                sent, busy[pipe] = sent + CHUNK, True
        for pipe in wait([one for one in busy if busy[one]]):
            pipe.recv()
            stored, busy[pipe] = stored + CHUNK, False
            if stored % 50_000 == 0:
                print(f"{stored:,} of {pages:,} pages", flush=True)
    workers.stop()
    return stored


def in_turn(
    stores: Sequence[tuple[Size, Settings]], rounds: int, *, one_host: bool
) -> list[list[Cost]]:
    """Return the costs of each store, one per round."""
    workers = [Workers(write, settings, 1, one_host=one_host) for _, settings in stores]
    costs: list[list[Cost]] = [[] for _ in stores]
    for number in range(-1, rounds):
        for (size, _), one, found in zip(stores, workers, costs, strict=True):
            one.pipes[0].send(size.pages + (number + 1) * CHUNK)
            cost = one.pipes[0].recv()
            if number >= 0:  # the first round imports modules, connects and fills caches
                found.append(cost)
    for one in workers:
        one.stop()
    return costs


def _pages_of(settings: Settings) -> int:
    """Return the number of pages of a store in a folder that was kept."""
    path = settings.data_dir / _PAGES
    return int(path.read_text("ascii")) if path.exists() else 0


def _keep_pages(settings: Settings, pages: int) -> None:
    """Record the number of pages for later runs."""
    (settings.data_dir / _PAGES).write_text(f"{pages}\n", "ascii")


def report(sizes: Sequence[Size], costs: Sequence[Sequence[Cost]]) -> None:
    """
    Print the medians and means of each store, absolute and relative to the first.

    Lists of one host are passed on at some rounds and not at others, which only the mean shows.
    """
    table = Table("store", "CPU ms", "", "compaction", "", "KB written", "", "getMany, us", "")
    for name, average in (("median", statistics.median), ("mean", statistics.fmean)):
        first = [average(column) for column in zip(*costs[0], strict=True)]
        for size, found in zip(sizes, costs, strict=True):
            values = [average(column) for column in zip(*found, strict=True)]
            cells = [
                text
                for value, base, digits in zip(values, first, (3, 3, 1, 1), strict=True)
                for text in (f"{value:.{digits}f}", f"{value / base:.2f}")
            ]
            table.add_row(f"{size}, {name}", *cells)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stores", nargs="+", type=Size.of, default=[Size(10_000, FORMAT), Size(100_000, FORMAT)]
    )
    parser.add_argument("--one-host", action="store_true", help="all pages of one host")
    parser.add_argument("--few-links", action="store_true", help="fill with a tenth of the links")
    parser.add_argument("--minutes", type=float, default=60.0, help="of filling, at most")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="keep the stores here, and continue them")
    add_quick(parser, stores=[Size(500, FORMAT), Size(1000, 1)], rounds=1)
    args = parser.parse_args()
    until_s = time.monotonic() + args.minutes * 60
    with ExitStack() as stack:
        stores = []
        for size in args.stores:
            kept = args.folder and args.folder / f"{size.pages}-{size.form}"
            store = a_store("sqlite", "folder", form=size.form, folder=kept)
            settings = stack.enter_context(store)
            first = _pages_of(settings)
            pages = filled(
                settings, size.pages, until_s, one_host=args.one_host, first=first,
                every_link=10 if args.few_links else 1,
            )  # fmt: skip
            stores.append((size._replace(pages=pages), settings))
            _keep_pages(settings, pages)
        costs = in_turn(stores, args.rounds, one_host=args.one_host)
        for size, settings in stores:
            _keep_pages(settings, size.pages + (args.rounds + 1) * CHUNK)
    report([size for size, _ in stores], costs)


if __name__ == "__main__":
    main()
