"""
Measure the CPU of one fetch of a 60 KB page on loopback: aragog, requests and urllib3.

    .venv/bin/python -m bench.fetcher [pages]

The origin runs in its own process. The output is the CPU of the client's process alone. The variants
are interleaved, so other load affects all of them.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import signal
import time
from collections.abc import Callable

import requests
import urllib3

from aragog.fetcher.fetcher import Fetcher
from aragog.fetcher.outcome import Fetched
from aragog.settings import FetchSettings
from bench.quick import add_quick
from tests.support.origin import Origin, page

PAGE_BYTES = 60_000
ROUNDS = 5

SETTINGS = FetchSettings(
    allowed_networks=("127.0.0.0/8",), allowed_ports=tuple(range(1024, 65_536))
)


def html() -> bytes:
    """Words, so that it compresses about as HTML does."""
    rng = random.Random(7)
    words = [bytes(rng.choices(b"etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(900)]
    body = b" ".join(
        rng.choice(words) + rng.choice((b"", b"</p><p class='x'>")) for _ in range(9000)
    )
    return b"<!doctype html><title>t</title><p>" + body[:PAGE_BYTES]


def serve() -> tuple[int, int]:
    """An origin in a process of its own: its process id and its port."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        return child, int(os.read(reading, 16))
    body = html()
    packed = {"headers": {"Content-Encoding": "gzip"}}
    origin = Origin(
        {
            "/plain": page(body),
            "/kept": page(body, keep_alive=True),
            "/gzip": page(gzip.compress(body), keep_alive=True, **packed),
        }
    )
    origin.start()
    os.write(writing, str(origin.port).encode())
    while True:
        time.sleep(60)


def ms_a_page(get: Callable[[str], int], url: str, pages: int) -> float:
    """CPU milliseconds of this process for one page."""
    before = time.process_time()
    for _ in range(pages):
        if get(url) < PAGE_BYTES:
            raise RuntimeError(f"{url} was not fetched")
    return (time.process_time() - before) / pages * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="?", type=int, default=100)
    add_quick(parser, pages=10)
    pages = parser.parse_args().pages
    child, port = serve()
    try:
        fetcher = Fetcher(SETTINGS)
        session, pool = requests.Session(), urllib3.PoolManager()

        def ours(url: str) -> int:
            outcome = fetcher.fetch(url)
            return len(outcome.body) if isinstance(outcome, Fetched) else 0

        variants: dict[str, Callable[[str], int]] = {
            "requests.get": lambda url: len(requests.get(url, timeout=10).content),
            "requests.Session": lambda url: len(session.get(url, timeout=10).content),
            "urllib3": lambda url: len(pool.request("GET", url).data),
            "aragog": ours,
        }
        print(f"{'CPU ms a page':18}" + "".join(f"{p:>9}" for p in ("/plain", "/kept", "/gzip")))
        best: dict[tuple[str, str], float] = {}
        for _ in range(ROUNDS):
            for name, get in variants.items():
                for path in ("/plain", "/kept", "/gzip"):
                    took = ms_a_page(get, f"http://127.0.0.1:{port}{path}", pages // ROUNDS or 1)
                    best[name, path] = min(took, best.get((name, path), took))
        for name in variants:
            row = "".join(f"{best[name, p]:9.3f}" for p in ("/plain", "/kept", "/gzip"))
            print(f"{name:18}{row}")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
