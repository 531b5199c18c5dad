"""
Check invariants of every page, and that different ways to write a page do not change the result.

    python -m bench.invariants FOLDER …                every page below the folders
    python -m bench.invariants --quick                 a few pages of the project itself
    python -m bench.invariants FOLDER --transform-every 20
                                                       every 20th page, rewritten in each other way
    python -m bench.invariants FOLDER --checkout DIR   with the code of another checkout

Pages are `*.html` and `*.testhtml`. If there is a `pages.jsonl` next to them, as written by
`bench.page_annotations`, it has their URLs; other pages get the URL `https://docs.example/` plus
their path. Exits with 1 if an invariant is violated.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

from bench.checkouts import code_paths
from bench.invariants import Finding
from bench.invariants.reading import Reading
from bench.quick import add_quick

ROOT = Path(__file__).parents[2]
MAX_BYTES = 2_000_000


def value_findings(body: bytes, url: str) -> Iterator[Finding]:
    """Check the typed values of a page. A page without any has no finding."""
    from bench.value_invariants import CHECKS

    for name, check in CHECKS.items():
        violations = check(body, url)
        if violations is not None:
            yield Finding(name, "; ".join(f"{v.field}: {v.detail}" for v in violations))


MORE_CHECKS: tuple[Callable[[bytes, str], Iterable[Finding]], ...] = (value_findings,)
"""Additional checks of a page's bytes and URL, for typed values."""
_IGNORED_FIELDS = {"page.canonical_url", "page.url"}


@dataclass(slots=True)
class Counts:
    pages: int = 0
    violated: int = 0
    examples: list[str] = field(default_factory=list)


def pages_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the pages of a folder with their URLs."""
    url_list = folder / "pages.jsonl"
    urls: dict[str, str] = {}
    if url_list.exists():
        for line in url_list.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            urls[row["file"]] = row["url"]
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.testhtml")]):
        name = path.relative_to(folder).as_posix()
        if urls and name not in urls:
            continue
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            yield path, urls.get(name) or f"https://docs.example/{quote(name)}"


def check_page(task: tuple[str, str, bool]) -> tuple[str, list[tuple[str, str]], float]:
    """Return all findings of a page. Each has the name of the invariant and what is wrong."""
    path, url, has_variants = task
    started = time.process_time()
    body = Path(path).read_bytes()
    findings = [
        (finding.invariant, finding.detail) for finding in findings_of(body, url, has_variants)
    ]
    return path, findings, time.process_time() - started


def findings_of(
    body: bytes, url: str, has_variants: bool, more_checks=MORE_CHECKS
) -> list[Finding]:
    """Check a page, and its variants if `has_variants`."""
    from bench.invariants import text_checks
    from bench.invariants.page_oracle import PageOracle
    from bench.invariants.reading import read
    from richpins import document

    page = document.parse(body, url=url, content_type="text/html")
    reading = read(body, url)
    markup = page.body.decode("utf-8", "replace")
    findings = text_checks.findings(PageOracle(markup, url), reading)
    for check in more_checks:
        findings += check(body, url)
    if has_variants:
        findings += _transformed(markup, url)
    return findings


def _transformed(markup: str, url: str) -> list[Finding]:
    from bench.invariants.reading import read
    from bench.invariants.transformations import TRANSFORMATIONS, Variant

    # Variants are compared with the page as UTF-8 with a declared charset.
    plain = Variant(markup.encode("utf-8", "replace"), url)
    before = read(plain.body, plain.url, plain.content_type)
    findings = []
    for name, transform in TRANSFORMATIONS.items():
        variant = transform(markup, url)
        if variant is not None:
            after = read(variant.body, variant.url, variant.content_type)
            # With a base element, `#part` resolves to the base, which may be another page.
            own_urls = {url, variant.url}
            findings.append(Finding(name, differences(before, after, own_urls)))
    return findings


def differences(before: Reading, after: Reading, own_urls: set[str]) -> str:
    """Return the names of the parts that differ. Links to the page itself do not count."""
    parts = [
        name
        for name in ("title", "text", "markdown")
        if getattr(before, name) != getattr(after, name)
    ]
    if [u for u in before.links if u not in own_urls] != [
        u for u in after.links if u not in own_urls
    ]:
        parts.append("links")
    names = ({*before.fields} | {*after.fields}) - _IGNORED_FIELDS
    parts += sorted(n for n in names if before.fields.get(n) != after.fields.get(n))
    return ", ".join(parts)


def select_tasks(
    folders: list[Path], transform_every: int, limit: int | None
) -> list[tuple[str, str, bool]]:
    """Return the pages to examine, and which of them to transform."""
    pages = []
    for folder in folders:
        pages_of_folder = list(pages_in(folder))
        pages += (
            pages_of_folder[:: max(1, len(pages_of_folder) // limit)] if limit else pages_of_folder
        )
    return [
        (str(path), url, bool(transform_every) and number % transform_every == 0)
        for number, (path, url) in enumerate(pages)
    ]


def run(tasks: list[tuple[str, str, bool]], workers: int) -> dict[str, Counts]:
    """Examine pages in separate processes. Returns the counts by invariant."""
    counts: dict[str, Counts] = defaultdict(Counts)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for path, findings, _ in pool.map(check_page, tasks, chunksize=8):
            for invariant, detail in findings:
                count = counts[invariant]
                count.pages += 1
                if detail:
                    count.violated += 1
                    count.examples.append(f"{path}: {detail}")
    return counts


def quick_pages(folder: Path) -> None:
    """Write pages of the project itself: its rendered documents."""
    from bench.invariants.own_pages import write

    write(folder, limit=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--transform-every", type=int, default=20, help="0: no variants")
    parser.add_argument(
        "--limit", type=int, help="maximum number of pages per folder, approximately"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, default=3, help="examples of each violation")
    parser.add_argument("--checkout", type=Path, help="the checkout whose code is checked")
    add_quick(parser, limit=4, transform_every=2)
    options = parser.parse_args()
    if options.checkout:
        sys.path[:0] = map(str, code_paths(options.checkout.resolve()))
    if not options.folders:
        import tempfile

        own_pages = tempfile.TemporaryDirectory()
        quick_pages(Path(own_pages.name))
        options.folders = [Path(own_pages.name)]
    tasks = select_tasks(options.folders, options.transform_every, options.limit)
    counts = run(tasks, options.workers)
    print_table(len(tasks), counts, options.show)
    sys.exit(1 if any(count.violated for count in counts.values()) else 0)


def print_table(pages: int, counts: dict[str, Counts], max_examples: int) -> None:
    table = Table(f"of {pages} pages", "pages with it", "violated")
    for invariant, count in counts.items():
        table.add_row(invariant, str(count.pages), str(count.violated))
    Console(width=110).print(table)
    for invariant, count in counts.items():
        if count.violated and max_examples:
            parts = Counter(e.split(": ", 1)[1] for e in count.examples)
            print(f"{invariant}: {len(parts)} kinds")
            for example in count.examples[:: max(1, len(count.examples) // max_examples)][
                :max_examples
            ]:
                print(f"    {example[:230]}")


if __name__ == "__main__":
    main()
