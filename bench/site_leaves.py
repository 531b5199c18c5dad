"""
Count the leaves of trees that a crawl of a real site changes, for each format of ids.

    apt-get download rust-doc openjdk-17-doc linux-doc-6.1 vtk9-doc
    python -m bench.site_leaves *.deb

Reads the HTML files of Debian packages as one site each, and crawls it breadth-first from its
thirty uppermost pages. The queue is first in, first out, but batches are fetched at the same time,
so the next page is one of the first hundred. Half of the pages are stored; for the other half, it
counts the leaves that the pages of a batch of 25 change, and those of 500 pages, as between two
checkpoints of SQLite. There are sixteen files. `index` is a tree of keys alone, with 50 in a leaf of
2 KB, as of nodes and of outlinks; `hosts` the index of hosts, with 10. `folders` are those of the
pages of a batch, and `files` those that it writes.
"""

from __future__ import annotations

import argparse
import gzip
import posixpath
import random
import re
import subprocess
import tarfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from rich.console import Console
from rich.table import Table

from aragog.urlstore.node_ids import UrlNaming, folder_of
from bench.quick import add_quick
from zengraph.tables import FORMAT

BATCHES = (25, 500)
KEYS_PER_LEAF = {"index": 50, "hosts": 10}
FILES = 16
STARTS = 30
WINDOW = 100
_LINK = re.compile(rb"""<a\b[^>]*?\bhref\s*=\s*["']?([^"'#?\s>]+)""", re.IGNORECASE)


class Site(NamedTuple):
    paths: Sequence[str]
    links: Sequence[Sequence[int]]
    """The numbers of the pages to which each page links, in the page's order."""


def html_files(package: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each HTML file in a Debian package."""
    argv = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as files,
    ):
        for file in files:
            if file.isfile() and file.name.endswith((".html", ".htm", ".html.gz")):
                data = files.extractfile(file).read()
                is_packed = file.name.endswith(".gz")
                path = file.name.removeprefix(".").removesuffix(".gz")
                yield path, gzip.decompress(data) if is_packed else data


def site_of(files: Iterator[tuple[str, bytes]]) -> Site:
    """Return the pages and the links between them."""
    targets = {path: _targets(path, data) for path, data in files}
    numbers = {path: number for number, path in enumerate(targets)}
    links = [[numbers[one] for one in some if one in numbers] for some in targets.values()]
    return Site(list(targets), links)


def _targets(path: str, data: bytes) -> list[str]:
    hrefs = [unquote(href.decode("utf-8", "replace")) for href in _LINK.findall(data)]
    own = [href + "index.html" * href.endswith("/") for href in hrefs if ":" not in href]
    folder = posixpath.dirname(path)
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(folder, href)) for href in own))


def generated_site(folders: int, pages: int) -> Site:
    """Return a small site whose pages link to their folder and to the next one."""
    paths = [f"/f{folder}/p{page}.html" for folder in range(folders) for page in range(pages)]
    links = [[(n + step) % len(paths) for step in (1, 2, 3, pages)] for n in range(len(paths))]
    return Site(paths, links)


def crawl(site: Site) -> list[int]:
    """Return the pages in the order in which they are fetched."""
    rng, at = random.Random(1), 0
    depth = lambda n: (not site.paths[n].endswith("index.html"), site.paths[n].count("/"))  # noqa: E731
    queue = sorted(range(len(site.paths)), key=depth)[:STARTS]
    seen = set(queue)
    while at < len(queue):
        other = at + rng.randrange(min(WINDOW, len(queue) - at))
        queue[at], queue[other] = queue[other], queue[at]
        for target in site.links[queue[at]]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
        at += 1
    return queue


def mean_distinct(values: Sequence[object], batch: int) -> float:
    """Return how many distinct values a batch has on average."""
    batches = [values[at : at + batch] for at in range(0, len(values) - batch + 1, batch)]
    return sum(len(set(some)) for some in batches) / max(1, len(batches))


def leaves_of(ids: Sequence[bytes], keys_per_leaf: int) -> list[tuple[int, int]]:
    """Return the file and the leaf of each id, in trees that contain all of them."""
    files: dict[int, list[bytes]] = {number: [] for number in range(FILES)}
    for one in sorted(ids):
        files[one[0] % FILES].append(one)
    return [
        (one[0] % FILES, bisect_left(files[one[0] % FILES], one) // keys_per_leaf) for one in ids
    ]


def report(name: str, site: Site) -> None:
    """Print the leaves per page for each format of ids."""
    order = crawl(site)
    urls = [f"https://docs.example{site.paths[number]}" for number in order]
    half = len(order) // 2
    folders = [mean_distinct([folder_of(u.encode())[0] for u in urls[half:]], b) for b in BATCHES]
    table = Table(
        f"{name}: {len(order):,} pages", "files",
        *(f"{tree}, {batch}" for tree in KEYS_PER_LEAF for batch in BATCHES), "largest file",
    )  # fmt: skip
    for form in range(1, FORMAT + 1):
        ids = [*map(UrlNaming(lambda form=form: form).node_id, urls)]
        files = [one[0] % FILES for one in ids]
        cells = [f"{mean_distinct(files[half:], BATCHES[0]):.1f}"]
        for keys in KEYS_PER_LEAF.values():
            leaves = leaves_of(ids, keys)[half:]
            cells += [f"{mean_distinct(leaves, batch) / batch:.2f}" for batch in BATCHES]
        largest = max(map(files.count, set(files))) / len(files)
        table.add_row(f"format {form}", *cells, f"{largest:.0%}")
    Console().print(table)
    print(f"folders: {folders[0]:.1f} in 25 pages, {folders[1]:.0f} in 500")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", type=Path, help=".deb files with HTML files")
    add_quick(parser)
    args = parser.parse_args()
    if not args.packages:
        report("generated", generated_site(50, 40))
    for package in args.packages:
        report(package.name.partition("_")[0], site_of(html_files(package)))


if __name__ == "__main__":
    main()
