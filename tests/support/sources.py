"""The Python files of a package, those that it reaches by links included (docs/adr/0031)."""

from __future__ import annotations

import os
from pathlib import Path


def modules_of(folder: Path) -> list[Path]:
    """Every module below `folder`, sorted; `Path.rglob` would leave out `tasks/` and `workers/`."""
    return sorted(
        Path(parent) / name
        for parent, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.endswith(".py")
    )
