"""
Enqueue a list every night: any number of lines, in constant memory, behind everything else.

    python examples/nightly.py list.txt
    30 2 * * *  cd /srv/lists && /opt/aragog/bin/python nightly.py list.txt

It waits while the system is full, and may be killed and run again: a URL that is still in flight is
not enqueued twice. Exits with 3 if some lines are no URLs.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from aragog.client import Aragog
from aragog.errors import SlowDown


def waiting(refusal: SlowDown) -> None:
    """Report each wait."""
    print(f"waiting: {refusal}", file=sys.stderr)


def enqueue(file: Path) -> Counter[str]:
    """How many lines got each status."""
    counts: Counter[str] = Counter()
    with Aragog() as aragog, file.open(encoding="utf-8") as lines:
        urls = (line.strip() for line in lines if line.strip())
        for result in aragog.enqueue_all(urls, refresh=True, priority=8, on_wait=waiting):
            counts[result.status.value] += 1
    return counts


if __name__ == "__main__":
    totals = enqueue(Path(sys.argv[1]))
    print(", ".join(f"{count} {status}" for status, count in sorted(totals.items())))
    sys.exit(3 if totals["invalid"] else 0)
