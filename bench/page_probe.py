"""
Analyze pages with the code on PYTHONPATH, for `python -m bench.pages --compare`.

Reads one path per line from standard input, and writes a line of JSON for each: the CPU ms of
`read_page` and a hash of each part of the result. It imports nothing else from `bench`, because it
also runs with the code of other commits.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import aragog

if (Path(aragog.__file__).parent / "crawl").exists():
    from aragog.crawl.pipeline.messages import FetchResult, UrlJob
    from aragog.crawl.stages.page_analysis import PageAnalysis, read_page
    from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
    from richpins import document, extraction
else:  # a commit from before the libraries were split off
    from aragog.fetcher.outcome import FetchRecord, OutcomeKind  # type: ignore[no-redef]
    from aragog.pages import document, extraction  # type: ignore[no-redef,attr-defined]
    from aragog.pipeline.messages import FetchResult, UrlJob  # type: ignore[no-redef]
    from aragog.stages.page_analysis import PageAnalysis, read_page  # type: ignore[no-redef]

REPETITIONS = 5
_OWN_URL = re.compile(
    rb"<(?:link[^<>]{1,99}canonical[^<>]{1,99}href|meta[^<>]{1,99}og:url[^<>]{1,99}content)="
    rb"[\"']?(https?://[!-~]{4,500}?)[\"'\s>]"
)


def url_of(body: bytes, path: str) -> str:
    """Return the URL that a page declares, because site names are compared with hosts."""
    own_url = _OWN_URL.search(body)
    return own_url[1].decode() if own_url else f"https://www.example.com/saved/{Path(path).name}"


def analyze(url: str, body: bytes) -> PageAnalysis:
    record = FetchRecord(
        url=url, outcome=OutcomeKind.FETCHED, status=200, final_url=url, content_type="text/html"
    )
    return read_page(
        FetchResult(job=UrlJob(url=url), fetch=record), body, agent="aragog", max_links=1_000
    )


def parts_of(url: str, body: bytes, analysis: PageAnalysis) -> dict[str, str]:
    """Return a hash of each part of a page's result."""
    page = document.parse(body, url=url, content_type="text/html")
    pin = extraction.extract_from(page)
    parts = {
        "body": page.body,
        "title": analysis.fields.get("page.title"),
        "links": analysis.links,
        "fields": sorted(analysis.fields.items()),
        "provenance": sorted(analysis.provenance.items()),
        "evidence": analysis.evidence,
        "flags": (analysis.page_type, analysis.noindex, analysis.nofollow, analysis.complete),
        "problems": (analysis.problems, tuple(pin.problems)),
        "conflicts": tuple(pin.conflicts),
        "dropped": tuple(pin.dropped),
    }
    return {name: hashlib.sha256(repr(part).encode()).hexdigest() for name, part in parts.items()}


def best_ms(call: Callable[[], object]) -> float:
    samples = []
    for _ in range(REPETITIONS):
        started = time.process_time()
        call()
        samples.append(time.process_time() - started)
    return 1e3 * min(samples)


def main() -> None:
    for line in sys.stdin:
        path = line.rstrip("\n")
        body = Path(path).read_bytes()
        url = url_of(body, path)
        parts = parts_of(url, body, analyze(url, body))
        cpu_ms = best_ms(lambda url=url, body=body: analyze(url, body))  # type: ignore[misc]
        print(json.dumps({"cpu_ms": cpu_ms, "parts": parts}), flush=True)


if __name__ == "__main__":
    main()
