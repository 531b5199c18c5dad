"""
Measure the cost of content in packs, compared with one object per page.

    python -m bench.packs [--pages 2000] [--reads 500] [--seconds 12]
    python -m bench.packs --s3
    python -m bench.packs --set news [--pages 600]
    python -m bench.packs --pages 100000 --seconds 0.5

Each layout is written by a separate process, which handles batches of 25 pages like a `store`
process: with packs, 40 batches wait for one pack. CPU is that of the process alone, which collects
garbage as a worker does. Bytes on disk are file system blocks. Bodies are generated, 57 KB of HTML, or those of a set of real pages
(`bench.crawl.page_sets`), each with a distinct line so that none is deduplicated. Batches are
begun and written in groups, as in `store`. With `--s3`, content and its reads go to a
private S3 server on loopback.

An urgent page is put at once, together with the contents of the open pack if it is small. The time
that this takes is measured while other batches, `--others` pages a second, are packed and written.

Puts are counted for pages that arrive evenly, for some seconds at each rate. A pack is two puts,
one of them for its index.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.crawl.stages.write_groups import MAX_BEGUN, MAX_PAGES, WriteGroups
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import ContentSettings, Settings, StoreSettings
from aragog.urlstore.bodies import Packs
from aragog.urlstore.compression import compress, content_hash, decompress
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from aragog.workers.preload import GC_THRESHOLD
from aragog.workers.services import run_in_store_thread
from bench import figures
from bench.crawl import page_sets
from bench.quick import add_quick
from bench.urlstore import BATCH, pages_of
from zengraph.tables.memory import MemoryTables

RATES = (10, 100, 1000)
HEADERS = tuple(
    line.split(": ", 1)
    for line in (
        "Date: Sun, 29 Nov 2026 10:15:02 GMT", "Content-Type: text/html; charset=utf-8",
        "Content-Encoding: gzip", "Transfer-Encoding: chunked", "Connection: keep-alive",
        "Server: nginx", "Cache-Control: public, max-age=300", "Vary: Accept-Encoding, Cookie",
        'ETag: W/"5f3c-18a2b7c9d0"', "Last-Modified: Sat, 28 Nov 2026 07:00:00 GMT",
        "Strict-Transport-Security: max-age=31536000; includeSubDomains",
        "X-Content-Type-Options: nosniff", "X-Frame-Options: SAMEORIGIN",
        'Link: <https://www.example.com/wp-json/>; rel="https://api.w.org/"',
        "Set-Cookie: session=0123456789abcdef0123456789abcdef; Path=/; HttpOnly; Secure",
    )
)  # fmt: skip
GENERATED = "generated"
DEADLINE_MS = 1000
HELD = 40
"""Number of batches that wait for one pack: `workers.store_batches`."""


class Layout(NamedTuple):
    """The results of one layout."""

    cpu_ms: float
    max_rss_mb: float
    files: int
    disk_bytes: int
    reads_ms: tuple[float, ...]


def pages(count: int, first: int = 0, kind: str = GENERATED) -> list[PageWrite]:
    """Return pages as fetches return them, with the headers of their responses."""
    made = pages_of(count, seed=first, first=first)
    if kind != GENERATED:
        made = [_with_body(page, _body(kind, n)) for n, page in enumerate(made, first)]
    made = [_with_digest(page) for page in made]
    return [fetched(page) for page in made]


@cache
def _bodies(kind: str) -> tuple[bytes, ...]:
    pages_of_kind = page_sets.ALL[kind]()
    return tuple((pages_of_kind.folder / path).read_bytes() for path in pages_of_kind.paths)


def _body(kind: str, number: int) -> bytes:
    bodies = _bodies(kind)
    return bodies[number % len(bodies)] + b"\n<!-- %d -->" % number


def _with_body(page: PageWrite, body: bytes) -> PageWrite:
    if page.content is None:
        return page
    content = replace(page.content, body=compress(body), length_bytes=len(body))
    return replace(page, content=content)


def _with_digest(page: PageWrite) -> PageWrite:
    """Add the hash of the body, which the fetching process sends."""
    if page.content is None:
        return page
    digest = content_hash(decompress(page.content.body))
    return replace(page, content=replace(page.content, digest=digest))


def fetched(page: PageWrite) -> PageWrite:
    """Add the response from which the page came."""
    return replace(page, report=_report(page))


def _report(page: PageWrite) -> FetchRecord:
    return FetchRecord(
        url=page.url, outcome=OutcomeKind.FETCHED, final_url=page.url, status=200,
        fetched_at_ms=page.fetched_at_ms, headers=HEADERS, address="192.0.2.7", tls="TLSv1.3",
        http_version="2", content_type="text/html; charset=utf-8", body_bytes=57_000,
    )  # fmt: skip


def body_bytes(count: int, kind: str) -> float:
    """Return the mean size of their compressed bodies."""
    some = min(count, 500)
    return sum(len(page.content.body) for page in pages(some, 0, kind) if page.content) / some


def puts_at(rate: int, seconds: float) -> float:
    """Return the puts per 1,000 pages that arrive at a rate, counted over some seconds."""
    files = MemoryPacks()
    options = ContentSettings()
    store = UrlStore(
        MemoryTables(), MemoryContent(), StoreSettings(), packs=files, content_settings=options
    )
    made, until_s, taken = pages(250), time.monotonic() + seconds, 0
    begun_s = time.monotonic()
    while time.monotonic() < until_s:
        some = [made[(taken + n) % len(made)] for n in range(BATCH)]
        taken += BATCH
        threading.Thread(target=store.pack_pages(some).wait).start()
        time.sleep(max(0.0, begun_s + taken / rate - time.monotonic()))
    store.close()
    return 2 * len(files.stored) * 1000 / taken


def misses(settings: Settings, count: int, rate: int) -> list[float]:
    """
    Return the times in ms from an urgent body to its record, with a pack open; sorted.

    Other pages arrive in batches at `rate` per second. Their bodies and records are written as in
    a `store` process, with its threads and groups. Urgent pages come one after the other.
    """
    done = threading.Event()
    with closing(url_store(settings)) as store, ThreadPoolExecutor(HELD) as waiting:
        store.bodies.connect()
        batches = [
            pages(BATCH, 2_000_000 + BATCH * n) for n in range(max(1, rate * count // 5 // BATCH))
        ]
        urgent = pages(count, 1_000_000)
        store.content(urgent[0].url)  # imports
        write = partial(_write_when_put, store, WriteGroups())
        others = threading.Thread(target=_feed, args=(waiting, write, batches, rate, done))
        others.start()
        try:
            return sorted(_miss(store, page) for page in urgent)
        finally:
            done.set()
            others.join()


def _miss(store: UrlStore, page: PageWrite) -> float:
    """Store a page that somebody waits for, and return the ms until its body was read."""
    time.sleep(0.1)
    before_s = time.perf_counter()
    packing = run_in_store_thread(lambda: store.pack_pages([page], now=True, urls=1), urgent=True)
    written = packing.wait()
    run_in_store_thread(lambda: store.write_pages(written), urgent=True)
    packing.settle()
    assert store.content(page.url) is not None
    return (time.perf_counter() - before_s) * 1000


def _feed(
    waiting: ThreadPoolExecutor,
    write: Callable[[Sequence[PageWrite]], None],
    batches: Sequence[Sequence[PageWrite]],
    rate: int,
    done: threading.Event,
) -> None:
    """Start a batch at a time, at a rate of pages per second, until `done`."""
    begun_s = time.monotonic()
    for n, batch in enumerate(itertools.cycle(batches)):
        if done.wait(max(0.0, begun_s + n * BATCH / rate - time.monotonic())):
            return
        waiting.submit(write, batch)


def _write_when_put(store: UrlStore, groups: WriteGroups, batch: Sequence[PageWrite]) -> None:
    packing = run_in_store_thread(lambda: store.pack_pages(batch, urls=len(batch)))
    written = packing.wait()
    joined = groups.join(written)

    def write() -> None:
        if groups.handle(joined, store.write_pages) is None:
            store.write_pages(written)
        packing.settle()

    run_in_store_thread(write)


def collect_like_a_worker() -> None:
    """Collect garbage as rarely as a worker does; the default takes 5 to 10% of `store`'s CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 100)


def write_layout(settings: Settings, count: int, reads: int, kind: str, pipe: Connection) -> None:
    """Write pages in one layout, read some of them, and send the `Layout`."""
    collect_like_a_worker()
    with closing(url_store(settings)) as store:
        cpu_s = 0.0
        for first in range(0, count, BATCH * HELD):
            some = pages(min(BATCH * HELD, count - first), first, kind)
            before_s = time.process_time()
            write_packed(store, some)
            cpu_s += time.process_time() - before_s
        rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = _read(store, count, reads)
    files = [path for path in (settings.data_dir / "content").rglob("*") if path.is_file()]
    disk = sum(path.stat().st_blocks * 512 for path in files)
    pipe.send(Layout(cpu_s * 1000 / count, rss_mb, len(files), disk, tuple(times)))


def write_packed(store: UrlStore, some: Sequence[PageWrite], batch: int = BATCH) -> None:
    """Put the bodies of batches into one pack, or as objects; begin and write them in groups."""
    batches = [(some[at : at + batch], 0) for at in range(0, len(some), batch)]
    begun = [batches[at : at + MAX_BEGUN] for at in range(0, len(batches), MAX_BEGUN)]
    packing = [one for together in begun for one in store.pack_batches(together)]
    packs: Packs | None = store.bodies.packs
    if packs is not None:
        packs.writer.close()
    count = max(1, MAX_PAGES // batch)
    for group in (packing[at : at + count] for at in range(0, len(packing), count)):
        store.write_pages([page for one in group for page in one.wait()])
        for one in group:
            one.settle()


def _read(store: UrlStore, count: int, reads: int) -> list[float]:
    """Read pages of all ages, drawn from some of the written batches."""
    drawn, times = random.Random(1), []
    firsts = range(0, count, BATCH * HELD)
    chosen = drawn.sample(firsts, min(len(firsts), 5))
    urls = [
        page.url
        for first in chosen
        for page in pages_of(min(BATCH * HELD, count - first), seed=first, first=first)
    ]
    store.content(urls[0])  # imports
    for url in drawn.choices(urls, k=reads):
        before_s = time.perf_counter()
        assert store.content(url) is not None
        times.append((time.perf_counter() - before_s) * 1000)
    return sorted(times)


def measured(settings: Settings, count: int, reads: int, kind: str) -> Layout:
    """Measure one layout in a separate process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=write_layout, args=(settings, count, reads, kind, theirs))
    process.start()
    theirs.close()
    result: Layout = ours.recv()
    process.join()
    return result


def compare(count: int, reads: int, kind: str, *, s3: bool) -> dict[str, Layout]:
    """Measure both layouts one after the other, each in a separate store."""
    found = {}
    for layout in ("objects", "packs"):
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="aragog-packs-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            content = ContentSettings()
            if s3:
                content = s3_content(stack, folder)
            content = replace(content, layout=layout)
            settings = replace(Settings(), data_dir=folder / "data", content=content)
            found[layout] = measured(settings, count, reads, kind)
    return found


def report_misses(count: int, rate: int, *, s3: bool) -> None:
    """Print how long a read on a miss waits for the store."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="aragog-packs-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        content = s3_content(stack, folder) if s3 else ContentSettings()
        times = misses(replace(Settings(), data_dir=folder / "data", content=content), count, rate)
    median, most = times[len(times) // 2], times[-1]
    late = sum(time_ms > DEADLINE_MS for time_ms in times)
    print(
        f"a page that somebody waits for, beside {rate} pages/s: {median:.0f} ms, {most:.0f} at "
        f"most, {late} of {count} above {DEADLINE_MS:,} ms"
    )


def s3_content(stack: ExitStack, folder: Path) -> ContentSettings:
    """Start a private S3 server, which ends with the stack; return the settings for a bucket."""
    from deploy.s3.server import ACCESS_KEY, SECRET_KEY, S3Server

    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    server = S3Server(folder / "s3").start()
    stack.callback(server.stop)
    server.create_bucket("packs")
    return ContentSettings(
        engine="s3", s3_bucket="packs", s3_endpoint=server.endpoint, s3_region="us-east-1"
    )


def report(found: dict[str, Layout], count: int, kind: str, *, s3: bool) -> None:
    """Print the layouts side by side."""
    table = Table(title=f"{count:,} pages ({kind}), {'S3' if s3 else 'folder'}")
    for heading in ("", *found):
        table.add_column(heading, justify="right")
    rows = {
        "CPU ms a page of store": [f"{one.cpu_ms:.2f}" for one in found.values()],
        "memory of the process, MB": [f"{one.max_rss_mb:.0f}" for one in found.values()],
        "files of content": [f"{one.files:,}" for one in found.values()],
        "bytes of content a page": [f"{one.disk_bytes / count:,.0f}" for one in found.values()],
        "read p50, ms": [f"{_at(one, 0.5):.2f}" for one in found.values()],
        "read p99, ms": [f"{_at(one, 0.99):.2f}" for one in found.values()],
    }
    for name, values in rows.items():
        if not (s3 and "content" in name):
            table.add_row(name, *values)
    Console().print(table)


def _at(layout: Layout, share: float) -> float:
    return layout.reads_ms[min(len(layout.reads_ms) - 1, int(len(layout.reads_ms) * share))]


def main() -> None:
    """Measure puts, then both layouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--reads", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=12.0, help="of each rate")
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--set", choices=page_sets.ALL, default=GENERATED, help="real pages")
    parser.add_argument("--misses", type=int, default=100, help="pages that somebody waits for")
    parser.add_argument("--others", type=int, default=100, help="pages a second beside them")
    add_quick(parser, pages=100, reads=20, seconds=0.5, misses=3)
    options = parser.parse_args()
    puts = {rate: puts_at(rate, options.seconds) for rate in RATES}
    for rate, count in puts.items():
        Console().print(f"{rate:>5,} pages/s: {count:.1f} puts for 1,000 pages")
    report_misses(options.misses, options.others, s3=options.s3)
    found = compare(options.pages, options.reads, options.set, s3=options.s3)
    report(found, options.pages, options.set, s3=options.s3)
    packs = found["packs"]
    if packs.disk_bytes:
        figures.report(
            pack_record=packs.disk_bytes / options.pages - body_bytes(options.pages, options.set)
        )


if __name__ == "__main__":
    main()
