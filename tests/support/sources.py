"""The Python files of the packages, those that are reached by links included (docs/adr/0031)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from scripts.packages import distributions

PACKAGES = [each.package for each in distributions()]
"""The folder of the crawler's package, and of each library's."""
IMPORTED_AS = [package.name for package in PACKAGES]


def modules_of(folder: Path) -> list[Path]:
    """Every module below `folder`, sorted; `Path.rglob` would leave out `tasks/` and `workers/`."""
    return sorted(
        Path(parent) / name
        for parent, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.endswith(".py")
    )


@cache
def all_modules() -> list[Path]:
    """Every module of the crawler and of the libraries."""
    return [module for package in PACKAGES for module in modules_of(package)]


def all_tests() -> list[Path]:
    """Every Python file of the tests, those of the libraries included."""
    root = PACKAGES[0].parent
    return sorted([*(root / "tests").rglob("*.py"), *root.glob("packages/*/tests/**/*.py")])
