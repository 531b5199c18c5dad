"""
Measure the CPU of reading the links of a page with one call, by format and version of the code.

    python -m bench.batch_reads [--formats 1 2 3]
    apt-get download rust-doc libboost1.81-doc sagemath-doc linux-doc-6.1
    python -m bench.batch_reads *.deb --other FOLDER

Fills small stores on SQLite with 4,000 pages each: of many sites with 40 pages each, and of one
host, if packages are given from their HTML files as in `bench.site_growth`. Then it reads them in
turn, each time with a new process: of many sites, all pages of a site; of one host, the distinct
links of a page to stored pages, 30 to 100. `FOLDER` is a checkout of another version with its
environment in `.venv`. Its store has the format that this version gives to new stores, and all
ratios compare with it, or else with the first format.

`getMany of the API` reads four fields, without facts; `get_many` is the method of `UrlStore`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.quick import add_quick
from bench.site_growth import site_of_packages
from bench.site_leaves import crawl, generated_site
from zengraph.tables import FORMAT

SITE_PAGES = 40
MIN_LINKS = 30
MAX_LINKS = 100
HERE = Path(__file__).resolve().parent.parent


class Pages(NamedTuple):
    """The stored pages and the batches in which they are read."""

    urls: Sequence[str]
    batches: Sequence[Sequence[str]]


class Reader(NamedTuple):
    """A store, and the version of the code that reads it."""

    name: str
    checkout: Path
    folder: Path
    pages: Path

    def run(self, command: str) -> str:
        """Run `bench.batch_reader` with this version and return what it prints."""
        python = sys.executable if self.checkout == HERE else self.checkout / ".venv/bin/python"
        script = HERE / "bench" / "batch_reader.py"
        argv = [str(python), str(script), command, str(self.folder), str(self.pages)]
        done = subprocess.run(argv, cwd=self.checkout, check=True, stdout=subprocess.PIPE)
        return done.stdout.decode()


def of_many_sites(count: int) -> Pages:
    """Return pages with the URLs of `bench.urlstore`."""
    urls = [
        f"https://www.site{n // SITE_PAGES}.example/articles/{n % SITE_PAGES}/some-words-of-a-title"
        for n in range(count)
    ]
    return Pages(urls, [urls[at : at + SITE_PAGES] for at in range(0, count, SITE_PAGES)])


def of_one_host(packages: Sequence[Path], count: int, folder: Path) -> Pages:
    """Return the first pages of a crawl of the packages, and the links of each page."""
    site = site_of_packages(packages, folder) if packages else generated_site(50, 40)
    order = crawl(site)[:count]
    url_of = {number: f"https://docs.example{site.paths[number]}" for number in order}
    batches = []
    for number in order:
        targets = [target for target in dict.fromkeys(site.links[number]) if target in url_of]
        if len(targets) >= MIN_LINKS or not packages:
            batches.append([url_of[target] for target in targets[:MAX_LINKS]])
    return Pages(list(url_of.values()), batches)


def readers(pages: Pages, formats: Sequence[int], other: Path | None, folder: Path) -> list[Reader]:
    """Create and fill a store for each format, and before that one for the other version."""
    folder.mkdir()
    file = folder / "pages.json"
    file.write_text(json.dumps({"urls": pages.urls, "batches": pages.batches}), "ascii")
    made = [] if other is None else [Reader(other.name, other.resolve(), folder / "other", file)]
    for form in formats:
        made.append(Reader(f"format {form}", HERE, folder / str(form), file))
        (made[-1].folder / "store").mkdir(parents=True)
        if form != FORMAT:
            (made[-1].folder / "store" / "format").write_text(f"{form}\n", "ascii")
    for one in made:
        one.run("fill")
    return made


def report(name: str, found: Sequence[Reader], rounds: int) -> None:
    """Read the stores in turn and print the medians."""
    costs: list[list[dict[str, float]]] = [[] for _ in found]
    for _ in range(rounds):
        for reader, own in zip(found, costs, strict=True):
            own.append(json.loads(reader.run("read")))
    kinds = list(costs[0][0])
    table = Table(name, *[cell for kind in kinds for cell in (f"{kind}, us per URL", "compared")])
    base = {kind: median(cost[kind] for cost in costs[0]) for kind in kinds}
    for reader, own in zip(found, costs, strict=True):
        medians = {kind: median(cost[kind] for cost in own) for kind in kinds}
        cells = [
            cell
            for kind in kinds
            for cell in (f"{medians[kind]:.1f}", f"{medians[kind] / base[kind]:.2f}")
        ]
        table.add_row(reader.name, *cells)
    Console(width=160).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", type=Path, help=".deb files with HTML files")
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--formats", type=int, nargs="+", default=[1, FORMAT])
    parser.add_argument("--other", type=Path, help="a checkout of another version")
    parser.add_argument("--rounds", type=int, default=15)
    add_quick(parser, pages=1_000, rounds=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aragog-reads-") as name:
        folder = Path(name)
        for title, pages in (
            ("many sites", of_many_sites(args.pages)),
            ("one host", of_one_host(args.packages, args.pages, folder)),
        ):
            found = readers(pages, args.formats, args.other, folder / title.replace(" ", "-"))
            report(title, found, args.rounds)


if __name__ == "__main__":
    main()
