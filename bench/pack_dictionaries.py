"""
Measure what dictionaries save in packs of real pages, and what they cost.

    python -m bench.pack_dictionaries            Python's documentation as one site, news as many
    python -m bench.pack_dictionaries FOLDER     each folder in FOLDER with *.html files is a site
    python -m bench.pack_dictionaries --s3       the packs are in a private S3 server on loopback

The store writes a site as in a crawl, then upkeep checks its packs an hour later. Bytes are those
of the packs before and after. CPU is that of the process per page, for writing the pages and for
upkeep. Reads are of single pages in random order: cold, without the pack's dictionary and with an
open connection; warm, with the dictionary; and before upkeep. `--spread` gives every page a
separate host.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import ContentSettings, Settings
from aragog.urlstore.compression import compress
from aragog.urlstore.pack_groups import WAIT_MS
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.packs.dictionaries import PackDictionaries
from aragog.urlstore.records import ContentWrite, PageWrite
from aragog.urlstore.store import UrlStore
from bench.crawl import page_sets
from bench.packs import HEADERS, HELD, collect_like_a_worker, s3_content
from bench.quick import add_quick
from bench.urlstore import BATCH

NOW_MS = int(time.time() * 1000)


class Measured(NamedTuple):
    """The results for a set of pages."""

    pages: int
    before_bytes: int
    after_bytes: int
    write_ms: float
    """CPU per page."""
    upkeep_ms: float
    plain_ms: list[float]
    cold_ms: list[float]
    warm_ms: list[float]


class LaterClock:
    """The machine's clock, set forward."""

    def __init__(self, later_ms: int) -> None:
        self.later_ms = later_ms

    def now_ms(self) -> int:
        """The time."""
        return int(time.time() * 1000) + self.later_ms

    def sleep_s(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def page(url: str, body: bytes) -> PageWrite:
    """Return a page as a fetch returns it."""
    report = FetchRecord(
        url=url, outcome=OutcomeKind.FETCHED, final_url=url, status=200, fetched_at_ms=NOW_MS,
        headers=HEADERS, address="192.0.2.7", tls="TLSv1.3", http_version="2",
        content_type="text/html; charset=utf-8", body_bytes=len(body),
    )  # fmt: skip
    meta = {"status": "200", "fetched_at_ms": str(NOW_MS), "content_type": "text/html"}
    return PageWrite(
        url=url, final_url=url, canonical_url=url, fetched_at_ms=NOW_MS, report=report,
        content=ContentWrite(compress(body), length_bytes=len(body), meta=meta),
        facts={"url": url, "final_url": url, "fetched_at_ms": NOW_MS, "status": 200},
    )  # fmt: skip


def measure(pages: Sequence[PageWrite], reads: int, *, s3: bool) -> Measured:
    """Write pages, run upkeep on their packs, and read some."""
    urls = random.Random(1).choices([one.url for one in pages], k=reads)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="aragog-dictionaries-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        content = s3_content(stack, folder) if s3 else ContentSettings()
        settings = replace(Settings(), data_dir=folder / "data", content=content)
        with closing(url_store(settings)) as store:
            write_ms = _cpu_ms(lambda: _write(store, pages))
            before = pack_bytes(store)
            plain = _read(store, urls)
            upkeep = PackUpkeep(store.zen, store.bodies, LaterClock(WAIT_MS + 60_000))
            upkeep_ms = _cpu_ms(lambda: upkeep.run(most=10_000))
            PackUpkeep(store.zen, store.bodies, LaterClock(2 * WAIT_MS)).run(most=10_000)
            after = pack_bytes(store)
        with closing(url_store(settings)) as store:
            _read(store, urls)
            cold = [time_ms for url in urls for time_ms in _read_cold(store, url)]
            warm = _read(store, urls)
    count = len(pages)
    return Measured(count, before, after, write_ms / count, upkeep_ms / count, plain, cold, warm)


def _write(store: UrlStore, pages: Sequence[PageWrite]) -> None:
    assert store.bodies.packs is not None
    for first in range(0, len(pages), BATCH * HELD):
        some = pages[first : first + BATCH * HELD]
        packing = [store.pack_pages(some[at : at + BATCH]) for at in range(0, len(some), BATCH)]
        store.bodies.packs.writer.close()
        for one in packing:
            store.write_pages(one.wait())
            one.settle()


def pack_bytes(store: UrlStore) -> int:
    """Return the size of all packs."""
    assert store.bodies.packs is not None
    return sum(file.size for file in store.bodies.packs.files.packs())


def _cpu_ms(run: Callable[[], object]) -> float:
    before_s = time.process_time()
    run()
    return (time.process_time() - before_s) * 1000


def _read_cold(store: UrlStore, url: str) -> list[float]:
    packs = store.bodies.packs
    assert packs is not None
    packs.dictionaries = PackDictionaries(packs.files.read)
    return _read(store, [url])


def _read(store: UrlStore, urls: Sequence[str]) -> list[float]:
    times = []
    for url in urls:
        before_s = time.perf_counter()
        assert store.content(url) is not None
        times.append((time.perf_counter() - before_s) * 1000)
    return times


def sites_of(folder: Path | None, most: int, *, spread: bool) -> dict[str, list[PageWrite]]:
    """Return the pages of each site by its name."""
    if folder is None:
        sets = [page_sets.docs(), page_sets.news()]
        paths = {one.name: [one.folder / path for path in one.paths] for one in sets}
    else:
        paths = {
            site.name: [path for path in sorted(site.rglob("*.html")) if path.is_file()]
            for site in sorted(folder.iterdir())
            if site.is_dir()
        }
    return {
        name: [
            page(_url(name, number, spread or name == "news"), path.read_bytes())
            for number, path in enumerate(random.Random(1).sample(some, min(most, len(some))))
        ]
        for name, some in paths.items()
        if some
    }


def _url(site: str, number: int, spread: bool) -> str:
    host = f"{number}.{site}" if spread else site
    return f"https://{host}.example/pages/{number}.html"


def report(found: dict[str, Measured]) -> None:
    """Print a row for each set."""
    table = Table(title="packs before and after upkeep")
    for heading in (
        "", "pages", "KB a page", "with dictionaries", "saved", "CPU ms: write", "upkeep",
        "read ms p50, p99", "cold", "warm",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for name, one in found.items():
        table.add_row(
            name, f"{one.pages:,}", f"{one.before_bytes / one.pages / 1024:.2f}",
            f"{one.after_bytes / one.pages / 1024:.2f}",
            f"{1 - one.after_bytes / one.before_bytes:.0%}",
            f"{one.write_ms:.2f}", f"{one.upkeep_ms:.2f}",
            *(f"{_at(times, 50):.2f}, {_at(times, 99):.2f}"
              for times in (one.plain_ms, one.cold_ms, one.warm_ms)),
        )  # fmt: skip
    Console(width=130).print(table)


def _at(times: Sequence[float], percent: int) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]


def main() -> None:
    """Measure each site separately."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of sites; none: those of make bench")
    parser.add_argument("--pages", type=int, default=1000, help="of a site, at most")
    parser.add_argument("--reads", type=int, default=300)
    parser.add_argument("--spread", action="store_true", help="a host for each page")
    parser.add_argument("--s3", action="store_true")
    add_quick(parser, pages=60, reads=20)
    options = parser.parse_args()
    sites = sites_of(options.folder, options.pages, spread=options.spread)
    collect_like_a_worker()
    report({name: measure(pages, options.reads, s3=options.s3) for name, pages in sites.items()})


if __name__ == "__main__":
    main()
