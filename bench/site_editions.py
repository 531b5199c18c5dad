"""
Measure the cost of a page while a store grows to a million pages of one host.

    apt-get download rust-doc openjdk-17-doc linux-doc-6.1 libboost1.81-doc sagemath-doc vtk9-doc
    python -m bench.site_editions *.deb --pages 1000000 --folder FOLDER

The HTML files of Debian packages are one edition of the manuals of a host, such as `/en/3.1/`. The
host has several versions, each in two languages. In an edition, 10% of the pages are missing and 5%
have another name. Each page also links to its manual's start page in the stable edition, and to
itself in the stable edition, in the version before and in the other language, where it may be missing.
The versions come out one after the other: both languages of a version are crawled together,
breadth-first as in `bench.site_leaves`, and then what no link leads to, as from a sitemap.

Every version has nearly the same pages in nearly the same order, so a part of one version can be
compared with the same part of another, when the store has more pages. All pages are written in
batches of 25 with a compaction for each 500, and the means of each 5,000 pages are printed as
by `bench.growth_windows`; for reads, of 40 pages that were fetched together (`get_many`) and of
the links of a page (`links`).

Another process writes the first 10,000 pages of each version to a small store, without the versions
before, and then pages 10,000 to 20,000 in turn with the large store. So the same pages are written
to both at nearly the same time, and the ratio of their costs hardly depends on the machine. It
prints the means of these pages for each version, and the ratio of the large store to the small one.
In the first version, both stores are the same, so its ratio shows the noise.

A million pages take 8 GB of disk and, on two busy cores, 20 minutes. With `--fill N`, the versions
that begin before page N are written in batches of 250 and compared with nothing, in half the time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stores import url_store
from aragog.settings import ContentSettings, Settings, StoreSettings
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore
from bench.growth import CHUNK, collect_garbage_as_workers_do
from bench.growth_in_turn import BODY_BYTES, FILL_BATCH, compact
from bench.growth_windows import StatementTimes, add_costs
from bench.packs import write_packed
from bench.quick import add_quick
from bench.site_growth import MAX_LINKS, READ_PAGES, READS, page_of, site_of_packages
from bench.site_leaves import Site, crawl, generated_site
from bench.urlstore import FIELDS

LANGUAGES = ("en", "de")
MISSING, RENAMED = 10, 5
"""Percentages of an edition's pages."""
WINDOW = 5_000
COLUMNS = (
    "all ms", "lookup ms", "store ms", "compaction ms", "files ms", "all KB", "n us", "o us",
    "h us", "d us", "l us", "get_many us", "links us", "links",
)  # fmt: skip
"""The costs in the last table, named as in `bench.growth_windows`; `links` are those of a page."""


class Editions:
    """The pages of a host with several versions of its manuals, in the order of a crawl."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._orders: list[list[int]] = []
        starts = [number for number, path in enumerate(site.paths) if path.endswith("index.html")]
        self._starts = {_manual(site.paths[number]): number for number in reversed(starts)}

    def version(self, number: int) -> list[int]:
        """Return the pages of a version in the order of their fetches: both languages of it."""
        while len(self._orders) <= number:
            self._orders.append(self._crawled(len(self._orders)))
        return self._orders[number]

    def begins(self, version: int) -> int:
        """Return how many pages the versions before this one have."""
        return sum(len(self.version(number)) for number in range(version))

    def pages(self, first: int, count: int) -> list[PageWrite]:
        """Return the pages that are fetched after the first `first`."""
        rng = random.Random(first)
        return [
            page_of(*self._url_and_links(*self._at(position)), position, rng.randbytes(BODY_BYTES))
            for position in range(first, first + count)
        ]

    def neighbors(self, stored: range, rng: random.Random) -> list[str]:
        """Return URLs that were fetched one after the other, of these pages."""
        first = rng.randrange(stored.start, max(stored.start + 1, stored.stop - READ_PAGES))
        return [self._url(*self._at(first + n)) for n in range(READ_PAGES)]

    def links(self, stored: range, rng: random.Random) -> list[str]:
        """Return a page, one of these, and the URLs in its edition that it links to."""
        version, number = self._at(rng.choice(stored))
        url, targets = self._url_and_links(version, number)
        edition = _url(version, number // len(self._site.paths), "/")
        return [url, *(target for target in targets if target.startswith(edition))]

    def _at(self, position: int) -> tuple[int, int]:
        """Return the version and the page in it that is the `position`th to be fetched."""
        version = 0
        while position >= len(self.version(version)):
            position -= len(self.version(version))
            version += 1
        return version, self.version(version)[position]

    def _crawled(self, version: int) -> list[int]:
        size = len(self._site.paths)
        is_there = [
            not self._is_missing(version, language, number)
            for language in LANGUAGES
            for number in range(size)
        ]
        paths = [path for _ in LANGUAGES for path in self._site.paths]
        links = [
            [at + target for target in some if is_there[at + target]]
            for at in range(0, len(paths), size)
            for some in self._site.links
        ]
        reached = [number for number in crawl(Site(paths, links)) if is_there[number]]
        others = set(range(len(paths))).difference(reached)
        return reached + [number for number in sorted(others) if is_there[number]]

    def _url(self, version: int, number: int) -> str:
        language, number = divmod(number, len(self._site.paths))
        return _url(version, language, self._path(version, language, number))

    def _url_and_links(self, version: int, number: int) -> tuple[str, list[str]]:
        language, number = divmod(number, len(self._site.paths))
        path = self._path(version, language, number)
        start = self._site.paths[self._starts.get(_manual(path), 0)]
        targets = [
            _url(version, language, self._path(version, language, target))
            for target in self._site.links[number][: MAX_LINKS - 4]
            if not self._is_missing(version, language, target)
        ]
        targets += [
            _url(0, 0, start),
            _url(0, 0, path),
            _url(max(0, version - 1), language, path),
            _url(version, 1 - language, path),
        ]
        return _url(version, language, path), list(dict.fromkeys(targets))

    def _path(self, version: int, language: int, number: int) -> str:
        path = self._site.paths[number]
        is_renamed = MISSING <= _percent(version, language, number) < MISSING + RENAMED
        return path.replace(".htm", f"-{version + 1}.htm") if is_renamed else path

    def _is_missing(self, version: int, language: int, number: int) -> bool:
        return _percent(version, language, number) < MISSING


def _manual(path: str) -> str:
    return path.split("/", 2)[1]


def _url(version: int, language: int, path: str) -> str:
    return f"https://docs.example/{LANGUAGES[language]}/3.{version}{path}"


def _percent(version: int, language: int, number: int) -> int:
    """Return a number below 100 that is the same for a page of an edition each time."""
    return zlib.crc32(f"{version} {language} {number}".encode()) % 100


def read_us(store: UrlStore, lists: Sequence[Sequence[str]]) -> float:
    """Return the CPU in us per URL of reading four fields of each list of URLs."""
    before_s = time.thread_time()
    for urls in lists:
        store.pages.values(urls, tuple(FIELDS))
    return 1e6 * (time.thread_time() - before_s) / sum(map(len, lists))


class Part(NamedTuple):
    """The work of a process: pages to write, after which it sends the costs of each page."""

    first: int
    count: int
    oldest: int
    """The first page that the store has, for reads."""
    is_measured: bool = True
    """If False, the pages are written in large batches, and no costs are sent."""


def write(folder: Path, site: Site, parts: Connection) -> None:
    """The loop of a process. Receives a `Part`, sends costs; closes the store at the end."""
    host, times = Editions(site), StatementTimes()
    settings = Settings(data_dir=folder, store=StoreSettings(), content=ContentSettings())
    store = url_store(settings)
    collect_garbage_as_workers_do()
    while (part := parts.recv()) is not None:
        if part.is_measured:
            parts.send(_costs(store, host, part, times))
        else:
            write_packed(store, host.pages(part.first, part.count), FILL_BATCH)
            compact(store)
            parts.send({})
    store.close()
    parts.send({})


def _costs(store: UrlStore, host: Editions, part: Part, times: StatementTimes) -> dict[str, float]:
    costs = defaultdict[str, float](float)
    pages = host.pages(part.first, part.count)
    times.seconds.clear()
    add_costs(store, pages, costs)
    for table, cpu_s in times.seconds.items():
        costs[f"{table} us"] += 1e6 * cpu_s
    rng, stored = random.Random(part.first), range(part.oldest, part.first + part.count)
    count = len(pages)
    means = {name: cost / count for name, cost in costs.items()}
    means["links"] = sum(len(list(page.links)) for page in pages if page.links) / count
    means["get_many us"] = read_us(store, [host.neighbors(stored, rng) for _ in range(READS)])
    means["links us"] = read_us(store, [host.links(stored, rng) for _ in range(2 * READS)])
    return means


class Writer:
    """A process that writes pages of a host, from `oldest` on, to a new store in a folder."""

    def __init__(self, folder: Path, site: Site, oldest: int) -> None:
        self._oldest = oldest
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=write, args=(folder, site, theirs), daemon=True)
        self._process.start()

    def write(self, first: int, count: int) -> dict[str, float]:
        """Write pages. Returns the mean costs of each."""
        self._pipe.send(Part(first, count, self._oldest))
        return self._pipe.recv()

    def fill(self, pages: range) -> None:
        """Write pages quickly."""
        for at in range(pages.start, pages.stop, CHUNK):
            count = min(CHUNK, pages.stop - at)
            self._pipe.send(Part(at, count, self._oldest, is_measured=False))
            self._pipe.recv()

    def stop(self) -> None:
        self._pipe.send(None)
        self._pipe.recv()
        self._process.join()


def mean(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each cost."""
    names = sorted({name for some in costs for name in some})
    return {name: sum(some.get(name, 0.0) for some in costs) / len(costs) for name in names}


class Comparison(NamedTuple):
    """The mean costs of the same pages, written to the large and to the small store."""

    stored: int
    large: dict[str, float]
    small: dict[str, float]


def small_store(folder: Path, site: Site, pages: range) -> Writer:
    """Return a process that has written these pages to a new store."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = Writer(folder, site, pages.start)
    for at in range(pages.start, pages.stop, CHUNK):
        writer.write(at, min(CHUNK, pages.stop - at))
    return writer


def grow(folder: Path, site: Site, pages: int, compared: range, fill: int) -> Iterator[Comparison]:
    """
    Write the pages of the host, and yield the comparison of each version that does not begin before
    page `fill`.
    """
    host, writer, version, end = Editions(site), Writer(folder / "large", site, 0), 0, 0
    while end < pages:
        begin, end = end, min(pages, host.begins(version + 1))
        version += 1
        if begin < fill:
            writer.fill(range(begin, end))
            continue
        start, stop = (min(end, begin + at) for at in (compared.start, compared.stop))
        write_windows(writer, range(begin, start))
        if start < stop:
            small = small_store(folder / "small", site, range(begin, start))
            yield compare(writer, small, range(start, stop))
            small.stop()
        write_windows(writer, range(stop, end))
    writer.stop()


def write_windows(writer: Writer, pages: range) -> None:
    """Write these pages, and print the mean costs of each window."""
    for first in range(pages.start, pages.stop, WINDOW):
        end = min(first + WINDOW, pages.stop)
        costs = [writer.write(at, min(CHUNK, end - at)) for at in range(first, end, CHUNK)]
        _print(f"{end:,}", mean(costs))


def compare(writer: Writer, small: Writer, pages: range) -> Comparison:
    """Write these pages to both stores in turn."""
    parts = [(at, min(CHUNK, pages.stop - at)) for at in range(pages.start, pages.stop, CHUNK)]
    costs = [(writer.write(*part), small.write(*part)) for part in parts]
    return Comparison(pages.stop, *(mean(found) for found in zip(*costs, strict=True)))


def _print(name: str, costs: dict[str, float]) -> None:
    texts = ", ".join(f"{cost} {value:.3f}" for cost, value in costs.items())
    print(f"{name} pages, load {os.getloadavg()[0]:.0f}: {texts}", flush=True)


def report(found: Sequence[Comparison]) -> None:
    """Print the costs of each comparison, and the ratios of the large store to the small one."""
    table = Table("pages", *COLUMNS)
    for one in found:
        rows = {f"{one.stored:,}": one.large, "small": one.small}
        for name, costs in rows.items():
            table.add_row(name, *(f"{costs[column]:.3f}" for column in COLUMNS))
        ratios = (one.large[column] / (one.small[column] or 1.0) for column in COLUMNS)
        table.add_row("ratio", *(f"{ratio:.2f}" for ratio in ratios))
    Console(width=200).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", type=Path, help=".deb files with HTML files")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--fill", type=int, default=0, metavar="N")
    parser.add_argument("--compared", type=int, nargs=2, default=(10_000, 20_000), metavar="N")
    parser.add_argument("--folder", type=Path, help="keep the stores here")
    parser.add_argument("--site", type=Path, help="keep the links of the packages here")
    add_quick(parser, pages=4000, compared=(1000, 1500))
    args = parser.parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="aragog-growth-")
    with temporary as other:
        site = generated_site(50, 40)
        if args.packages:
            site = site_of_packages(args.packages, args.site or Path(other))
        with nullcontext(args.folder) if args.folder else temporary as folder:
            report([*grow(Path(folder), site, args.pages, range(*args.compared), args.fill)])


if __name__ == "__main__":
    main()
