"""
Measure the CPU of rendering a page, compared with fetching and reading it.

    python -m bench.rendering [--pages 30] [--browser PATH] [--sandbox]

An origin in this process serves a page of 57 KB. Its script of 100 KB, most of it unused, requests
data and builds 200 elements from it. The two requests of a rendering go through the same fetcher,
without a limiter. The CPU of a rendering is that of this process and of the browser's processes.
The origin's CPU is included in both figures, because it runs in this process. The memory is PSS,
which divides shared memory pages among the processes. Takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.rendering.models import PlainPage, RenderedPage, Resource, ResourceRequest
from aragog.crawl.rendering.renderer import Renderer
from aragog.crawl.stages.page_analysis import read_page
from aragog.fetch_record.outcome import Fetched, FetchRecord
from aragog.settings import FetchSettings, RenderingSettings
from bench.quick import add_quick
from tests.support.origin import Origin, answer, page

TICKS = os.sysconf("SC_CLK_TCK")
ITEMS = [{"name": f"Chair {n}", "price": f"{n}.90", "text": "words " * 20} for n in range(200)]
SCRIPT = (
    "".join(
        f"function unused{n}(a, b) {{ return a.map(x => x * {n} + b); }}\n" for n in range(1_900)
    )
    + """
fetch("/data").then(r => r.json()).then(items => {
  for (const item of items) {
    const place = document.createElement("section");
    place.innerHTML = `<h2><a href="/p/${item.name}">${item.name}</a></h2><p>${item.text}</p>`;
    document.body.append(place);
  }
  document.title = items.length + " chairs";
});
"""
)
HTML = "<!doctype html><title>Shop</title><body>" + "<p>some words of a page</p>\n" * 2_000
HANDLERS = {
    "/": page((HTML + "<script src=/app.js></script>").encode()),
    "/app.js": answer(200, SCRIPT.encode(), content_type="text/javascript"),
    "/data": answer(200, json.dumps(ITEMS).encode(), content_type="application/json"),
}


def children(pid: int | str = "self") -> list[int]:
    """Return the descendants of a process."""
    pids = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, file.read_text().split()):
            pids += [child, *children(child)]
    return pids


def cpu_ms() -> float:
    """Return the CPU time of this process and its descendants, including ended ones."""
    ticks = 0
    for pid in children():
        with suppress(OSError):  # a page's process may end in the meantime
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # its own, and that of children it waited for
    return time.process_time() * 1000 + ticks * 1000 / TICKS


def pss_mb() -> float:
    """Return the memory of this process's descendants."""
    kb = 0
    for pid in children():
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kb / 1024


def cpu_ms_per_call(call: Callable[[], object], times: int) -> float:
    """Return the CPU per call, measured over consecutive calls."""
    before = cpu_ms()
    for _ in range(times):
        call()
    return (cpu_ms() - before) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--browser", default="")
    parser.add_argument("--sandbox", action="store_true")
    add_quick(parser, pages=2)
    options = parser.parse_args()
    browser = RenderingSettings(browser=options.browser, sandbox=options.sandbox)
    with Origin(HANDLERS) as origin:
        fetcher = Fetcher(
            FetchSettings(
                allowed_networks=("127.0.0.0/8",),
                allowed_ports=(origin.port,),
                content_types=("*/*",),
            )
        )
        renderer = Renderer(browser, user_agent="bench", max_html_bytes=20_000_000)

        def fetch(request: ResourceRequest) -> Resource:
            outcome = fetcher.fetch(request.url)
            assert isinstance(outcome, Fetched)
            return Resource(outcome.final_url, 200, outcome.headers, outcome.body)

        url = origin.url("/")
        fetched = fetcher.fetch(url)
        assert isinstance(fetched, Fetched)
        plain = PlainPage(url, fetched.headers, fetched.body)
        start_ms = cpu_ms_per_call(lambda: renderer.render(plain, fetch), 1)
        rendered = renderer.render(plain, fetch)
        assert isinstance(rendered, RenderedPage)
        assert b"200 chairs" in rendered.html
        record = replace(FetchRecord.of(fetched), body_bytes=len(fetched.body))
        result = FetchResult(job=UrlJob(url=url), fetch=record)
        costs = {
            "fetch the page": cpu_ms_per_call(lambda: fetcher.fetch(url), options.pages),
            "render it, with two requests": cpu_ms_per_call(
                lambda: renderer.render(plain, fetch), options.pages
            ),
            "read the rendered page": cpu_ms_per_call(
                lambda: read_page(
                    result, rendered.html, agent="aragog", max_links=1000, extractors={}
                ),
                options.pages,
            ),
            "the first page, with the browser's start": start_ms,
        }
        memory = pss_mb()
        renderer.close()
    table = Table("", "CPU ms per page")
    for name, ms in costs.items():
        table.add_row(name, f"{ms:.1f}")
    Console().print(table, f"browser and driver: {memory:.0f} MB between two pages")


if __name__ == "__main__":
    main()
