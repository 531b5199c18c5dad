"""
Measure the cost of a page while the store grows, with one and two writing processes.

    python -m bench.growth [--pages 100000] [--processes 1 2] [--svg docs/growth.svg]
    python -m bench.growth --engine hbase --content s3 --pages 2000 --processes 1
    python -m bench.growth --engine postgres --content s3 --pages 2000 --processes 1
    python -m bench.growth --pages 1000000 --processes 2
    python -m bench.growth --one-host --pages 100000 --processes 1
    python -m bench.growth --form 2 --pages 100000 --processes 1
    python -m bench.growth --rows

Each process does the work of the store stage with pages of 185 links and 15 fields: it looks up
what is stored, writes batches of 25 with their content, and compacts links. The figures are the CPU
of these processes alone, without the servers of HBase, PostgreSQL and S3 (all private, on
loopback), for the pages before each mark (1,000, 10,000 and so on), and the bytes that they write
to files. Making the pages is not counted. `--one-host` makes the sites folders of one host, which
is fetched in the order of a crawl (`bench.crawl_order`). `--form` uses a SQLite store of an earlier
format. A million pages take 25 GB of disk and,
on two idle cores and a disk that takes 125 MB/s, 28 minutes with two processes.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import hbase_tables, postgres_tables, url_store
from aragog.runtime.clock import SystemClock
from aragog.runtime.secret import SecretUrl
from aragog.settings import ContentSettings, Settings, StoreSettings
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from aragog.workers.preload import GC_THRESHOLD
from bench import figures
from bench.crawl.page_sets import CACHE
from bench.crawl_order import in_crawl_order
from bench.quick import add_quick
from bench.urlstore import BATCH, of_one_host, pages_of
from zengraph.tables import FORMAT, TABLES
from zengraph.tables.memory import MemoryTable, MemoryTables

# Number of pages per command to a process.
CHUNK = 500
WIDTH, HEIGHT, MARGIN = 640, 320, 48


class Cpu(NamedTuple):
    """CPU seconds, and bytes written to files."""

    user: float
    kernel: float
    written: int


def written_bytes(process: str = "self") -> int:
    """
    Return the bytes that a process, or a thread `self/task/ID`, has passed to write calls so far.

    Not `write_bytes`: for a write of 2 KB, Linux counts the whole unit of its page cache there,
    which is up to 64 KB if the file was read in sequence before, such as when it was copied.
    """
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def collect_garbage_as_workers_do() -> None:
    """Let this process collect garbage as rarely as workers do (`aragog.workers.preload`)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)


def pages_at(first: int, count: int, *, one_host: bool, every_link: int = 1) -> list[PageWrite]:
    """Return the pages that a crawl fetches after the first `first` pages."""
    numbers = in_crawl_order(first, count) if one_host else range(first, first + count)
    pages = pages_of(count, seed=first, numbers=numbers, every_link=every_link)
    return of_one_host(pages) if one_host else pages


def write_pages(settings: Settings, commands: Connection, one_host: bool) -> None:
    """The loop of a writing process. Receives (first page, number of pages), sends `Cpu`."""
    store = url_store(settings)
    collect_garbage_as_workers_do()
    while command := commands.recv():
        first, count = command
        pages = pages_at(first, count, one_host=one_host)
        before, written = os.times(), written_bytes()
        for at in range(0, count, BATCH):
            some = pages[at : at + BATCH]
            store.get_many([page.url for page in some], fields=[])
            store.write_pages(some)
        while (report := store.maintenance.compact_links(1000)).left and report.journal_rows:
            pass
        now = os.times()
        taken = written_bytes() - written
        commands.send(Cpu(now.user - before.user, now.system - before.system, taken))
    store.close()


class Writers:
    """Processes that write to one store."""

    def __init__(self, settings: Settings, count: int, *, one_host: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=write_pages, args=(settings, theirs, one_host))
            process.start()
            self._pipes.append(ours)
            self._processes.append(process)

    def write(self, first: int, count: int) -> Cpu:
        """Write a number of pages, and return the resources used by all processes."""
        taken: list[Cpu] = []
        chunks = list(range(first, first + count, CHUNK))
        while chunks:
            now, chunks = chunks[: len(self._pipes)], chunks[len(self._pipes) :]
            for pipe, at in zip(self._pipes, now, strict=False):
                pipe.send((at, min(CHUNK, first + count - at)))
            taken += [pipe.recv() for pipe, _ in zip(self._pipes, now, strict=False)]
        return Cpu(*map(sum, zip(*taken, strict=True)))

    def stop(self) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.send(None)
            process.join()


def marks(most: int) -> list[int]:
    """Return 1,000, 10,000 and so on, up to the number of pages."""
    sizes = [1000]
    while sizes[-1] * 10 <= most:
        sizes.append(sizes[-1] * 10)
    return sizes if sizes[-1] >= most else [*sizes, most]


def measure(
    settings: Settings, processes: int, sizes: Sequence[int], *, one_host: bool
) -> list[tuple[int, float]]:
    """Return (stored pages, CPU ms per page since the previous mark) for each mark."""
    writers, measured, stored = Writers(settings, processes, one_host=one_host), [], 0
    started_s = time.monotonic()
    try:
        writers.write(sizes[-1], CHUNK * processes)  # imports, connections and first files
        for mark in sizes:
            cpu, pages = writers.write(stored, mark - stored), mark - stored
            measured.append((mark, 1000 * (cpu.user + cpu.kernel) / pages))
            minutes = (time.monotonic() - started_s) / 60
            print(
                f"{processes} processes, {mark:,} pages: {measured[-1][1]:.2f} ms, of it the kernel"
                f" {1000 * cpu.kernel / pages:.2f}, {cpu.written / pages / 1000:.0f} KB written,"
                f" after {minutes:.1f} minutes",
                flush=True,
            )
            stored = mark
    finally:
        writers.stop()
    return measured


@contextmanager
def a_store(
    engine: str, content: str, *, form: int = FORMAT, folder: Path | None = None
) -> Iterator[Settings]:
    """
    Yield the settings of an empty store. Its servers are stopped at the end, and it is deleted.

    A store in `folder` is kept, and may contain pages of an earlier call. `form` is the format of a
    new SQLite store.
    """
    kept, folder = folder, folder or Path(tempfile.mkdtemp(prefix="aragog-growth-"))
    (folder / "data" / "store").mkdir(parents=True, exist_ok=True)
    format_file = folder / "data" / "store" / "format"
    if form != FORMAT and not format_file.exists():
        format_file.write_text(f"{form}\n")
    with ExitStack() as stack:
        if not kept:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        store, bodies = StoreSettings(), ContentSettings()
        if engine == "hbase":
            from deploy.hbase.server import HBaseServer

            hbase = HBaseServer(folder / "hbase")
            stack.callback(hbase.kill)
            hbase.start()
            store = StoreSettings(engine="hbase", hbase_gateways=hbase.gateways)
            hbase_tables(store).create()
        if engine == "postgres":
            from aragog.standalone.postgres_server import PostgresServer

            postgres = stack.enter_context(PostgresServer(folder / "postgres"))
            store = StoreSettings(engine="postgres", dsn=SecretUrl(postgres.dsn))
            with closing(postgres_tables(store)) as tables:
                tables.create()
        if content == "s3":
            from deploy.s3.server import ACCESS_KEY, SECRET_KEY, S3Server

            os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
            s3 = S3Server(folder / "s3").start()
            stack.callback(s3.stop)
            s3.create_bucket("growth")
            bodies = ContentSettings(
                engine="s3", s3_bucket="growth", s3_endpoint=s3.endpoint, s3_region="us-east-1"
            )
        yield Settings(data_dir=folder / "data", store=store, content=bodies)


class CountedTable(MemoryTable):
    """A table that counts what is written."""

    rows = 0
    written_bytes = 0

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        CountedTable.rows += 1
        # HBase stores the row key, column, time and value of each cell (12 bytes of lengths).
        CountedTable.written_bytes += sum(len(row) + len(c) + len(v) + 20 for c, v in cells.items())
        super().put(row, cells, at_ms=at_ms)


def count_rows(pages: int) -> None:
    """Print what a page writes to the tables, and the size of a real body in the content store."""
    tables = MemoryTables()
    for name in TABLES:
        tables._tables[name] = CountedTable(SystemClock(), masking=False)
    store = UrlStore(tables, MemoryContent(), StoreSettings())
    for first in range(0, pages, CHUNK):
        some = pages_of(CHUNK, seed=first, first=first)
        for at in range(0, CHUNK, BATCH):
            store.write_pages(some[at : at + BATCH])
        store.maintenance.compact_links(1000)
    print(f"rows written a page: {CountedTable.rows / pages:.0f}")
    print(f"bytes written a page, before compression: {CountedTable.written_bytes / pages:,.0f}")
    figures.report(
        hbase_rows=CountedTable.rows / pages, hbase_bytes=CountedTable.written_bytes / pages
    )
    bodies = [path.read_bytes() for path in CACHE.glob("*/**/*.html")][:500]
    if bodies:
        share = sum(len(compress(body)) for body in bodies) / sum(map(len, bodies))
        figures.report(compressed=share)
        print(f"compressed size of {len(bodies)} pages of make bench: {share:.2f}")


def svg(series: dict[str, list[tuple[int, float]]]) -> str:
    """Return a plot of CPU ms per page against stored pages on a logarithmic scale."""
    highest = max(ms for points in series.values() for _, ms in points) * 1.15
    decades = sorted({mark for points in series.values() for mark, _ in points})
    step = (WIDTH - 2 * MARGIN) / max(1, len(decades) - 1)

    def place(mark: int, ms: float) -> str:
        x = MARGIN + step * decades.index(mark)
        return f"{x:.0f},{HEIGHT - MARGIN - ms / highest * (HEIGHT - 2 * MARGIN):.0f}"

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<text x="{MARGIN}" y="20">CPU ms a page by stored pages</text>',
        (
            f'<path d="M{MARGIN},{MARGIN} V{HEIGHT - MARGIN} H{WIDTH - MARGIN}" fill="none" '
            'stroke="gray"/>'
        ),
    ]
    for mark in decades:
        x, y = place(mark, 0).split(",")
        parts.append(f'<text x="{x}" y="{int(y) + 18}" text-anchor="middle">{mark:,}</text>')
    for color, (name, points) in zip(
        ("#1f77b4", "#d62728", "#2ca02c"), series.items(), strict=False
    ):
        line = " ".join(place(*point) for point in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        x, y = place(*points[-1]).split(",")
        label = f"{name}: {points[-1][1]:.2f}"
        parts.append(
            f'<text x="{x}" y="{int(y) - 8}" text-anchor="end" fill="{color}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--engine", choices=("sqlite", "postgres", "hbase"), default="sqlite")
    parser.add_argument("--content", choices=("folder", "s3"), default="folder")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--marks", type=int, nargs="+", help="pages after which a figure is printed, not --pages"
    )
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--one-host", action="store_true", help="all pages of one host")
    parser.add_argument(
        "--form", type=int, choices=range(1, FORMAT + 1), default=FORMAT, help="SQLite's format"
    )
    parser.add_argument("--rows", action="store_true", help="count rows and bytes, and end")
    add_quick(parser, pages=500, processes=[1])
    args = parser.parse_args()
    if args.rows:
        count_rows(2000)
        return
    series, sizes = {}, args.marks or marks(args.pages)
    for processes in args.processes:
        with a_store(args.engine, args.content, form=args.form) as settings:
            name = f"{args.engine}, {args.content}, {processes} writing"
            series[name] = measure(settings, processes, sizes, one_host=args.one_host)
    table = Table("store", *(f"{mark:,}" for mark in sizes))
    for name, points in series.items():
        table.add_row(name, *(f"{ms:.2f}" for _, ms in points))
    Console().print(table)
    if args.svg:
        args.svg.write_text(svg(series), encoding="utf-8")


if __name__ == "__main__":
    main()
