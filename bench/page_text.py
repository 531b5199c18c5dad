"""
Score libraries that find the main text of a page: F1, and CPU time per page.

    python -m bench.page_text FOLDER [FOLDER …]
    python -m bench.page_text FOLDER … --program richpins --program trafilatura

`python -m bench.main_text_sets` makes such folders. FOLDER contains `pages.jsonl`, one JSON object
per line: `file` (relative to the folder), `url`, `group` (any name), and either `text`, the whole
main text, or `with` and `without`, pieces of text that must and must not be in it. This repository
contains no pages.

With `text`, F1 compares sequences of four words, and the result is the mean over pages. With `with`
and `without` it is computed once from all pieces. Pages are divided by a hash of their registered
domain, as in `bench.extraction`; for the half called `score` only totals are printed.

The last column is how much higher the F1 of richpins is than that of the other program, with a 95%
interval from a paired bootstrap over the pages. If the interval contains 0, chance may explain the
difference: other pages of the same kind could reverse the order. Pages of one site are drawn one by
one, so the intervals are a little too narrow.

The libraries are imported by the interpreter that BENCH_PYTHON names, else by .venv-bench or this
one; missing libraries are skipped. A program's time is the CPU time from the page's bytes,
including decoding and parsing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.quick import add_quick
from urlspelling.domain import registered_domain

SEQUENCE_WORDS = 4
"""The number of words in the sequences that are compared."""
REFERENCE = "richpins"
"""The program that the others are compared with."""
DRAWS = 2_000
"""The number of samples that the bootstrap draws. Each interval takes about 0.1 s."""

PROGRAMS = r"""
import json, logging, sys, time
logging.disable(logging.CRITICAL)

def trafilatura_with(**options):
    import trafilatura
    return lambda body, url: trafilatura.extract(
        body, url=url, include_comments=False, with_metadata=False, **options)

def resiliparse(**options):
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.encoding import detect_encoding
    from resiliparse.parse.html import HTMLTree
    return lambda body, url: extract_plain_text(
        HTMLTree.parse_from_bytes(body, detect_encoding(body, from_html_meta=True)),
        comments=False, **options)

def turbohtml():
    import turbohtml
    return lambda body, url: turbohtml.parse(body).article().text

def turbohtml_markdown():
    import turbohtml
    def run(body, url):
        element = turbohtml.parse(body).article().element
        return element.to_markdown() if element is not None else ""
    return run

def html_to_markdown():
    import html_to_markdown
    options = html_to_markdown.ConversionOptions(
        extract_metadata=False, skip_images=True,
        preprocessing=html_to_markdown.PreprocessingOptions(enabled=True, preset="aggressive"))
    return lambda body, url: html_to_markdown.convert(body.decode("utf-8", "replace"), options).content

def readability():
    from lxml import html
    from readability import Document
    return lambda body, url: html.fromstring(Document(body).summary()).text_content()

def richpins(form):
    from richpins import document, main_text
    main_text.finder_version()
    return lambda body, url: main_text.find(document.parse(body, url=url), form)

CANDIDATES = {
    "richpins": lambda: richpins("text"),
    "richpins, Markdown": lambda: richpins("markdown"),
    "trafilatura": lambda: trafilatura_with(),
    "trafilatura, fast": lambda: trafilatura_with(fast=True),
    "trafilatura, Markdown": lambda: trafilatura_with(output_format="markdown"),
    "resiliparse": lambda: resiliparse(main_content=True, preserve_formatting=True, post_meta=False),
    "turbohtml": turbohtml,
    "turbohtml, Markdown": turbohtml_markdown,
    "readability-lxml": readability,
    "html-to-markdown": html_to_markdown,
}
wanted = sys.argv[1:] or list(CANDIDATES)
unknown = sorted(set(wanted) - set(CANDIDATES))
if unknown:
    sys.exit(f"--program: {unknown} unknown; the names are {list(CANDIDATES)}")
programs = {}
for name, make in CANDIDATES.items():
    if name not in wanted:
        continue
    try:
        programs[name] = make()
    except (ImportError, LookupError):
        pass
for line in sys.stdin:
    path, url = json.loads(line)
    body = open(path, "rb").read()
    results = {}
    for name, run in programs.items():
        began = time.process_time()
        try:
            text, failed = run(body, url) or "", False
        except Exception:
            text, failed = "", True
        results[name] = {"text": text, "cpu_ms": 1e3 * (time.process_time() - began), "failed": failed}
    print(json.dumps(results), flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """A page and the expectations for its main text."""

    path: Path
    url: str
    group: str
    text: str | None
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]

    @property
    def half(self) -> str:
        """Return `read` or `score`, depending on the site."""
        site = re.sub(r"^\w+://(?:www\.)?", "", self.url).partition("/")[0]
        digest = hashlib.sha256(registered_domain(site).encode()).digest()
        return "score" if digest[0] % 2 else "read"


@dataclass(frozen=True, slots=True)
class PageScore:
    """One program's result for one page: F1 if the whole text is known, else counts of pieces."""

    f1: float | None
    found: int = 0
    missed: int = 0
    wrong: int = 0


def f1_of(scores: Sequence[PageScore]) -> float:
    """Return the mean over the pages with a whole text, else the F1 of all pieces."""
    f1s = [each.f1 for each in scores if each.f1 is not None]
    if f1s:
        return statistics.fmean(f1s)
    found = sum(each.found for each in scores)
    wrong_or_missed = sum(each.missed + each.wrong for each in scores)
    return 2 * found / max(1, 2 * found + wrong_or_missed)


@dataclass(slots=True)
class Counts:
    """The results of one program for one group of pages, in the order of the pages."""

    scores: list[PageScore] = field(default_factory=list)
    failed: int = 0
    cpu_ms: list[float] = field(default_factory=list)


def difference(one: Counts, other: Counts) -> tuple[float, float, float]:
    """
    Return the F1 of `one` minus that of `other` on the same pages, and its 95% interval.

    The interval comes from a paired bootstrap: pages are drawn with replacement, and both programs
    are scored on the drawn pages.
    """
    pairs = list(zip(one.scores, other.scores, strict=True))
    generator = random.Random(0)  # the same interval in each run
    drawn = sorted(_difference(generator.choices(pairs, k=len(pairs))) for _ in range(DRAWS))
    return _difference(pairs), drawn[DRAWS * 25 // 1000], drawn[DRAWS * 975 // 1000 - 1]


def _difference(pairs: Sequence[tuple[PageScore, PageScore]]) -> float:
    return f1_of([one for one, _ in pairs]) - f1_of([other for _, other in pairs])


def load(folder: Path) -> list[TextPage]:
    """Return the pages listed in a folder's `pages.jsonl`."""
    lines = (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [
        TextPage(
            path=folder / row["file"],
            url=row["url"],
            group=row["group"],
            text=row.get("text"),
            wanted=tuple(row.get("with", ())),
            unwanted=tuple(row.get("without", ())),
        )
        for row in rows
    ]


def sequences(text: str) -> Counter[tuple[str, ...]]:
    """Return the sequences of SEQUENCE_WORDS words in a text, with their counts."""
    words = re.findall(r"\w+", text.casefold())
    if len(words) < SEQUENCE_WORDS:
        return Counter([tuple(words)] if words else [])
    return Counter(
        tuple(words[start : start + SEQUENCE_WORDS])
        for start in range(len(words) - SEQUENCE_WORDS + 1)
    )


def text_f1(expected: str, text: str) -> float:
    """Return how much of the sequences of two texts agrees, 0 to 1."""
    expected_sequences, sequences_of_text = sequences(expected), sequences(text)
    total = expected_sequences.total() + sequences_of_text.total()
    return 2 * (expected_sequences & sequences_of_text).total() / total if total else 1.0


def _collapse_space(text: str) -> str:
    return " ".join(text.split())


def results_of(pages: list[TextPage], programs: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the results of each page by program, in order; `programs` is empty for all programs."""
    bench_python = Path(__file__).parents[1] / ".venv-bench" / "bin" / "python"
    pythons = (os.environ.get("BENCH_PYTHON", ""), str(bench_python), sys.executable)
    python = next(path for path in pythons if path and Path(path).exists())
    with tempfile.TemporaryFile("w+") as names:
        names.writelines(json.dumps([str(page.path), page.url]) + "\n" for page in pages)
        names.seek(0)
        command = [python, "-c", PROGRAMS, *programs]
        with subprocess.Popen(command, stdin=names, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            yield from map(json.loads, process.stdout)
    if process.returncode:
        raise SystemExit(f"the programs ended with exit code {process.returncode}")


def score_of(page: TextPage, text: str) -> PageScore:
    """Compare a program's text with the page's expectations."""
    if page.text is not None:
        return PageScore(text_f1(page.text, text))
    text = _collapse_space(text)
    found = sum(_collapse_space(piece) in text for piece in page.wanted)
    wrong = sum(_collapse_space(piece) in text for piece in page.unwanted)
    return PageScore(None, found, len(page.wanted) - found, wrong)


def score(
    pages: list[TextPage], programs: Sequence[str] = ()
) -> dict[tuple[str, str, str], Counts]:
    """Return the counts of each group, half and program."""
    scores: dict[tuple[str, str, str], Counts] = defaultdict(Counts)
    for page, results in zip(pages, results_of(pages, programs), strict=True):
        for program, result in results.items():
            counts = scores[page.group, page.half, program]
            counts.failed += result["failed"]
            counts.cpu_ms.append(result["cpu_ms"])
            counts.scores.append(score_of(page, result["text"]))
    return scores


def table_of(scores: dict[tuple[str, str, str], Counts]) -> Table:
    """Return F1 in percent and CPU times of each group, half and program."""
    table = Table(
        "group", "half", "program", "pages", "F1", "CPU ms mean", "p95", "failed", "ahead by (95%)"
    )
    previous: tuple[str, str] | None = None
    for (group, half, program), counts in sorted(scores.items(), key=lambda item: item[0][:2]):
        if previous not in (None, (group, half)):
            table.add_section()
        previous = (group, half)
        times = sorted(counts.cpu_ms)
        reference = scores.get((group, half, REFERENCE))
        table.add_row(
            group, half, program, str(len(counts.scores)), f"{100 * f1_of(counts.scores):.2f}",
            f"{statistics.fmean(times):.1f}", f"{times[int(0.95 * (len(times) - 1))]:.1f}",
            str(counts.failed), _ahead(reference, counts),
        )  # fmt: skip
    return table


def _ahead(reference: Counts | None, counts: Counts) -> str:
    """Return how far the reference is ahead, such as `+1.23 (0.40 to 2.10)`, in percent."""
    if reference is None or reference is counts:
        return ""
    ahead, low, high = (100 * value for value in difference(reference, counts))
    return f"{ahead:+.2f} ({low:.2f} to {high:.2f})"


def write_page(folder: Path) -> Path:
    """Fill the folder with one page, and return it."""
    text = "A page of a few words, which is all that it has to say about its subject today."
    (folder / "page.html").write_text(f"<title>A page</title><article><p>{text}</p></article>")
    row = {"file": "page.html", "url": "http://a.example/", "group": "news", "text": text}
    (folder / "pages.jsonl").write_text(json.dumps(row))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Score libraries that find a page's main text.")
    parser.add_argument("folders", nargs="*", type=Path, help="with pages.jsonl and the pages")
    parser.add_argument(
        "--program",
        action="append",
        default=[],
        dest="programs",
        metavar="NAME",
        help="a program to run, may be repeated; all if omitted",
    )
    add_quick(parser)
    options = parser.parse_args()
    if not options.folders and not options.quick:
        parser.error("FOLDER: the annotated pages")
    with tempfile.TemporaryDirectory() as temporary:
        folders = options.folders or [write_page(Path(temporary))]
        pages = [page for folder in folders for page in load(folder)]
        scores = score(pages, options.programs)
    Console(width=120).print(table_of(scores))


if __name__ == "__main__":
    main()
