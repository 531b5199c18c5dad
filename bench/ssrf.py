"""
Measure the CPU in µs that the SSRF filter adds to a request to a host in its DNS cache.

    python -m bench.ssrf

Takes about a second. Names are resolved from a dictionary, and nothing connects.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from aragog.crawl.fetcher.ssrf import SsrfFilter
from bench.quick import add_quick

ROUNDS = 5_000


def cpu_us(call: Callable[[], object], rounds: int) -> float:
    """Return the minimum CPU time of one call in five runs."""
    samples = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(rounds):
            call()
        samples.append((time.process_time() - started) / rounds * 1e6)
    return min(samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_quick(parser)
    rounds = 50 if parser.parse_args().quick else ROUNDS
    ssrf_filter = SsrfFilter(lookup=lambda _: ["93.184.216.34", "2606:2800:220:1::1"])
    fresh = iter(range(10**9))
    url = "https://www.example.com/some/path?page=2"
    table = Table("operation", "CPU µs")
    for name, call in (
        ("vet_url, a name", lambda: ssrf_filter.vet_url(url)),
        ("vet_url, an address", lambda: ssrf_filter.vet_url("http://93.184.216.34/")),
        ("vet_url, @ in the path", lambda: ssrf_filter.vet_url("https://medium.com/@a/b")),
        (
            "vet_url, a new name",
            lambda: ssrf_filter.vet_url(f"https://h{next(fresh)}.com/"),
        ),
        ("resolve, DNS cached", lambda: ssrf_filter.resolve("www.example.com", 443)),
        (
            "both, as for each request",
            lambda: (ssrf_filter.vet_url(url), ssrf_filter.resolve("www.example.com", 443)),
        ),
    ):
        table.add_row(name, f"{cpu_us(call, rounds):.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
