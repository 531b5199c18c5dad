"""
Figures for programs: a measurement reports what it measured under the names of `aragog plan`'s costs.

`bench.plan_check` names a file in `BENCH_FIGURES`; every figure is appended to it as a line of JSON.
Without that variable nothing is written: people read the tables.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "BENCH_FIGURES"


def report(**figures: float) -> None:
    """Append figures, each under the name of its cost and in the unit of that cost."""
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a") as file:
            file.write(json.dumps(figures) + "\n")


def read(path: Path) -> dict[str, float]:
    """All figures in a file; of one that was reported several times the last value."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: float(value) for line in lines for name, value in json.loads(line).items()}
