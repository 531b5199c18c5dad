"""
Measure the cost of a page while a store grows by the pages of one real host, in windows.

    apt-get download rust-doc openjdk-17-doc linux-doc-6.1 libboost1.81-doc sagemath-doc vtk9-doc
    python -m bench.site_growth *.deb --copies 2 --pages 15000 60000 105000
    python -m bench.site_growth *.deb --copies 2 --pages 15000 60000 105000 --form 2

Makes one host of the HTML files of Debian packages, as if it had several versions of each, and
writes its pages in the order of `bench.site_leaves`, with their real URLs and links, 15 fields and
small distinct bodies. The 5,000 pages before each number of `--pages` are written in batches of 25
and measured as in `bench.growth_windows`; the others in batches of 250. To compare two formats, run
both at the same time. `--folder` keeps the links of the packages for later runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

from aragog.bootstrap.stores import url_store
from aragog.urlstore.records import OutLink, PageWrite
from aragog.urlstore.store import UrlStore
from bench.growth import CHUNK, a_store, collect_garbage_as_workers_do
from bench.growth_in_turn import BODY_BYTES, FILL_BATCH, compact, content_of
from bench.growth_windows import StatementTimes, add_costs
from bench.packs import fetched, write_packed
from bench.quick import add_quick
from bench.site_leaves import Site, crawl, generated_site, html_files, site_of
from bench.urlstore import FIELDS, NOW_MS, due_ms
from zengraph.links import PackedLinks
from zengraph.tables import FORMAT

WINDOW = 5_000
MAX_LINKS = 400
READ_PAGES = 40
READS = 12


class CrawledHost:
    """The pages of a host in the order of a crawl."""

    def __init__(self, site: Site) -> None:
        self._urls = [f"https://docs.example{path}" for path in site.paths]
        self._links = site.links
        self._order = crawl(site)

    def __len__(self) -> int:
        return len(self._order)

    def pages(self, first: int, count: int) -> list[PageWrite]:
        """Return the pages that are fetched after the first `first`."""
        rng = random.Random(first)
        return [
            self._page(number, position, rng.randbytes(BODY_BYTES))
            for position, number in enumerate(self._order[first : first + count], first)
        ]

    def _page(self, number: int, position: int, body: bytes) -> PageWrite:
        return page_of(
            self._urls[number],
            [self._urls[target] for target in self._links[number][:MAX_LINKS]],
            position,
            body,
        )

    def neighbors(self, stored: int, rng: random.Random) -> list[str]:
        """Return URLs that were fetched one after the other, of the first `stored` pages."""
        first = rng.randrange(max(1, stored - READ_PAGES))
        return [self._urls[number] for number in self._order[first : first + READ_PAGES]]


def page_of(url: str, targets: Sequence[str], position: int, body: bytes) -> PageWrite:
    """Return a page with 15 fields, which was the `position`th that was fetched."""
    fields = {name: f"{name} of {url}".encode() for name in FIELDS}
    fields |= {f"og.{i}": b"a value of some length, as they are" for i in range(11)}
    links = [OutLink(target, f"Some words {n % 97}") for n, target in enumerate(targets, position)]
    return fetched(
        PageWrite(
            url=url, final_url=url, canonical_url=url, fetched_at_ms=NOW_MS + position,
            fields=fields, provenance=dict.fromkeys(fields, "og"),
            links=PackedLinks.of(links), content=content_of(body), due_at_ms=due_ms(url),
            facts={"status": 200, "outcome": "Fetched", "etag": '"x"', "latency_ms": 81.5},
        )
    )  # fmt: skip


def read_us(store: UrlStore, host: CrawledHost, stored: int) -> float:
    """Return the CPU in us per URL of reading pages that were fetched together."""
    rng = random.Random(stored)
    urls = [host.neighbors(stored, rng) for _ in range(READS)]
    before = time.thread_time()
    for some in urls:
        store.pages.values(some, tuple(FIELDS))
    return 1e6 * (time.thread_time() - before) / sum(map(len, urls))


def window(
    store: UrlStore, host: CrawledHost, first: int, count: int, times: StatementTimes
) -> dict[str, float]:
    """Write pages in batches of 25. Returns the mean cost of each."""
    costs, by_table = defaultdict[str, float](float), defaultdict[str, float](float)
    reads_us = []
    for at in range(first, first + count, CHUNK):
        times.seconds.clear()
        add_costs(store, host.pages(at, CHUNK), costs)
        for table, cpu_s in times.seconds.items():
            by_table[table] += cpu_s
        reads_us.append(read_us(store, host, at + CHUNK))
    means = {name: cost / count for name, cost in costs.items()}
    means |= {f"{table} us": 1e6 * cpu_s / count for table, cpu_s in sorted(by_table.items())}
    return means | {"get_many us": fmean(reads_us)}


def grow(store: UrlStore, host: CrawledHost, sizes: Iterable[int]) -> None:
    """Write the pages of the host, and print the costs of the windows before each size."""
    times, stored = StatementTimes(), 0
    for size in sizes:
        start = max(stored, size - WINDOW)
        for at in range(stored, start, CHUNK):
            write_packed(store, host.pages(at, min(CHUNK, start - at)), FILL_BATCH)
            compact(store)
        means = window(store, host, start, size - start, times)
        costs = ", ".join(f"{name} {cost:.3f}" for name, cost in means.items())
        print(f"{size:,} pages, load {os.getloadavg()[0]:.0f}: {costs}", flush=True)
        stored = size


def site_of_packages(packages: Sequence[Path], folder: Path) -> Site:
    """Return all packages as one site; reads them only once if `folder` is kept."""
    cache = folder / "site.json"
    if not cache.exists():
        files = (
            (f"/{package.name.partition('_')[0]}{path}", data)
            for package in packages
            for path, data in html_files(package)
        )
        cache.write_text(json.dumps(site_of(files)))
    return Site(*json.loads(cache.read_text()))


def copies_of(site: Site, count: int) -> Site:
    """Return a site with several versions of each page, which link only to their own version."""
    size = len(site.paths)
    paths = [f"/{number + 1}.0{path}" for number in range(count) for path in site.paths]
    links = [
        [target + number * size for target in some]
        for number in range(count)
        for some in site.links
    ]
    return Site(paths, links)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", type=Path, help=".deb files with HTML files")
    parser.add_argument("--copies", type=int, default=1, help="versions of each package")
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000])
    parser.add_argument("--form", type=int, choices=range(1, FORMAT + 1), default=FORMAT)
    parser.add_argument("--folder", type=Path, help="keep the links of the packages here")
    add_quick(parser, pages=[500, 1000])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        site = generated_site(50, 40)
        if args.packages:
            site = site_of_packages(args.packages, args.folder or Path(temporary))
    host = CrawledHost(copies_of(site, args.copies))
    collect_garbage_as_workers_do()
    print(f"format {args.form}, {len(host):,} pages", flush=True)
    with a_store("sqlite", "folder", form=args.form) as settings:
        store = url_store(settings)
        grow(store, host, itertools.takewhile(lambda size: size <= len(host), args.pages))
        store.close()


if __name__ == "__main__":
    main()
