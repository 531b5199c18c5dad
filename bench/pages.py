"""
Measure the CPU ms of a page: parse, links, evidence, Rich Pin, fields; and extruct's.

    python -m bench.pages            pages made here: an article of 57 KB, recipes of 120 and 250 KB
    python -m bench.pages FOLDER     every *.html and *.testhtml below a folder, at most 200

Some seconds, no network. Each figure is the median over the pages of the best of three runs. The time
of the Rich Pin excludes the parse. extruct runs where it is importable, else in .venv-bench.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aragog.pages import document, evidence, links, richpins
from bench.crawl import pages as crawl_pages
from bench.timing import best_s

URL = "https://www.example.com/recipes/page"
HEADER = "text/html; charset=utf-8"
MAX_PAGES = 200

EXTRUCT = """
import json, statistics, sys, time, logging
logging.disable(logging.CRITICAL)
import extruct
found = {}
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
    found[name] = (statistics.median(times), statistics.fmean(times))
print(json.dumps(found))
"""


def best_ms(call: Callable[[], object], times: int = 3) -> float:
    return 1e3 * best_s(call, times)


def recipe(target_bytes: int, rng: random.Random) -> bytes:
    """A page as recipe plug-ins write it: a graph, a card with microdata, comments, scripts."""
    steps = [f"Stir for {n} minutes, then wait until it is done." for n in range(12)]
    graph = {
        "@context": "https://schema.org",
        "@graph": [
            {"@type": "WebSite", "@id": "#site", "name": "The Pot"},
            {"@type": "Article", "@id": "#article", "headline": "Soup", "author": {"@id": "#ann"}},
            {"@type": "Person", "@id": "#ann", "name": "Ann Baker"},
            {
                "@type": "ImageObject",
                "@id": "#img",
                "url": "/soup.jpg",
                "width": 1200,
                "height": 900,
            },
            {
                "@type": "Recipe",
                "name": "Soup",
                "author": {"@id": "#ann"},
                "image": [{"@id": "#img"}],
                "recipeYield": ["4", "4 bowls"],
                "totalTime": "PT1H",
                "recipeIngredient": [f"{n} cups of thing {n}" for n in range(14)],
                "recipeInstructions": [{"@type": "HowToStep", "text": step} for step in steps],
                "aggregateRating": {
                    "@type": "AggregateRating",
                    "ratingValue": 4.8,
                    "ratingCount": 312,
                },
                "nutrition": {"@type": "NutritionInformation", "calories": "210 kcal"},
            },
        ],
    }
    card = "".join(f"<li itemprop='recipeIngredient'>{n} cups of thing {n}</li>" for n in range(14))
    parts = [
        "<html lang=en><head><title>Soup - The Pot</title><link rel=canonical href=/soup>",
        "".join(f"<meta property='og:x{n}' content='{n}'>" for n in range(20)),
        f"<script type='application/ld+json'>{json.dumps(graph)}</script></head><body>",
        "<div itemscope itemtype='https://schema.org/Recipe'><h1 itemprop=name>Soup</h1>",
        f"<ul>{card}</ul></div>",
    ]
    size = sum(map(len, parts))
    while size < target_bytes:
        words = " ".join(rng.choices(["soup", "pot", "leek", "barley", "stir", "wait"], k=60))
        kind = rng.random()
        part = f"<div class='comment c{size}'><p>{words}</p><a href='/p/{size}'>reply</a></div>"
        if kind < 0.2:
            part = f"<script>window.x{size} = {json.dumps({'words': words * 8})}</script>"
        parts.append(part)
        size += len(part)
    return "".join([*parts, "</body></html>"]).encode()


def made_pages() -> dict[str, list[bytes]]:
    rng = random.Random(1)
    articles = [crawl_pages.page(*where, port=80) for where in crawl_pages.paths()[:8]]
    return {
        "article 57 KB, 185 links": articles,
        "recipe 120 KB": [recipe(120_000, rng) for _ in range(4)],
        "recipe 250 KB": [recipe(250_000, rng) for _ in range(4)],
    }


def saved_pages(folder: Path) -> dict[str, list[bytes]]:
    """Pages of a folder, evenly chosen, by size."""
    paths = sorted([*folder.rglob("*.html"), *folder.rglob("*.testhtml")])
    bodies = [path.read_bytes() for path in paths[:: max(1, len(paths) // MAX_PAGES)]]
    groups: dict[str, list[bytes]] = {"under 100 KB": [], "100 to 300 KB": [], "over 300 KB": []}
    for body in bodies:
        name = "under 100 KB" if len(body) < 100_000 else "100 to 300 KB"
        groups["over 300 KB" if len(body) > 300_000 else name].append(body)
    return {name: found for name, found in groups.items() if found}


def ours(body: bytes) -> list[float]:
    page = document.parse(body, url=URL, content_type=HEADER)
    pin = richpins.extract_from(page)
    return [
        best_ms(lambda: document.parse(body, url=URL, content_type=HEADER)),
        best_ms(lambda: links.extract(page)),
        best_ms(lambda: evidence.collect(page, url=URL, final_url=URL)),
        best_ms(lambda: richpins.extract_from(page)),
        best_ms(lambda: richpins.to_fields(pin)),
    ]


def extruct_ms(bodies: list[bytes]) -> dict[str, list[float]]:
    """Median and mean by syntaxes; empty where extruct is not installed."""
    other = Path(__file__).parents[1] / ".venv-bench" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, body in enumerate(bodies[:20]):
            path = Path(folder) / f"{number}.html"
            path.write_bytes(body)
            paths.append(str(path))
        for python in (sys.executable, str(other)):
            if Path(python).exists():
                run = subprocess.run(
                    [python, "-c", EXTRUCT, *paths], capture_output=True, text=True, check=False
                )
                if run.returncode == 0:
                    return json.loads(run.stdout)
    return {}


def main() -> None:
    groups = saved_pages(Path(sys.argv[1])) if len(sys.argv) > 1 else made_pages()
    table = Table(
        "CPU ms a page",
        "parse",
        "links",
        "evidence",
        "rich pin",
        "fields",
        "extruct",
        "extruct, 3 syntaxes",
    )
    for name, bodies in groups.items():
        columns = zip(*(ours(body) for body in bodies), strict=True)
        theirs = extruct_ms(bodies)
        table.add_row(
            f"{len(bodies)} {name}",
            *(f"{statistics.median(column):.2f}" for column in columns),
            *(
                f"{theirs[key][0]:.1f}" if theirs else "-"
                for key in ("defaults", "json-ld, microdata, og")
            ),
        )
    Console().print(table)
    Console().print(
        "Medians; a rich pin is what comes on top of the parse; extruct parses by itself."
    )


if __name__ == "__main__":
    main()
