"""
Make folders for `bench.page_text` from pages whose main text other projects publish.

    python -m bench.main_text_sets FOLDER CLONE [CLONE ...]
    python -m bench.main_text_sets FOLDER CLONE [CLONE ...] --untouched

CLONE is a copy of one of the repositories in `bench/page_repositories.lock`, which names the
commits used for the documented figures. Each becomes a folder below FOLDER: `articles` (an article
extraction benchmark), `suite` (trafilatura's own pages), `readability` (the pages of Mozilla's
Readability, whose text is that program's output as accepted by its authors), `news` (fundus) and
`web` (a benchmark of seven kinds of pages). Every second page of `suite` is taken, and every fourth
of `web`. `--untouched` takes the other pages, except those of sites that occur in the normal sets:
nobody looked at these when the rules were made. Neither pages nor texts are part of this
repository.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator
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
    known = json.loads((clone / "ground-truth.json").read_text(encoding="utf-8"))
    for name, row in sorted(known.items()):
        page = gzip.decompress((clone / "html" / f"{name}.html.gz").read_bytes())
        yield page, {"url": row["url"], "text": row["articleBody"]}


def suite(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of all kinds, with pieces of text that must and must not be found."""
    known = json.loads((clone / "tests" / "evaldata.json").read_text(encoding="utf-8"))
    for url, row in known.items():
        places = [clone / "tests" / folder / row["file"] for folder in ("cache", "eval")]
        path = next(path for path in places if path.exists())
        yield path.read_bytes(), {"url": url, "with": row["with"], "without": row["without"]}


def readability(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of all kinds with Readability's output."""
    for expected in sorted(clone.glob("test/test-pages/*/expected.html")):
        page = expected.with_name("source.html").read_bytes()
        own = _OWN_URL.search(page)
        url = own[1].decode() if own else f"http://{expected.parent.name}.example/"
        tree = LexborHTMLParser(expected.read_text(encoding="utf-8"))
        tree.strip_tags(["script", "style"])
        yield page, {"url": url, "text": tree.body.text(separator=" ") if tree.body else ""}


def news(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """
    Yield the newest page of each news site, with the text found by fundus' parser for
    that site.
    """
    for known in sorted(clone.glob("tests/resources/parser/test_data/*/*.json")):
        *_, newest = json.loads(known.read_text(encoding="utf-8")).values()
        pages = sorted(known.parent.glob(f"{known.stem}_*.html.gz"))
        if newest.get("body") and pages:
            urls = json.loads(known.with_name("meta.info").read_text(encoding="utf-8"))
            yield (
                gzip.decompress(pages[-1].read_bytes()),
                {"url": urls[pages[-1].name]["url"], "text": "\n".join(_lines(newest["body"]))},
            )


def _lines(body: dict[str, Any]) -> Iterator[str]:
    yield from body.get("summary") or ()
    for section in body["sections"]:
        yield from section.get("headline") or ()
        yield from section["paragraphs"]


def web(clone: Path) -> Iterator[tuple[bytes, Row]]:
    """Yield pages of seven kinds with the whole text."""
    known = sorted(clone.glob("*/ground-truth/*.json"))
    rows = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in known]
    rows = [(path, row) for path, row in rows if row["ground_truth"].get("main_content")]
    for path, row in rows:
        page = path.parent.parent / "html" / f"{path.stem}.html.gz"
        url = row.get("url") or f"http://{path.stem}{path.parent.parent.name}.example/"
        text = row["ground_truth"]["main_content"]
        yield gzip.decompress(page.read_bytes()), {"url": url, "text": text}


SETS: dict[str, Callable[[Path], Iterator[tuple[bytes, Row]]]] = {
    "ground-truth.json": articles,
    "tests/evaldata.json": suite,
    "test/test-pages": readability,
    "tests/resources/parser/test_data/at": news,
    "dev/ground-truth": web,
}
"""Readers by a path that only a copy of that repository has."""


STEPS = {"suite": 2, "web": 4}
"""For a large set, only every n-th page is taken."""


def maker_of(clone: Path) -> Callable[[Path], Iterator[tuple[bytes, Row]]]:
    """Return the reader for a clone's pages."""
    make = next((make for path, make in SETS.items() if (clone / path).exists()), None)
    if make is None:
        raise SystemExit(f"{clone}: no copy of a repository with main texts")
    return make


def site_of(url: str) -> str:
    """Return the registered domain of a URL, or its host."""
    host = re.sub(r"^\w+://(?:www\.)?", "", url).partition("/")[0]
    return registered_domain(host) or host


def taken_sites(clones: list[Path]) -> set[str]:
    """Return the sites of all pages that the sets take."""
    return {site_of(row["url"]) for clone in clones for _, row in _stepped(maker_of(clone), clone)}


def _stepped(
    make: Callable[[Path], Iterator[tuple[bytes, Row]]], clone: Path
) -> Iterator[tuple[bytes, Row]]:
    return islice(make(clone), None, None, STEPS.get(make.__name__, 1))


def write(folder: Path, clone: Path, taken: set[str] | None = None) -> int:
    """Write a clone's normal pages to a folder, or those of sites that are not in `taken`."""
    make = maker_of(clone)
    into = folder / make.__name__
    into.mkdir(parents=True, exist_ok=True)
    pages = _stepped(make, clone)
    if taken is not None:
        pages = (each for each in make(clone) if site_of(each[1]["url"]) not in taken)
    rows = []
    for number, (page, row) in enumerate(pages):
        (into / f"{number:04d}.html").write_bytes(page)
        rows.append({"file": f"{number:04d}.html", "group": make.__name__, **row})
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (into / "pages.jsonl").write_text(lines, encoding="utf-8")
    return len(rows)


def one_clone(folder: Path) -> Path:
    """Make a clone with one page."""
    page = folder / "test" / "test-pages" / "one"
    page.mkdir(parents=True)
    (page / "source.html").write_text("<title>A page</title><p>What it says.</p>")
    (page / "expected.html").write_text("<div><p>What it says.</p></div>")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("clones", nargs="*", type=Path)
    parser.add_argument("--untouched", action="store_true", help="the pages that no set takes")
    add_quick(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        if options.quick:
            options.folder, options.clones = Path(made) / "sets", [one_clone(Path(made) / "clone")]
        if options.folder is None or not options.clones:
            parser.error("FOLDER and CLONE: where to write, and what to read")
        taken = taken_sites(options.clones) if options.untouched else None
        for clone in options.clones:
            print(f"{clone.name}: {write(options.folder, clone, taken)} pages")


if __name__ == "__main__":
    main()
