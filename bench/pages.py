"""
Measure the CPU ms per page: parse, links, evidence, Rich Pin, fields; and extruct's.

    python -m bench.pages            the pages that `make bench` crawls, at most 200 of each set
    python -m bench.pages FOLDER     every *.html and *.testhtml below a folder, at most 200
    python -m bench.pages [FOLDER] --compare CHECKOUT
                                     all of them, with this code and with that of another checkout

Each figure is the mean over the pages of the best of three runs. The time of the Rich Pin excludes
the parse; `all` is the pipeline's work on a page, `read_page`. extruct runs in this environment if
installed, else in .venv-bench.

`--compare` reads every page with both versions, alternating page by page. It prints the CPU time of
each and every page with a difference in a part (body, title, links, fields, provenance, evidence,
problems, conflicts, dropped values), and exits with 1 if there is one. CHECKOUT is the root of a
work tree, such as one of `git worktree add`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.stages.page_analysis import read_page
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from bench.checkouts import code_paths
from bench.crawl import page_sets
from bench.quick import add_quick
from bench.timing import best_s
from richpins import canonical_evidence, document, extraction, links, rich_pins

URL = "https://www.example.com/recipes/page"
HEADER = "text/html; charset=utf-8"
MAX_PAGES = 200

EXTRUCT = """
import json, statistics, sys, time, logging
logging.disable(logging.CRITICAL)
import extruct
mean_ms = {}
for name, syntaxes in (("defaults", None), ("json-ld, microdata, og", ["json-ld", "microdata", "opengraph"])):
    times = []
    for path in sys.argv[1:]:
        html = open(path, encoding="utf-8", errors="replace").read()
        started = time.process_time()
        try:
            more = {"syntaxes": syntaxes} if syntaxes else {}
            extruct.extract(html, base_url="https://www.example.com/", errors="ignore", **more)
        except Exception:
            continue
        times.append(1e3 * (time.process_time() - started))
    mean_ms[name] = statistics.fmean(times)
print(json.dumps(mean_ms))
"""


def best_ms(call: Callable[[], object]) -> float:
    """Return the shortest CPU time of three runs, in milliseconds."""
    return 1e3 * best_s(call, times=3)


def real_pages() -> dict[str, list[bytes]]:
    """Return the pages of `make bench`, evenly chosen."""
    pages_by_name = {}
    for name, make in page_sets.ALL.items():
        pages = make()
        paths = pages.paths[:: -(-len(pages.paths) // MAX_PAGES)]
        bodies = [(pages.folder / path).read_bytes() for path in paths]
        pages_by_name[f"{name}, mean {sum(map(len, bodies)) / len(bodies) / 1000:.0f} KB"] = bodies
    return pages_by_name


def saved_pages(folder: Path) -> dict[str, list[bytes]]:
    """Return pages of a folder by size, evenly chosen."""
    paths = sorted([*folder.rglob("*.html"), *folder.rglob("*.testhtml")])
    bodies = [path.read_bytes() for path in paths[:: max(1, len(paths) // MAX_PAGES)]]
    groups: dict[str, list[bytes]] = {"under 100 KB": [], "100 to 300 KB": [], "over 300 KB": []}
    for body in bodies:
        name = "under 100 KB" if len(body) < 100_000 else "100 to 300 KB"
        groups["over 300 KB" if len(body) > 300_000 else name].append(body)
    return {name: some_pages for name, some_pages in groups.items() if some_pages}


def part_times_ms(body: bytes) -> list[float]:
    page = document.parse(body, url=URL, content_type=HEADER)
    pin = extraction.extract_from(page)
    record = FetchRecord(
        url=URL, outcome=OutcomeKind.FETCHED, status=200, final_url=URL, content_type=HEADER
    )
    result = FetchResult(job=UrlJob(url=URL), fetch=record)
    return [
        best_ms(lambda: read_page(result, body, agent="aragog", max_links=1_000)),
        best_ms(lambda: document.parse(body, url=URL, content_type=HEADER)),
        best_ms(lambda: links.extract(page)),
        best_ms(lambda: canonical_evidence.collect(page, url=URL, final_url=URL)),
        best_ms(lambda: extraction.extract_from(page)),
        best_ms(lambda: rich_pins.to_fields(pin)),
    ]


def compare(groups: dict[str, list[Path]], checkout: Path) -> bool:
    """
    Print the differences between this code and that of `checkout`. Returns True if
    there are none.
    """
    root = Path(__file__).parents[1]
    table = Table("CPU ms a page", "this code", str(checkout), "ratio", "pages that differ")
    is_same = True
    with _probe(root) as this_code, _probe(checkout) as other_code:
        for name, paths in groups.items():
            pairs = [(_analyze(this_code, path), _analyze(other_code, path)) for path in paths]
            differing = 0
            for path, (new, old) in zip(paths, pairs, strict=True):
                parts = [
                    part for part, digest in new["parts"].items() if digest != old["parts"][part]
                ]
                differing += bool(parts)
                if parts:
                    print(f"{path}: {', '.join(parts)}")
            means = [statistics.fmean(pair[side]["cpu_ms"] for pair in pairs) for side in (0, 1)]
            table.add_row(
                f"{len(paths)} {name}",
                *(f"{mean:.2f}" for mean in means),
                f"{means[0] / means[1]:.2f}",
                str(differing),
            )
            is_same = is_same and not differing
    Console().print(table)
    return is_same


def _probe(checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("page_probe.py"))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, code_paths(checkout)))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _analyze(probe: subprocess.Popen[str], path: Path) -> dict[str, Any]:
    if probe.stdin is None or probe.stdout is None:
        raise RuntimeError("the probe has no pipes")
    print(path, file=probe.stdin, flush=True)
    line = probe.stdout.readline()
    if not line:
        sys.exit(f"the code of {probe.args} could not read {path}")
    return json.loads(line)


def all_paths(folder: Path | None) -> dict[str, list[Path]]:
    """Return every page, by set or by folder."""
    if folder is None:
        sets = [make() for make in page_sets.ALL.values()]
        return {
            page_set.name: [page_set.folder / path for path in page_set.paths] for page_set in sets
        }
    groups: dict[str, list[Path]] = {}
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.testhtml")]):
        groups.setdefault(path.relative_to(folder).parts[0], []).append(path.resolve())
    return groups


def extruct_ms(bodies: list[bytes]) -> dict[str, float]:
    """Return extruct's mean time by syntaxes for 20 pages; empty if it is not installed."""
    bench_python = Path(__file__).parents[1] / ".venv-bench" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, body in enumerate(bodies[:: -(-len(bodies) // 20)]):
            path = Path(folder) / f"{number}.html"
            path.write_bytes(body)
            paths.append(str(path))
        for python in (sys.executable, str(bench_python)):
            if Path(python).exists():
                process = subprocess.run(
                    [python, "-c", EXTRUCT, *paths], capture_output=True, text=True, check=False
                )
                if process.returncode == 0:
                    return json.loads(process.stdout)
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="of *.html and *.testhtml files")
    parser.add_argument(
        "--compare", type=Path, metavar="CHECKOUT", help="with the code of that checkout"
    )
    add_quick(parser)
    options = parser.parse_args()
    if options.compare:
        sys.exit(0 if compare(all_paths(options.folder), options.compare.resolve()) else 1)
    groups = saved_pages(options.folder) if options.folder else real_pages()
    if options.quick:
        groups = {name: bodies[:2] for name, bodies in groups.items()}
    table = Table(
        "CPU ms a page",
        "all",
        "parse",
        "links",
        "evidence",
        "rich pin",
        "fields",
        "extruct",
        "extruct, 3 syntaxes",
    )
    for name, bodies in groups.items():
        columns = zip(*(part_times_ms(body) for body in bodies), strict=True)
        extruct_costs = extruct_ms(bodies)
        table.add_row(
            f"{len(bodies)} {name}",
            *(f"{statistics.fmean(column):.2f}" for column in columns),
            *(
                f"{extruct_costs[key]:.1f}" if extruct_costs else "-"
                for key in ("defaults", "json-ld, microdata, og")
            ),
        )
    Console().print(table)
    Console().print(
        "Means. The time of a rich pin excludes the parse; that of extruct includes it."
    )


if __name__ == "__main__":
    main()
