"""
Make folders for `bench.page_text` from pages whose main text other projects publish.

    python -m bench.main_text_sets FOLDER CLONE [CLONE ...]
    python -m bench.main_text_sets FOLDER CLONE [CLONE ...] --untouched

CLONE is a copy of one of the repositories in `bench/page_repositories.lock`, which names the
commits used for the documented figures. Each becomes a folder below FOLDER: `articles` (an article
extraction benchmark), `suite` (trafilatura's own pages), `readability` (the pages of Mozilla's
Readability, whose text is that program's output as accepted by its authors), `forks` (pages that
forks and ports of Readability added, with their output; Mozilla's clone must be beside theirs),
`news` (fundus) and `web` (a benchmark of seven kinds of pages). Every second page of `suite` is
taken, and every fourth of `web`. `--untouched` takes the other pages, except those of sites that
occur in the normal sets: the rules were written without them. Neither pages nor texts are part of
this repository.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from bench.quick import add_quick
from urlspelling.domain import registered_domain

Row = dict[str, Any]

_OWN_URL = re.compile(
    rb"(?:canonical[^<>]{1,99}href|og:url[^<>]{1,99}content)=[\"']?(https?://[!-~]{4,500}?)[\"'\s>]"
)


def articles(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield articles with the whole text."""
    labels = json.loads((clone / "ground-truth.json").read_text(encoding="utf-8"))
    for name, row in sorted(labels.items()):
        page = gzip.decompress((clone / "html" / f"{name}.html.gz").read_bytes())
        yield page, {"url": row["url"], "text": row["articleBody"]}


def suite(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of all kinds, with pieces of text that must and must not be found."""
    labels = json.loads((clone / "tests" / "evaldata.json").read_text(encoding="utf-8"))
    for url, row in labels.items():
        candidates = [clone / "tests" / folder / row["file"] for folder in ("cache", "eval")]
        path = next(path for path in candidates if path.exists())
        yield path.read_bytes(), {"url": url, "with": row["with"], "without": row["without"]}


def readability(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of all kinds with Readability's output."""
    yield from _readability_pages(clone.glob("test/test-pages/*/expected.html"))


def _readability_pages(pages: Iterable[Path]) -> Iterator[tuple[bytes, Row]]:
    for expected in sorted(pages):
        page = expected.with_name("source.html").read_bytes()
        own_url = _OWN_URL.search(page)
        url = own_url[1].decode() if own_url else f"http://{expected.parent.name}.example/"
        tree = LexborHTMLParser(expected.read_text(encoding="utf-8"))
        tree.strip_tags(["script", "style"])
        yield page, {"url": url, "text": tree.body.text(separator=" ") if tree.body else ""}


def forks(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield the pages of a fork of Readability that Mozilla does not have."""
    names = {
        page.name
        for program in clone.parent.glob("*/Readability.js")
        for page in program.parent.glob("test/test-pages/*")
    }
    if not names:
        raise SystemExit(f"{clone}: the clone of mozilla/readability is not beside it")
    yield from _readability_pages(
        expected
        for expected in clone.rglob("*test-pages/**/expected.html")
        if expected.parent.name not in names and expected.with_name("source.html").exists()
    )


def news(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """
    Yield the newest page of each news site, with the text found by fundus' parser for
    that site.
    """
    for labels in sorted(clone.glob("tests/resources/parser/test_data/*/*.json")):
        *_, newest = json.loads(labels.read_text(encoding="utf-8")).values()
        pages = sorted(labels.parent.glob(f"{labels.stem}_*.html.gz"))
        if newest.get("body") and pages:
            urls = json.loads(labels.with_name("meta.info").read_text(encoding="utf-8"))
            yield (
                gzip.decompress(pages[-1].read_bytes()),
                {
                    "url": urls[pages[-1].name]["url"],
                    "text": "\n".join(_paragraphs(newest["body"])),
                },
            )


def _paragraphs(body: dict[str, Any]) -> Iterator[str]:
    yield from body.get("summary") or ()
    for section in body["sections"]:
        yield from section.get("headline") or ()
        yield from section["paragraphs"]


def web(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of seven kinds with the whole text."""
    labels = sorted(clone.glob("*/ground-truth/*.json"))
    rows = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in labels]
    rows = [(path, row) for path, row in rows if row["ground_truth"].get("main_content")]
    for path, row in rows:
        page = path.parent.parent / "html" / f"{path.stem}.html.gz"
        url = row.get("url") or f"http://{path.stem}{path.parent.parent.name}.example/"
        text = row["ground_truth"]["main_content"]
        yield gzip.decompress(page.read_bytes()), {"url": url, "text": text}


SETS: dict[str, Callable[[Path], Iterator[tuple[bytes, Row]]]] = {
    "ground-truth.json": articles,
    "tests/evaldata.json": suite,
    "Readability.js": readability,
    "packages/readabilityjs": forks,
    "src/SmartReaderTests": forks,
    "src/test/resources/additional-test-pages": forks,
    "tests/resources/parser/test_data/at": news,
    "dev/ground-truth": web,
}
"""Readers by a path that a copy of that repository has; the first that exists counts."""


STEPS = {"suite": 2, "web": 4}
"""For a large set, only every n-th page is taken."""


def reader_of(clone: Path) -> Callable[[Path], Iterator[tuple[bytes, Row]]]:
    """Return the reader for a clone's pages."""
    reader = next((reader for path, reader in SETS.items() if (clone / path).exists()), None)
    if reader is None:
        raise SystemExit(f"{clone}: no copy of a repository with main texts")
    return reader


def site_of(url: str) -> str:
    """Return the registered domain of a URL, or its host."""
    host = re.sub(r"^\w+://(?:www\.)?", "", url).partition("/")[0]
    return registered_domain(host) or host


def sites_in_sets(clones: list[Path]) -> set[str]:
    """Return the sites of all pages that the sets take."""
    return {
        site_of(row["url"]) for clone in clones for _, row in _selected(reader_of(clone), clone)
    }


def _selected(
    reader: Callable[[Path], Iterator[tuple[bytes, Row]]], clone: Path
) -> Iterator[tuple[bytes, Row]]:
    return islice(reader(clone), None, None, STEPS.get(reader.__name__, 1))


def write(folder: Path, clone: Path, excluded_sites: set[str] | None = None) -> int:
    """Write a clone's normal pages to a folder, or those of sites that are not in `excluded_sites`."""
    reader = reader_of(clone)
    group = reader.__name__
    target = folder / (f"{group}-{clone.name}" if reader is forks else group)
    target.mkdir(parents=True, exist_ok=True)
    pages = _selected(reader, clone)
    if excluded_sites is not None:
        pages = (item for item in reader(clone) if site_of(item[1]["url"]) not in excluded_sites)
    rows = []
    for number, (page, row) in enumerate(pages):
        (target / f"{number:04d}.html").write_bytes(page)
        rows.append({"file": f"{number:04d}.html", "group": group, **row})
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (target / "pages.jsonl").write_text(lines, encoding="utf-8")
    return len(rows)


def make_clone(folder: Path) -> Path:
    """Make a clone with one page."""
    page = folder / "test" / "test-pages" / "one"
    page.mkdir(parents=True)
    (folder / "Readability.js").touch()
    (page / "source.html").write_text("<title>A page</title><p>What it says.</p>")
    (page / "expected.html").write_text("<div><p>What it says.</p></div>")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("clones", nargs="*", type=Path)
    parser.add_argument("--untouched", action="store_true", help="the pages that are in no set")
    add_quick(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if options.quick:
            options.folder, options.clones = (
                Path(temporary) / "sets",
                [make_clone(Path(temporary) / "clone")],
            )
        if options.folder is None or not options.clones:
            parser.error("FOLDER and CLONE: where to write, and what to read")
        excluded_sites = sites_in_sets(options.clones) if options.untouched else None
        for clone in options.clones:
            print(f"{clone.name}: {write(options.folder, clone, excluded_sites)} pages")


if __name__ == "__main__":
    main()
