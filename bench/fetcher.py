"""
Measure the CPU of one fetch of a 60 KB page on loopback: aragog, requests and urllib3.

    .venv/bin/python -m bench.fetcher [pages]

The origin runs in its own process, and only the CPU of the client's process counts. The variants
are interleaved, so other load affects all of them. The second table compares concurrent requests as
a fetch worker sends them, with its default batches and concurrency: in threads, and in green
threads.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import signal
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import requests
import urllib3

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.fetch_record.outcome import Fetched
from aragog.runtime.green_threads import GreenPool
from aragog.settings import FetchSettings, WorkerSettings
from aragog.workers.preload import SWITCH_INTERVAL_S
from bench import figures
from bench.quick import add_quick
from tests.support.origin import Origin, page

PAGE_BYTES = 60_000
ROUNDS = 5
BATCHES = WorkerSettings().fetch
BATCH = 25
CONCURRENCY = FetchSettings().concurrency

SETTINGS = FetchSettings(
    allowed_networks=("127.0.0.0/8",), allowed_ports=tuple(range(1024, 65_536))
)


def html() -> bytes:
    """Return words that compress about as well as HTML."""
    rng = random.Random(7)
    words = [bytes(rng.choices(b"etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(900)]
    body = b" ".join(
        rng.choice(words) + rng.choice((b"", b"</p><p class='x'>")) for _ in range(9000)
    )
    return b"<!doctype html><title>t</title><p>" + body[:PAGE_BYTES]


def serve() -> tuple[int, int]:
    """Start an origin in a separate process. Returns its process id and port."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        return child, int(os.read(read_end, 16))
    body = html()
    gzip_headers = {"headers": {"Content-Encoding": "gzip"}}
    origin = Origin(
        {
            "/plain": page(body),
            "/kept": page(body, keep_alive=True),
            "/gzip": page(gzip.compress(body), keep_alive=True, **gzip_headers),
        }
    )
    origin.start()
    os.write(write_end, str(origin.port).encode())
    while True:
        time.sleep(60)


def ms_per_page(get: Callable[[str], int], url: str, pages: int) -> float:
    """Return CPU milliseconds of this process per page."""
    before = time.process_time()
    for _ in range(pages):
        if get(url) < PAGE_BYTES:
            raise RuntimeError(f"{url} was not fetched")
    return (time.process_time() - before) / pages * 1000


def in_threads(fetch: Callable[[str], int], batches: list[list[str]]) -> None:
    """Use a thread per batch, and 64 threads for requests."""
    with ThreadPoolExecutor(CONCURRENCY) as request_threads, ThreadPoolExecutor(BATCHES) as threads:
        list(threads.map(lambda urls: list(request_threads.map(fetch, urls)), batches))


def in_green_threads(fetch: Callable[[str], int], batches: list[list[str]]) -> None:
    """Use a thread per batch, with its requests in green threads."""
    pool = GreenPool(CONCURRENCY)

    def run(urls: list[str]) -> None:
        with pool.batch() as batch:
            for url in urls:
                batch.submit(fetch, url)

    with ThreadPoolExecutor(BATCHES) as threads:
        list(threads.map(run, batches))


def compare_side_by_side(fetch: Callable[[str], int], url: str, pages: int) -> None:
    """Print the CPU per page and the thread switches for both ways in turn."""
    batches = [[url] * BATCH for _ in range(max(1, pages // BATCH))]
    runs: dict[str, list[tuple[float, float]]] = {"threads": [], "green threads": []}
    for _ in range(ROUNDS):
        for name, run in (("threads", in_threads), ("green threads", in_green_threads)):
            cpu_s, switches = time.process_time(), _switches()
            run(fetch, batches)
            fetched = len(batches) * BATCH
            ms = (time.process_time() - cpu_s) / fetched * 1000
            runs[name].append((ms, (_switches() - switches) / fetched))
    print(f"{'side by side':18}{'CPU ms':>9}{'switches':>9}   per page, median")
    for name, rounds in runs.items():
        ms, switches = (statistics.median(values) for values in zip(*rounds, strict=True))
        print(f"{name:18}{ms:9.3f}{switches:9.2f}")


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="?", type=int, default=100)
    add_quick(parser, pages=10)
    pages = parser.parse_args().pages
    child, port = serve()
    try:
        fetcher = Fetcher(SETTINGS)
        session, pool = requests.Session(), urllib3.PoolManager()

        def fetch_with_aragog(url: str) -> int:
            outcome = fetcher.fetch(url)
            return len(outcome.body) if isinstance(outcome, Fetched) else 0

        variants: dict[str, Callable[[str], int]] = {
            "requests.get": lambda url: len(requests.get(url, timeout=10).content),
            "requests.Session": lambda url: len(session.get(url, timeout=10).content),
            "urllib3": lambda url: len(pool.request("GET", url).data),
            "aragog": fetch_with_aragog,
        }
        print(f"{'CPU ms per page':18}" + "".join(f"{p:>9}" for p in ("/plain", "/kept", "/gzip")))
        best: dict[tuple[str, str], float] = {}
        for _ in range(ROUNDS):
            for name, get in variants.items():
                for path in ("/plain", "/kept", "/gzip"):
                    cost_ms = ms_per_page(
                        get, f"http://127.0.0.1:{port}{path}", pages // ROUNDS or 1
                    )
                    best[name, path] = min(cost_ms, best.get((name, path), cost_ms))
        figures.report(connection=best["aragog", "/plain"] - best["aragog", "/kept"])
        for name in variants:
            row = "".join(f"{best[name, p]:9.3f}" for p in ("/plain", "/kept", "/gzip"))
            print(f"{name:18}{row}")
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        compare_side_by_side(fetch_with_aragog, f"http://127.0.0.1:{port}/gzip", pages * ROUNDS)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
