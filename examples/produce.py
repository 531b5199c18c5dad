"""
A producer: enqueue URLs and print the status of each.

    python examples/produce.py https://example.com/a https://example.com/b

Settings come from aragog.toml and the environment, as for every command. It prints a line
for each URL, and may be killed and run again at any time.
"""

from __future__ import annotations

import sys
import time

from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.errors import BrokerUnavailable


def produce(urls: list[str], *, tries: int = 5) -> int:
    """Enqueue, with retries while the server is down; return the number of invalid URLs."""
    with Aragog() as aragog:
        for attempt in range(tries):
            try:
                results = aragog.enqueue(urls, priority=3)
                break
            except BrokerUnavailable:
                if attempt == tries - 1:
                    raise
                time.sleep(2**attempt)
    for result in results:
        print(f"{result.status}: {result.url or result.input}", result.reason or "")
    return sum(result.status is EnqueueStatus.INVALID for result in results)


if __name__ == "__main__":
    sys.exit(3 if produce(sys.argv[1:]) else 0)
