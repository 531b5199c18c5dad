"""
The three benchmark jobs. Each one has a site built from real pages and the rows that its output
file should contain.

The pages come from the Python documentation (`bench.crawl.page_sets`).
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from bench.crawl import page_sets

Rows = Mapping[str, Any]
"""Maps a URL without scheme and port to the expected content of its row."""

PRODUCT = """
<div class="product"><h1 class="product-title">{name}</h1><img class="product" src="/i/{number}.jpg">
<span class="price">${price}</span> <span class="stock">{stock}</span> <span class="sku">{sku}</span></div>
"""
MIN_WORD_SHARE = 0.5
SITE_SEPARATOR = " — "
"""The separator between page title and site name."""
MIN_WORDS = 100
"""Minimum words in the paragraphs of a page that counts as documentation."""
LINK_TARGET = re.compile(r"\]\([^()\s]*\)")
"""
The URL part of a Markdown link. Removed before comparing, because it is not in the page's visible
text.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a site, the start URLs, and the expected content of its file."""

    name: str
    pages: Path
    """The folder that the origin serves."""
    directives: str
    """Extra nginx directives for the origin server."""
    seeds: tuple[str, ...]
    """URLs without scheme and port: `shop.test/p/1.html`."""
    output: str
    expected: Rows
    is_correct: Callable[[Mapping[str, str], Any], bool]
    """Returns True if a row is as expected."""

    def urls(self, port: int) -> str:
        """Return the contents of the URL file that a user would provide."""
        return "".join(f"http://{_with_port(seed, port)}\n" for seed in self.seeds)

    def count_correct(self, folder: Path) -> tuple[int, int]:
        """Return the number of correct rows in the output file, and the number of all its rows."""
        rows = list(_rows(folder / self.output))
        correct = {
            key
            for row in rows
            if (expected := self.expected.get(key := _without_port(row["url"])))
            and self.is_correct(row, expected)
        }
        return len(correct), len(rows)


def products(folder: Path, pages: int) -> Job:
    """Product pages of one shop with known URLs."""
    documents = _documents()
    expected = {}
    (folder / "p").mkdir(parents=True)
    for number in range(pages):
        product = _product(number)
        page = documents[number % len(documents)].read_text(errors="replace")
        block = PRODUCT.format(number=number, **product)
        text = re.sub(r"<body[^>]*>", lambda tag, block=block: tag[0] + block, page, count=1)
        (folder / "p" / f"{number}.html").write_text(text)
        expected[f"shop.test/p/{number}.html"] = {**product, "image": f"shop.test/i/{number}.jpg"}
    return Job("products", folder, "", tuple(expected), "products.csv", expected, _same_product)


def _product(number: int) -> dict[str, str]:
    return {
        "name": f"Lamp model {number}",
        "price": f"{5 + number % 90}.{10 + number % 89}",
        "stock": ("In stock", "Sold out")[number % 7 == 0],
        "sku": f"LAMP-{number:05}",
    }


def _same_product(row: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    is_same = all(row[name] == expected[name] for name in ("name", "stock", "sku"))
    is_priced = float(row["price"] or 0) == float(expected["price"])
    return is_same and is_priced and _without_port(row["image"]) == expected["image"]


def hosts(folder: Path, pages: int) -> Job:
    """Up to a hundred hosts with the same number of pages each: a front page linking to the others."""
    count = min(100, max(1, pages // 2))
    pages_per_host, documents = pages // count, _documents()
    folder.mkdir(parents=True)
    expected: dict[str, str] = {}
    for name in {path.name for path in documents}:
        shutil.copy(next(path for path in documents if path.name == name), folder / name)
    names = sorted(path.name for path in folder.iterdir())
    titles = {name: _title(folder / name) for name in names}
    (folder / "fronts").mkdir()
    for number in range(count):
        host = page_sets.host(number)
        host_pages = [names[(number * 49 + n) % len(names)] for n in range(pages_per_host - 1)]
        links = "".join(f'<li><a href="/{name}">{name}</a>' for name in host_pages)
        front = f"<html><title>Site {number}</title><ul>{links}</ul></html>"
        (folder / "fronts" / f"{host}.html").write_text(front)
        expected[f"{host}/"] = f"Site {number}"
        expected |= {f"{host}/{name}": titles[name] for name in host_pages}
    seeds = tuple(f"{page_sets.host(number)}/" for number in range(count))
    directives = "location = / { try_files /fronts/$host.html =404; }"
    return Job("hosts", folder, directives, seeds, "hosts.csv", expected, _same_title)


def _title(page: Path) -> str:
    title = LexborHTMLParser(page.read_bytes()).css_first("title")
    return _collapse_space(title.text() if title else "")


def _same_title(row: Mapping[str, str], expected: str) -> bool:
    """Return True if the row contains the page's title, with or without the site's name after it."""
    title = _collapse_space(row["title"])
    after = expected.removeprefix(title)
    return bool(title) and (not after or (after != expected and after.startswith(SITE_SEPARATOR)))


def documentation(folder: Path, pages: int) -> Job:
    """The pages of a documentation site that its contents page links to, as Markdown."""
    root, contents = page_sets.docs().folder, folder / "index.html"
    expected: dict[str, Mapping[str, str]] = {}
    for document in sorted(_documents(), key=lambda path: path.stat().st_size, reverse=True):
        main = _main_content(document)
        path = folder / document.relative_to(root)
        if len(expected) == pages or path == contents or len(main["words"].split()) < MIN_WORDS:
            continue  # an index has no text, and the contents page replaces the front page
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(document, path)
        expected[f"docs.test/{document.relative_to(root)}"] = main
    links = "".join(f'<li><a href="/{key.partition("/")[2]}">{key}</a>' for key in expected)
    contents.write_text(f"<html><title>Contents</title><ul>{links}</ul></html>")
    seeds = ("docs.test/",)
    return Job("documentation", folder, "", seeds, "documentation.jsonl", expected, _has_main_text)


def _main_content(page: Path) -> dict[str, str]:
    main = LexborHTMLParser(page.read_bytes()).css_first("[role=main]")
    heading = main.css_first("h1") if main else None
    return {
        "heading": _words(heading.text() if heading else ""),
        "words": _words(" ".join(node.text() for node in main.css("p")) if main else ""),
    }


def _has_main_text(row: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    """Return True if the text contains the page's heading and most words of its paragraphs."""
    text = _words(LINK_TARGET.sub("]", row.get("markdown") or ""))
    words, found_words = expected["words"].split(), set(text.split())
    share = sum(word in found_words for word in words) / max(1, len(words))
    return expected["heading"] in text and share >= MIN_WORD_SHARE


def _documents() -> list[Path]:
    """Return the pages except the parts of the index, whose titles are all `Index`."""
    docs = page_sets.docs()
    return [docs.folder / path for path in docs.paths if "genindex" not in path]


def _rows(file: Path) -> Iterable[Mapping[str, str]]:
    if not file.exists():
        return
    with file.open(newline="") as lines:
        yield from csv.DictReader(lines) if file.suffix == ".csv" else map(json.loads, lines)


def _collapse_space(text: str | None) -> str:
    return " ".join((text or "").split())


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _with_port(url: str, port: int) -> str:
    host, _, path = url.partition("/")
    return f"{host}:{port}/{path}"


def _without_port(url: str) -> str:
    return re.sub(r":\d+", "", url.partition("://")[2], count=1)


ALL: Mapping[str, tuple[Callable[[Path, int], Job], int]] = {
    "products": (products, 2000),
    "hosts": (hosts, 5000),
    "documentation": (documentation, 400),
}
"""Maps the name of each job to the function that builds it and its number of pages."""
