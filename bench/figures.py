"""
Report figures to other programs, under the names of `aragog plan`'s costs.

`bench.plan_check` sets `BENCH_FIGURES` to a file, and every figure is appended to it as a line of
JSON. Without that variable nothing is written; people read the tables.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "BENCH_FIGURES"


def report(**figures: float) -> None:
    """Append figures, each under the name of its cost and in that cost's unit."""
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a") as file:
            file.write(json.dumps(figures) + "\n")


def read(path: Path) -> dict[str, float]:
    """Return all figures in a file. For one reported several times, the last value is used."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: float(value) for line in lines for name, value in json.loads(line).items()}
